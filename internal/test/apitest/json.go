package apitest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/test/sure"
)

// JSON is a decoded value; the zero value is one that is missing.
type JSON struct{ value any }

// Get returns the value at a path of names and indexes between dots.
func (j JSON) Get(path string) JSON {
	v := j.value
	for step := range strings.SplitSeq(path, ".") {
		switch of := v.(type) {
		case object:
			v = of[step]
		case []any:
			v = nil
			if i, err := strconv.Atoi(step); err == nil && i < len(of) {
				v = of[i]
			}
		default:
			v = nil
		}
	}
	return JSON{v}
}

// Exists reports whether the value is there and not null.
func (j JSON) Exists() bool { return j.value != nil }

// is reports whether the value at a path is true.
func (j JSON) is(path string) bool { return j.Get(path).value == true }

// String returns a text, "" for a missing value, and the JSON of any other.
func (j JSON) String() string {
	switch v := j.value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return sure.Encoded(j.value)
}

// List returns the elements of a list.
func (j JSON) List() (list []JSON) {
	of, _ := j.value.([]any)
	for _, v := range of {
		list = append(list, JSON{v})
	}
	return list
}

// Fields returns the values of an object by name.
func (j JSON) Fields() map[string]JSON {
	fields := map[string]JSON{}
	of, _ := j.value.(object)
	for name, v := range of {
		fields[name] = JSON{v}
	}
	return fields
}

// texts returns a text, or joins those of parts.
func (j JSON) texts() string {
	if s, ok := j.value.(string); ok {
		return s
	}
	var b strings.Builder
	for _, p := range j.List() {
		b.WriteString(p.Get("text").String())
	}
	return b.String()
}

type object = map[string]any

func eventOf(name string, v any) string {
	if name == "" {
		return fmt.Sprintf("data: %s\n\n", sure.Encoded(v))
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, sure.Encoded(v))
}

// pieces returns the two halves of a text, as streams have them, or none of an empty one.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	half := len(text) / 2
	return []string{text[:half], text[half:]}
}
