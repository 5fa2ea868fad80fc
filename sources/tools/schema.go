package tools

import (
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

// mostSteps is the number of schemas that are held against arguments. What takes more is not checked.
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
	if mistake := c.check("", schema, value); mistake != "" && c.steps <= mostSteps {
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

// check returns the first mistake of a value, "" if there is none. At is the path of the value.
func (c *checker) check(at string, schema, value any) string {
	c.steps++
	s, _ := schema.(map[string]any)
	if schema == false {
		return said(at, "is not allowed")
	}
	if s == nil || c.steps > mostSteps {
		return ""
	}
	if value == nil && s["nullable"] == true { // of OpenAPI
		return ""
	}
	if types := listOf(s["type"]); len(types) > 0 && !slices.ContainsFunc(types, func(t any) bool { return isOf(t, value) }) {
		return said(at, "must be of type %s", joined(types))
	}
	if allowed, ok := s["enum"].([]any); ok && !slices.ContainsFunc(allowed, func(a any) bool { return reflect.DeepEqual(a, value) }) {
		return said(at, "must be one of %s", joined(allowed))
	}
	if only, ok := s["const"]; ok && !reflect.DeepEqual(only, value) {
		return said(at, "must be %s", joined([]any{only}))
	}
	mistake := ""
	switch v := value.(type) {
	case map[string]any:
		mistake = c.object(at, s, v)
	case []any:
		if items, ok := s["items"].(map[string]any); ok && s["prefixItems"] == nil {
			for i := 0; i < len(v) && mistake == ""; i++ {
				mistake = c.check(fmt.Sprintf("%s[%d]", at, i), items, v[i])
			}
		}
	}
	var all []any
	if ref, ok := s["$ref"].(string); ok {
		all = append(all, c.find(ref))
	}
	all = append(all, listOf(s["allOf"])...)
	for _, each := range all {
		if mistake == "" {
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

func (c *checker) object(at string, s, v map[string]any) string {
	for _, name := range listOf(s["required"]) {
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
			if mistake := c.check(strings.TrimPrefix(at+"."+name, "."), schema, v[name]); mistake != "" {
				return mistake
			}
		}
	}
	return ""
}

// find returns what a reference within the document refers to, nil if that is elsewhere or missing.
func (c *checker) find(ref string) any {
	names := strings.Split(ref, "/")
	if names[0] != "#" {
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

// joined returns values as JSON, with commas.
func joined(values []any) string {
	list := make([]string, len(values))
	for i, v := range values {
		data, _ := json.Marshal(v) // it was decoded
		list[i] = string(data)
	}
	return strings.Join(list, ", ")
}

func said(at, format string, args ...any) string {
	if at == "" {
		at = "the object"
	}
	return strings.TrimSpace(at + " " + fmt.Sprintf(format, args...))
}
