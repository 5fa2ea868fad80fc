package provider

import (
	"bytes"
	"encoding/json"
)

// PlainJSON encodes without the escapes of HTML, so that the value is the same after any number of readings.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
