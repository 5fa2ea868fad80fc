package einoagent

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// packed is the value of an opaque part that holds a message of eino's, or a block of one.
type packed[T any] struct {
	Type string `json:"type"`
	Of   *T     `json:"of"`
	// Values holds what may be of any type, such as an Extra, by its index in loose(Of).
	Values map[int]value `json:"values,omitempty"`
	// First reports that the first text of the parts is the message's Content, which is left out of it.
	First bool `json:"first,omitempty"`
}

// pack returns a value as that of an opaque part. It changes the value, but no map in it.
func pack[T any](kind string, of *T, first bool) (json.RawMessage, error) {
	out := packed[T]{Type: kind, Of: of, Values: map[int]value{}, First: first}
	for i, v := range loose(of) {
		if v.IsNil() || v.Kind() == reflect.Map && v.Len() == 0 {
			continue
		}
		var err error
		if out.Values[i], err = encode(v.Interface()); err != nil {
			return nil, err
		}
		v.SetZero()
	}
	return plainjson.Marshal(out)
}

// unpack is the inverse of pack. It returns nil if the part holds something else.
func unpack[T any](kind string, o chat.Opaque) (of *T, first bool, err error) {
	var has struct{ Type string }
	if json.Unmarshal(o.Value, &has) != nil || has.Type != kind {
		return nil, false, nil
	}
	var in packed[T]
	if err = json.Unmarshal(o.Value, &in); err == nil && in.Of == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, false, err
	}
	for i, v := range loose(in.Of) {
		if packed, ok := in.Values[i]; ok {
			is, err := packed.decode()
			if err != nil {
				return nil, false, err
			}
			if is := reflect.ValueOf(is); is.IsValid() && is.Type().AssignableTo(v.Type()) {
				v.Set(is)
			}
		}
	}
	return in.Of, in.First, nil
}

// loose returns the fields of a value that may hold anything, in an order that is the same after the value was written as
// JSON and read.
func loose(of any) (list []reflect.Value) {
	var collect func(v reflect.Value)
	collect = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for _, field := range v.Fields() {
				if field.CanSet() {
					collect(field)
				}
			}
		case reflect.Pointer:
			if !v.IsNil() {
				collect(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				collect(v.Index(i))
			}
		case reflect.Map, reflect.Interface:
			if anything := reflect.TypeFor[map[string]any](); v.Type() == anything || v.Type() == anything.Elem() {
				list = append(list, v)
			}
		}
	}
	collect(reflect.ValueOf(of))
	return list
}

// value encodes a value that may be of any type, such as an Extra, on which models of eino depend. What JSON returns as it
// was is written as JSON, so that it can be redacted; anything else by encoding/gob, as in eino's checkpoints.
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
