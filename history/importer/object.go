package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// object is a JSON object, each field as it was written. Its methods read fields strictly: what encoding/json would
// convert or leave out is an error that names the field. The first error stays in err, of the object and of those that
// hold it, and reads after it return zero values. A field that was read is removed, so that what is left in the end was
// not read. If a field occurs twice the last one counts, as in every recorder's own parser.
type object struct {
	fields map[string]json.RawMessage
	err    error
	in     *object // that holds it, nil if none does
	name   string  // of its field there
}

// fail records an error, unless there is one.
func (o *object) fail(err error) {
	for ; o != nil && o.err == nil; o = o.in {
		o.err = err
		err = fmt.Errorf("%s: %w", o.name, err)
	}
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

// kind returns the kind of a valid JSON value from its first byte.
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

// given reports whether a field is present and not null.
func (o *object) given(name string) bool {
	raw, ok := o.fields[name]
	return ok && kind(raw) != kindNull
}

// field returns a required field of a kind.
func (o *object) field(name, want string) json.RawMessage {
	raw, ok := o.fields[name]
	switch {
	case o.err != nil:
		return nil
	case !ok:
		o.fail(fmt.Errorf("%s is missing", name))
		return nil
	case kind(raw) != want:
		o.fail(fmt.Errorf("%s: expected %s, found %s", name, want, kind(raw)))
		return nil
	}
	delete(o.fields, name)
	return raw
}

// is reports whether a field is present and of a kind.
func (o *object) is(name, want string) bool {
	raw, ok := o.fields[name]
	return ok && kind(raw) == want
}

// peek returns a text, and "" if the field is missing or of another kind. The field counts as not read.
func (o *object) peek(name string) string {
	if !o.is(name, kindText) {
		return ""
	}
	s, err := parseText(o.fields[name])
	if err != nil {
		return ""
	}
	return s
}

// raw returns a field as it was written, nil if it is missing or null.
func (o *object) raw(name string) json.RawMessage {
	if !o.given(name) {
		return nil
	}
	raw := o.fields[name]
	delete(o.fields, name)
	return raw
}

// compact returns a field of any kind as JSON without white space, "" if it is missing or null.
func (o *object) compact(name string) string {
	raw := o.raw(name)
	if raw == nil || o.err != nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		o.fail(fmt.Errorf("%s: %w", name, err))
	}
	return b.String()
}

// time returns an optional time in RFC 3339, in UTC if it has no zone, or in milliseconds since 1970, or in seconds if that
// would be before September 2001. Any other value is left unread.
func (o *object) time(name string) time.Time {
	var t time.Time
	var err error
	switch raw := o.fields[name]; {
	case o.is(name, kindText):
		if t, err = time.Parse(time.RFC3339, o.peek(name)); err != nil {
			t, err = time.Parse("2006-01-02T15:04:05", o.peek(name)) // as Python writes it
		}
	case o.is(name, kindNumber):
		var n float64
		if n, err = strconv.ParseFloat(string(raw), 64); err == nil && (n < 0 || n > maxMillis) {
			err = strconv.ErrRange
		}
		if n < minMillis {
			n *= 1000
		}
		t = time.UnixMilli(int64(n))
	default:
		return time.Time{}
	}
	if err != nil {
		return time.Time{}
	}
	delete(o.fields, name)
	return t.UTC()
}

// maxMillis is the end of the year 9999, the last that RFC 3339 can write.
const maxMillis = 253402300799999

// minMillis is the least number of milliseconds that is not taken for seconds.
const minMillis = 1e12

// rest returns the names of the fields that were not read and are not null, in order.
func (o *object) rest() []string {
	var names []string
	for name := range o.fields {
		if o.given(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// text returns a required text.
func (o *object) text(name string) string {
	raw := o.field(name, kindText)
	if o.err != nil {
		return ""
	}
	s, err := parseText(raw)
	if err != nil {
		o.fail(fmt.Errorf("%s: %w", name, err))
	}
	return s
}

// optionalText returns a text, and "" if it is missing or null.
func (o *object) optionalText(name string) string {
	if !o.given(name) {
		return ""
	}
	return o.text(name)
}

// flag returns a boolean, and false if it is missing or null.
func (o *object) flag(name string) bool {
	if !o.given(name) {
		return false
	}
	return string(o.field(name, kindBoolean)) == "true"
}

// number returns a number as it was written, "" if it is missing or null.
func (o *object) number(name string) string {
	if !o.given(name) {
		return ""
	}
	return string(o.field(name, kindNumber))
}

// maxCount is the largest count that is accepted. No model takes as many tokens, and the sum of a few still fits an
// int.
const maxCount = 1 << 29

// count returns a whole number from 0 to maxCount, and 0 if it is missing or null.
func (o *object) count(name string) int {
	number := o.number(name)
	if number == "" {
		return 0
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > maxCount {
		o.fail(fmt.Errorf("%s: %s is not a whole number from 0 to %d", name, number, maxCount))
	}
	return n
}

// amount returns a number of 0 or more, and 0 if it is missing or null.
func (o *object) amount(name string) float64 {
	number := o.number(name)
	if number == "" {
		return 0
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 {
		o.fail(fmt.Errorf("%s: %s is not a number of 0 or more", name, clip(number)))
		return 0
	}
	return f
}

// object returns a required object, which records its own errors.
func (o *object) object(name string) *object {
	raw := o.field(name, kindObject)
	if o.err != nil {
		return &object{err: o.err}
	}
	child, err := parseObject(raw)
	if err != nil {
		o.fail(fmt.Errorf("%s: %w", name, err))
		return &object{err: o.err}
	}
	child.in, child.name = o, name
	return child
}

// maxItems is the maximum length of a list. An object takes far more memory than "{}" does in a file.
const maxItems = 1 << 17

// each calls f for each object of a required list, with the object as it was written. An error of f is wrapped with the
// field and the index.
func (o *object) each(name string, f func(item *object, raw json.RawMessage) error) {
	raw := o.field(name, kindList)
	if o.err != nil {
		return
	}
	if err := eachObject(raw, f); err != nil {
		o.fail(fmt.Errorf("%s: %w", name, err))
	}
}

func eachObject(list json.RawMessage, f func(item *object, raw json.RawMessage) error) error {
	return eachOffset(list, func(item *object, raw json.RawMessage, _ int) error { return f(item, raw) })
}

// eachOffset is like each, and also passes the offset of the object in the list.
func eachOffset(list json.RawMessage, f func(item *object, raw json.RawMessage, offset int) error) error {
	dec := json.NewDecoder(bytes.NewReader(list))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for i := 0; dec.More(); i++ {
		if i == maxItems {
			return fmt.Errorf("more than %d parts", maxItems)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		item, err := parseObject(raw)
		if err == nil {
			err = f(item, raw, int(dec.InputOffset())-len(raw))
		}
		if err == nil {
			err = item.err
		}
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

// remainder returns an object of the fields that were not read and are not null, nil if there are none.
func (o *object) remainder() json.RawMessage {
	names := o.rest()
	if len(names) == 0 {
		return nil
	}
	var b bytes.Buffer
	for i, name := range names {
		key, _ := json.Marshal(name) // strings always encode
		b.WriteByte("{,"[min(i, 1)])
		b.Write(key)
		b.WriteByte(':')
		b.Write(o.fields[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// put restores a field that was read, so that the remainder holds it.
func (o *object) put(name string, raw json.RawMessage) {
	if raw != nil {
		o.fields[name] = raw
	}
}
