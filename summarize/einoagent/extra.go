package einoagent

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"reflect"
)

// value encodes a value of an Extra. Such values may be of any type, and models of eino depend on the type. What JSON
// returns as it was is written as JSON, so that it can be redacted; anything else by encoding/gob, as in eino's
// checkpoints.
type value struct {
	JSON json.RawMessage  `json:"v,omitzero"`
	Map  map[string]value `json:"m,omitzero"`
	List []value          `json:"a,omitzero"`
	Gob  []byte           `json:"g,omitzero"`
}

func encode(v any) (out value, err error) {
	data, err := json.Marshal(v)
	var back any
	if err == nil && json.Unmarshal(data, &back) == nil && reflect.DeepEqual(v, back) {
		return value{JSON: data}, nil
	}
	switch v := v.(type) {
	case map[string]any:
		out.Map = map[string]value{}
		for key, e := range v {
			if out.Map[key], err = encode(e); err != nil {
				return out, fmt.Errorf("%q: %w", key, err)
			}
		}
	case []any:
		out.List = make([]value, len(v))
		for i, e := range v {
			if out.List[i], err = encode(e); err != nil {
				return out, err
			}
		}
	default:
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(&v); err != nil {
			return out, fmt.Errorf("encoding a value of type %T in Extra: register the type with schema.RegisterName: %w", v, err)
		}
		out.Gob = b.Bytes()
	}
	return out, nil
}

func (e value) decode() (v any, err error) {
	switch {
	case e.Map != nil:
		values := map[string]any{}
		for key, of := range e.Map {
			if values[key], err = of.decode(); err != nil {
				return nil, err
			}
		}
		return values, nil
	case e.List != nil:
		list := make([]any, len(e.List))
		for i, of := range e.List {
			if list[i], err = of.decode(); err != nil {
				return nil, err
			}
		}
		return list, nil
	case e.Gob != nil:
		err = gob.NewDecoder(bytes.NewReader(e.Gob)).Decode(&v)
	default:
		err = json.Unmarshal(e.JSON, &v)
	}
	return v, err
}
