package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// Object is a JSON object, each field as it was written. Its methods read fields strictly: what encoding/json would convert
// or leave out is an error that names the field. The first error is kept, in the object and in those that hold it; what
// cannot be read is a zero value. A field that was read is removed, so that what is left in the end was not read. If a
// field occurs twice the last one counts, as in every provider's own parser.
//
// The bytes of an object are those that were parsed, without a copy, and must not change while it is read. What its methods
// return is a copy, unless they say otherwise.
type Object struct {
	source json.RawMessage
	fields map[string]json.RawMessage
	err    error
	in     *Object // that holds it, nil if none does
	name   string  // of its field there
}

// Parse reads an object. An error of syntax names the byte, from 1.
func Parse(raw json.RawMessage) (*Object, error) {
	if !json.Valid(raw) {
		err := json.Unmarshal(raw, new(json.RawMessage))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("byte %d: %w", syntax.Offset, err)
		}
		return nil, err
	}
	return parse(raw)
}

// From returns a value that encodes as an object.
func From(v any) (*Object, error) {
	raw, err := plainjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Parse(raw)
}

// FromEach calls read for each of an SDK's values, as an object. The error names what could not be read and its place in the
// list, such as "openai: message 3".
func FromEach[T any](what string, list []T, read func(*Object) error) error {
	for i, v := range list {
		o, err := From(v)
		if err == nil {
			err = read(o)
		}
		if err != nil {
			return fmt.Errorf("%s %d cannot be read: %w", what, i, err)
		}
	}
	return nil
}

// ObjectOf returns an object, nil for what is not one in UTF-8.
func ObjectOf(raw json.RawMessage) *Object {
	o, err := Parse(raw)
	if err != nil || !utf8.Valid(raw) {
		return nil
	}
	return o
}

// Of returns an object of one field, whose value is valid JSON.
func Of(name string, value json.RawMessage) *Object {
	o, _ := parse(slices.Concat([]byte("{"), Marshal(name), []byte(":"), value, []byte("}")))
	return o
}

