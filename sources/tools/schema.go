package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Schemas may come from servers that are not trusted. The libraries for them take unbounded time or memory for some: a
// schema that refers to itself, or to two others that each refer to two. So the keywords that tools use are checked here,
// in a bounded number of steps: types, enums, constants, required and other properties, items, references within the
// schema, allOf, anyOf and oneOf as anyOf. Bounds, patterns and formats are left to the tool.

// mostSteps is the number of schemas, values of lists and pieces of [piece] bytes that are held against arguments. What takes
// more is not checked.
const mostSteps = 20_000

// fits returns an error that says why arguments do not fit a tool's schema. Those of a tool whose schema cannot be read
// must be an object.
func fits(t chat.Tool, arguments string) error {
	var value, schema any
	if json.Unmarshal([]byte(arguments), &value) != nil {
		return wrong("the arguments of %s are not valid JSON", nameOf(t.Name))
	}
	if _, object := value.(map[string]any); !object {
		return wrong("the arguments of %s are not an object", nameOf(t.Name))
	}
	if json.Unmarshal(t.Schema(), &schema) != nil {
		return nil
	}
	c := checker{root: schema}
	if mistake := c.check(nil, schema, value); mistake != "" && c.steps <= mostSteps {
		return wrong("the arguments of %s do not fit its schema: %s. The schema is: %s", nameOf(t.Name),
			plaintext.Outside(plaintext.OneLine(mistake, 300)), plaintext.OneLine(schemaText(t.Schema()), 2000))
	}
	return nil
}

// checker holds values against the schemas of a document.
type checker struct {
	root  any
	steps int
}

// piece is the number of bytes of a text that count as a step.
const piece = 64

// path is the place of a value: its name or index, and the place of what it is in. nil is the place of the whole.
type path struct {
	in    *path
	name  string
	index int // -1 for a name
}

// String returns the end of the path, of some hundred bytes at most.
func (p *path) String() string {
	text := ""
	for ; p != nil && len(text) < 200; p = p.in {
		if p.index >= 0 {
			text = fmt.Sprintf("[%d]%s", p.index, text)
		} else {
			text = "." + plaintext.Cut(p.name, 200) + text
		}
	}
	return strings.TrimPrefix(text, ".")
}

// over counts steps, and reports whether there were too many.
func (c *checker) over(steps int) bool {
	c.steps += steps
	return c.steps > mostSteps
}

// same reports whether two values are equal, or it would take too long to find out.
func (c *checker) same(a, b any) bool {
	if c.over(1) {
		return true
	}
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && len(a) == len(b) && (c.over(len(a)/piece) || a == b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, c.same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, c.same)
	}
	_, list := b.([]any)
	_, object := b.(map[string]any)
	return !list && !object && a == b
}

// check returns the first mistake of a value, "" if there is none. At is the place of the value.
func (c *checker) check(at *path, schema, value any) string {
	c.steps++
	s, _ := schema.(map[string]any)
	if schema == false {
		return said(at, "is not allowed")
	}
	if s == nil || c.steps > mostSteps || value == nil && s["nullable"] == true { // which is OpenAPI's
		return ""
	}
	if types := listOf(s["type"]); len(types) > 0 && !c.over(len(types)) && !slices.ContainsFunc(types, func(t any) bool { return isOf(t, value) }) {
		return said(at, "must be of type %s", joined(types))
	}
	if allowed, ok := s["enum"].([]any); ok && !slices.ContainsFunc(allowed, func(a any) bool { return c.same(a, value) }) {
		return said(at, "must be one of %s", joined(allowed))
	}
	if only, ok := s["const"]; ok && !c.same(only, value) {
		return said(at, "must be %s", joined([]any{only}))
	}
	mistake := ""
	switch v := value.(type) {
	case map[string]any:
		mistake = c.object(at, s, v)
	case []any:
		if items, ok := s["items"].(map[string]any); ok && s["prefixItems"] == nil {
			for i := 0; i < len(v) && mistake == ""; i++ {
				mistake = c.check(&path{in: at, index: i}, items, v[i])
			}
		}
	}
	var all []any
	if ref, ok := s["$ref"].(string); ok {
		all = append(all, c.find(ref))
	}
	all = append(all, listOf(s["allOf"])...)
	for _, each := range all {
		if mistake == "" && !c.over(0) {
			mistake = c.check(at, each, value)
		}
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if list := listOf(s[keyword]); len(list) > 0 && mistake == "" {
			if !slices.ContainsFunc(list, func(each any) bool { return c.check(at, each, value) == "" }) {
				mistake = said(at, "fits none of %s; of the first: %s", keyword, c.check(at, list[0], value))
			}
		}
	}
	return mistake
}

func (c *checker) object(at *path, s, v map[string]any) string {
	for _, name := range listOf(s["required"]) {
		if c.over(1) {
			return ""
		}
		if name, ok := name.(string); ok {
			if _, has := v[name]; !has {
				return said(at, "lacks %q", name)
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	others, limited := s["additionalProperties"]
	for _, name := range slices.Sorted(maps.Keys(v)) {
		schema, known := properties[name]
		if !known && len(patterns) == 0 && limited {
			if others == false {
				return said(at, "must not have %q", name)
			}
			schema, known = others, true
		}
		if known {
			if mistake := c.check(&path{at, name, -1}, schema, v[name]); mistake != "" {
				return mistake
			}
		}
	}
	return ""
}

// find returns what a reference within the document refers to, nil if that is elsewhere or missing.
func (c *checker) find(ref string) any {
	names := strings.Split(ref, "/")
	if c.over(len(ref)/piece) || names[0] != "#" {
		return nil
	}
	node := c.root
	for _, name := range names[1:] {
		object, _ := node.(map[string]any)
		node = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return node
}

// kinds are the kinds as which values of the types of JSON schema are decoded.
var kinds = map[string]reflect.Kind{
	"null": reflect.Invalid, "boolean": reflect.Bool, "string": reflect.String, "array": reflect.Slice, "object": reflect.Map,
	"number": reflect.Float64, "integer": reflect.Float64,
}

// isOf reports whether a value is of a type of JSON schema. All values are of an unknown type.
func isOf(name, value any) bool {
	text, _ := name.(string)
	kind, known := kinds[text]
	number, _ := value.(float64)
	return !known || kind == reflect.ValueOf(value).Kind() && (text != "integer" || number == math.Trunc(number))
}

// listOf returns the elements of a list, or a value that is not a list.
func listOf(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

// joined returns values as JSON, with commas: the first few of many.
func joined(values []any) string {
	var list []string
	for i, v := range values {
		if i == 20 {
			return strings.Join(list, ", ") + " …"
		}
		data, _ := json.Marshal(v) // it was decoded
		list = append(list, plaintext.Cut(string(data), 200))
	}
	return strings.Join(list, ", ")
}

func said(at *path, format string, args ...any) string {
	where := cmp.Or(at.String(), "the object")
	return strings.TrimSpace(where + " " + fmt.Sprintf(format, args...))
}
