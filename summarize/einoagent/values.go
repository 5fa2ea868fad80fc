package einoagent

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// taggedValue encodes a value of an Extra. Such values may be of any type, and models of eino depend on the type.
// Strings, booleans, float64 and nil are written as plain JSON. A map[string]any is {"m": {…}} and an []any is {"a":
// […]}. Anything else is {"g": "…"}, encoded with encoding/gob as in eino's checkpoints.
type taggedValue struct {
	Map  map[string]json.RawMessage `json:"m,omitzero"`
	List []json.RawMessage          `json:"a,omitzero"`
	Gob  []byte                     `json:"g,omitzero"`
}

func encodeValue(v any) (json.RawMessage, error) {
	var out any = v
	switch v := v.(type) {
	case nil, bool:
	case string:
		if !utf8.ValidString(v) {
			return encodeGob(v)
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return encodeGob(v)
		}
	case map[string]any:
		tagged := taggedValue{Map: make(map[string]json.RawMessage, len(v))}
		for key, value := range v {
			data, err := encodeValue(value)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", key, err)
			}
			tagged.Map[key] = data
		}
		out = tagged
	case []any:
		tagged := taggedValue{List: make([]json.RawMessage, len(v))}
		for i, value := range v {
			data, err := encodeValue(value)
			if err != nil {
				return nil, err
			}
			tagged.List[i] = data
		}
		out = tagged
	default:
		return encodeGob(v)
	}
	return json.Marshal(out)
}

func encodeGob(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&v); err != nil {
		return nil, fmt.Errorf("encoding a value of type %T in Extra: register the type with schema.RegisterName: %w", v, err)
	}
	return json.Marshal(taggedValue{Gob: b.Bytes()})
}

func decodeValue(data json.RawMessage) (any, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		var v any
		err := json.Unmarshal(data, &v)
		return v, err
	}
	var tagged taggedValue
	if err := json.Unmarshal(data, &tagged); err != nil {
		return nil, err
	}
	switch {
	case tagged.Gob != nil:
		var v any
		err := gob.NewDecoder(bytes.NewReader(tagged.Gob)).Decode(&v)
		return v, err
	case tagged.List != nil:
		list := make([]any, len(tagged.List))
		for i, value := range tagged.List {
			var err error
			if list[i], err = decodeValue(value); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	values := make(map[string]any, len(tagged.Map))
	for key, value := range tagged.Map {
		var err error
		if values[key], err = decodeValue(value); err != nil {
			return nil, err
		}
	}
	return values, nil
}