// parse reads an object of valid JSON.
func parse(raw json.RawMessage) (*Object, error) {
	if k := KindOf(raw); k != KindObject {
		return nil, fmt.Errorf("expected %s, found %s", KindObject, k)
	}
	o := Object{source: raw, fields: map[string]json.RawMessage{}}
	for i := bytes.IndexByte(raw, '{') + 1; ; {
		if i = skipSpace(raw, i); raw[i] == '}' {
			return &o, nil
		}
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
		end := skipValue(raw, i)
		name := plainjson.Unquote(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = skipValue(raw, i)
		o.fields[name] = raw[i:end:end]
		i = end
	}
}

// Err returns the first error of what was read.
func (o *Object) Err() error { return o.err }

// Fail records an error, unless it is nil or there is one.
func (o *Object) Fail(err error) {
	for ; err != nil && o != nil && o.err == nil; o = o.in {
		o.err = err
		err = fmt.Errorf("%s: %w", o.name, err)
	}
}

// Source returns the object as it was written, also what of it was read.
func (o *Object) Source() json.RawMessage { return bytes.Clone(o.source) }

// Has reports whether a field was not read. It may be null.
func (o *Object) Has(name string) bool {
	_, ok := o.fields[name]
	return ok
}

// Given reports whether a field was not read and is not null.
func (o *Object) Given(name string) bool {
	raw, ok := o.fields[name]
	return ok && KindOf(raw) != KindNull
}

// Is reports whether a field was not read and is of a kind.
func (o *Object) Is(name string, want Kind) bool {
	raw, ok := o.fields[name]
	return ok && KindOf(raw) == want
}

// Look returns a field as it was written, nil if it is missing or null. It counts as not read, and it is not a copy.
func (o *Object) Look(name string) json.RawMessage {
	if !o.Given(name) {
		return nil
	}
	return o.fields[name]
}

// Peek returns a text, and "" if the field is missing or of another kind. The field counts as not read.
func (o *Object) Peek(name string) string {
	if !o.Is(name, KindText) {
		return ""
	}
	return plainjson.Unquote(o.fields[name])
}

// Skip counts fields as read.
func (o *Object) Skip(names ...string) {
	for _, name := range names {
		delete(o.fields, name)
	}
}

// Put sets a field, or restores one that was read, so that [Object.Remainder] holds it. Nil sets nothing.
func (o *Object) Put(name string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	if o.fields == nil {
		o.fields = map[string]json.RawMessage{}
	}
	o.fields[name] = raw
}

// PutText sets a field to a text.
func (o *Object) PutText(name, s string) {
	o.Put(name, Marshal(s))
}

// Add sets the fields of another object that are not null.
func (o *Object) Add(other *Object) {
	for _, name := range other.Rest() {
		o.Put(name, other.Look(name))
	}
}

// Rest returns the names of the fields that were not read and are not null, in order.
func (o *Object) Rest() []string {
	return slices.DeleteFunc(o.Names(), func(name string) bool { return !o.Given(name) })
}

// Names returns the names of the fields that were not read, null ones too, in order.
func (o *Object) Names() []string { return slices.Sorted(maps.Keys(o.fields)) }

// Remainder returns an object of the fields that were not read and are not null, nil if there are none.
func (o *Object) Remainder() json.RawMessage { return o.written(o.Rest()) }

// All returns an object of the fields that were not read, null ones too, nil if there are none.
func (o *Object) All() json.RawMessage { return o.written(o.Names()) }

func (o *Object) written(names []string) json.RawMessage {
	if len(names) == 0 {
		return nil
	}
	var b bytes.Buffer
	for i, name := range names {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(Marshal(name))
		b.WriteByte(':')
		b.Write(o.fields[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Field returns a required field of a kind. It is not a copy.
func (o *Object) Field(name string, want Kind) json.RawMessage {
	raw, ok := o.fields[name]
	switch {
	case !ok:
		o.Fail(fmt.Errorf("%s is missing", name))
		return nil
	case KindOf(raw) != want:
		o.Fail(fmt.Errorf("%s: expected %s, found %s", name, want, KindOf(raw)))
		return nil
	}
	delete(o.fields, name)
	return raw
}

// Raw returns a field as it was written, nil if it is missing or null.
func (o *Object) Raw(name string) json.RawMessage {
	raw := o.Look(name)
	if raw != nil {
		delete(o.fields, name)
	}
	return bytes.Clone(raw)
}

// Compact returns a field of any kind as JSON without white space, "" if it is missing or null.
func (o *Object) Compact(name string) string {
	raw := o.Look(name)
	if raw == nil {
		return ""
	}
	delete(o.fields, name)
	return Compacted(raw)
}

// Text returns a required text. Half a surrogate pair in it becomes U+FFFD.
func (o *Object) Text(name string) string {
	raw := o.Field(name, KindText)
	if raw == nil {
		return ""
	}
	return plainjson.Unquote(raw)
}

// OptionalText returns a text, and "" if it is missing or null.
func (o *Object) OptionalText(name string) string {
	if !o.Given(name) {
		return ""
	}
	return o.Text(name)
}

// Flag returns a boolean, and false if it is missing or null.
func (o *Object) Flag(name string) bool {
	return o.Given(name) && string(o.Field(name, KindBoolean)) == "true"
}

// Number returns a number as it was written, "" if it is missing or null.
func (o *Object) Number(name string) string {
	if !o.Given(name) {
		return ""
	}
	return string(o.Field(name, KindNumber))
}

// MaxCount is the largest count that is accepted. No model takes as many tokens, and the sum of a few still fits an int.
const MaxCount = 1 << 29

// Count returns a whole number from 0 to [MaxCount], and 0 if it is missing or null.
func (o *Object) Count(name string) int {
	number := cmp.Or(o.Number(name), "0")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > MaxCount {
		o.Fail(fmt.Errorf("%s: %s is not a whole number from 0 to %d", name, number, MaxCount))
		return 0
	}
	return n
}

// Amount returns a number of 0 or more, and 0 if it is missing or null.
func (o *Object) Amount(name string) float64 {
	number := cmp.Or(o.Number(name), "0")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 {
		o.Fail(fmt.Errorf("%s: %s is not a number of 0 or more", name, number[:min(len(number), 100)]))
		return 0
	}
	return f
}

// Time returns an optional time in RFC 3339, in UTC if it has no zone, or in milliseconds since 1970, or in seconds if that
// would be before September 2001. Any other value is left unread.
func (o *Object) Time(name string) time.Time {
	var t time.Time
	var err error
	switch raw := o.fields[name]; {
	case o.Is(name, KindText):
		if t, err = time.Parse(time.RFC3339, o.Peek(name)); err != nil {
			t, err = time.Parse("2006-01-02T15:04:05", o.Peek(name)) // as Python writes it
		}
	case o.Is(name, KindNumber):
		var n float64
		if n, err = strconv.ParseFloat(string(raw), 64); n < minMillis {
			n *= 1000
		}
		if err == nil && (n < 0 || n > maxMillis) {
			err = strconv.ErrRange
		}
		t = time.UnixMilli(int64(n))
	default:
		return time.Time{}
	}
	t = t.UTC()
	if year := t.Year(); err != nil || year < 0 || year > 9999 { // which no entry can hold
		return time.Time{}
	}
	delete(o.fields, name)
	return t
}

// maxMillis is the end of the year 9999, the last that RFC 3339 can write.
const maxMillis = 253402300799999

// minMillis is the least number of milliseconds that is not taken for seconds.
const minMillis = 1e12

// Object returns a required object, which records its own errors here too.
func (o *Object) Object(name string) *Object {
	raw := o.Field(name, KindObject)
	if raw == nil {
		return &Object{err: o.err}
	}
	child, _ := parse(raw) // it is one
	child.in, child.name = o, name
	return child
}

// Inside returns an object, or one within others, whose field counts as not read; nil if it is missing or of another kind.
// Its errors are not recorded here.
func (o *Object) Inside(path ...string) *Object {
	for _, name := range path {
		if !o.Is(name, KindObject) {
			return nil
		}
		o, _ = parse(o.fields[name])
	}
	return o
}

// Each calls f for each object of a required list. An error of the object is recorded with the field and the index.
func (o *Object) Each(name string, f func(item *Object)) {
	raw := o.Field(name, KindList)
	if raw == nil {
		return
	}
	err := Each(raw, func(item *Object, _ int) error {
		f(item)
		return item.err
	})
	if err != nil {
		o.Fail(fmt.Errorf("%s: %w", name, err))
	}
}
