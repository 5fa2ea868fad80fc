// Package plainjson encodes JSON without the escapes that encoding/json adds for HTML. People and models read it more
// easily, and decoding and encoding it again does not change it. It also measures JSON, and replaces texts in it, without
// decoding it.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes as [json.Marshal] does, without the escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Unmarshal decodes as [json.Unmarshal] does, and returns an error for a field that the value does not have.
func Unmarshal(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && len(bytes.TrimSpace(data[d.InputOffset():])) == 0 {
		return nil
	}
	if other := json.Unmarshal(data, v); other != nil {
		return other // its text describes a truncated value better
	}
	return err
}

// Depth returns the number of levels of objects and lists in JSON.
func Depth(data []byte) (deepest int) {
	level := 0
	for start := range Tokens(data) {
		switch data[start] {
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// TextEnd returns the index after the JSON string that starts at a place, the length of the data if it does not end.
func TextEnd(data []byte, start int) int {
	for i := start + 1; ; {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		i += n + 1
		escapes := 0
		for data[i-2-escapes] == '\\' { // stops at the opening quote at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}
