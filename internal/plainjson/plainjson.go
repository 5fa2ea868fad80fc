// Package plainjson encodes JSON that people and models read, and that stays the same after any number of readings: without
// the escapes that encoding/json makes so that a text may stand in HTML.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is [json.Marshal] without the escapes of HTML.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Unmarshal is [json.Unmarshal], but that a field which the value does not have is an error.
func Unmarshal(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && len(bytes.TrimSpace(data[d.InputOffset():])) == 0 {
		return nil
	}
	if other := json.Unmarshal(data, v); other != nil {
		return other // which says more of what is cut off
	}
	return err
}
