package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// object is a JSON object, each field as it was written. Its methods read fields strictly: what encoding/json would
// convert or leave out is an error that names the field. The first error stays in err; what is read after it is empty.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

func parseObject(raw json.RawMessage) (*object, error) {
	var o object
	err := json.Unmarshal(raw, &o.fields)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, fmt.Errorf("byte %d: %w", syntax.Offset, err)
	}
	if k := kind(raw); k != kindObject {
		return nil, fmt.Errorf("expected %s, found %s", kindObject, k)
	}
	return &o, err
}

// The kinds of JSON values, as errors name them.
const (
	kindObject  = "an object"
	kindList    = "a list"
	kindText    = "a text"
	kindNumber  = "a number"
	kindBoolean = "true or false"
	kindNull    = "null"
)

// kind of a valid JSON value, which its first letter tells.
func kind(raw json.RawMessage) string {
	switch bytes.TrimLeft(raw, " \t\r\n")[0] {
	case '{':
		return kindObject
	case '[':
		return kindList
	case '"':
		return kindText
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	default:
		return kindNumber
	}
}

// given tells whether a field is there and not null.
func (o *object) given(name string) bool {
	raw, ok := o.fields[name]
	return ok && kind(raw) != kindNull
}

// field is a field that has to be there and of that kind.
func (o *object) field(name, want string) json.RawMessage {
	raw, ok := o.fields[name]
	switch {
	case o.err != nil:
		return nil
	case !ok:
		o.err = fmt.Errorf("%s is missing", name)
		return nil
	case kind(raw) != want:
		o.err = fmt.Errorf("%s: expected %s, found %s", name, want, kind(raw))
		return nil
	}
	return raw
}

// text is a text that has to be there.
func (o *object) text(name string) string {
	raw := o.field(name, kindText)
	if o.err != nil {
		return ""
	}
	s, err := parseText(raw)
	if err != nil {
		o.err = fmt.Errorf("%s: %w", name, err)
	}
	return s
}

// optionalText is a text that may be missing or null, and is then empty.
func (o *object) optionalText(name string) string {
	if !o.given(name) {
		return ""
	}
	return o.text(name)
}

// flag is a boolean that may be missing or null, and is then false.
func (o *object) flag(name string) bool {
	if !o.given(name) {
		return false
	}
	return string(o.field(name, kindBoolean)) == "true"
}

// number is a number as it was written, or empty where it is missing or null.
func (o *object) number(name string) string {
	if !o.given(name) {
		return ""
	}
	return string(o.field(name, kindNumber))
}

// maxCount is the highest count that is read. No model takes as many tokens, and a few of them add up to an int.
const maxCount = 1 << 29

// count is a whole number from 0 to maxCount that may be missing or null, and is then 0.
func (o *object) count(name string) int {
	number := o.number(name)
	if number == "" {
		return 0
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > maxCount {
		o.err = fmt.Errorf("%s: %s is no whole number from 0 to %d", name, number, maxCount)
	}
	return n
}

// object is an object that has to be there. Its errors are its own.
func (o *object) object(name string) *object {
	raw := o.field(name, kindObject)
	if o.err != nil {
		return &object{err: o.err}
	}
	child, err := parseObject(raw)
	if err != nil {
		o.err = fmt.Errorf("%s: %w", name, err)
		return &object{err: o.err}
	}
	return child
}

// list is a list of objects that has to be there.
func (o *object) list(name string) []*object {
	raw := o.field(name, kindList)
	if o.err != nil {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		o.err = fmt.Errorf("%s: %w", name, err)
		return nil
	}
	list := make([]*object, len(items))
	for i, item := range items {
		child, err := parseObject(item)
		if err != nil {
			o.err = fmt.Errorf("%s: part %d: %w", name, i, err)
			return nil
		}
		list[i] = child
	}
	return list
}

// parseText decodes a JSON string. Half a surrogate pair stands for no character, and encoding/json would put U+FFFD
// in its place.
func parseText(raw json.RawMessage) (string, error) {
	if half := halfSurrogate(raw); half != "" {
		return "", fmt.Errorf("%s is half a surrogate pair", half)
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// halfSurrogate is the first escape in a valid JSON string that stands for half a surrogate pair without its other
// half, or empty.
func halfSurrogate(raw []byte) string {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		r, ok := escapedUnit(raw[i:])
		if !ok {
			i++ // the letter after the backslash, which may be one itself
			continue
		}
		if utf16.IsSurrogate(r) {
			low, _ := escapedUnit(raw[i+6:])
			if utf16.DecodeRune(r, low) == utf8.RuneError {
				return string(raw[i : i+6])
			}
			i += 6
		}
		i += 5
	}
	return ""
}

// escapedUnit is the UTF-16 unit of an escape such as \u00e9 at the start of raw.
func escapedUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}
