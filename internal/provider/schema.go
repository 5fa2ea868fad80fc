package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// SchemaRules say what schemas of answers an API accepts. The zero value accepts all.
type SchemaRules struct {
	// Strict says that the rules hold only for formats that are strict.
	Strict bool
	// Object says that the schema is of type object, and not of several.
	Object bool
	// Closed says that each object forbids properties that it does not list, unless Maps is set and it lists none, and
	// Required that it requires each of its own.
	Closed, Maps, Required bool
	// Typed says that each schema says what it describes: by a type, or as one that others stand for.
	Typed bool
	// Keywords are those that are accepted, nil for all but Refused.
	Keywords, Refused []string
	// Lone says that nothing stands beside a $ref, and Local that each points into the schema.
	Lone, Local bool
	// Acyclic says that no schema refers to one that it is in.
	Acyclic bool
	// Depth is how many objects and arrays may stand in each other, Properties how many properties there may be. 0 is
	// no limit.
	Depth, Properties int
	// Also returns what else is wrong with a schema, "" for nothing. It may be nil.
	Also func(schema map[string]any) string
}

// StrictSchemas are the rules of OpenAI for formats that are strict, which are the strictest of all
// (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas).
var StrictSchemas = SchemaRules{
	Strict: true, Object: true, Closed: true, Required: true, Typed: true, Depth: 10, Properties: 5000,
	Refused: []string{"allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"},
}

// maxSchema bounds the schemas in a schema, and those that stand in each other.
const maxSchema, maxSchemaDepth = 20_000, 200

// Check returns what is wrong with the schema of a format, and where; "" for nothing.
func (r SchemaRules) Check(f chat.Format) string {
	if r.Strict && !f.Strict {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(f.Schema))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil {
		return "" // package chat reports it
	}
	c := schemaCheck{rules: r, refs: map[string][]string{}}
	if r.Object && root["type"] != "object" {
		c.report("", `it is not of type "object"`)
	}
	c.schema("", root, 0, 0)
	if c.wrong == "" && r.Acyclic {
		c.cycles()
	}
	return c.wrong
}

type schemaCheck struct {
	rules               SchemaRules
	schemas, properties int
	wrong               string
	refs                map[string][]string // by the place of a schema that others refer to, what it refers to
	place               string              // of the definition that is being read
}

func (c *schemaCheck) report(at, format string, args ...any) {
	if c.wrong != "" {
		return
	}
	c.wrong = strings.TrimPrefix(cmp.Or(at, "the schema"), ".") + ": " + fmt.Sprintf(format, args...)
}

// listed and named are the keywords whose values are schemas: one or a list, or schemas by name.
var (
	listed = []string{"items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "additionalProperties", "contains", "propertyNames"}
	named  = []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}
)

// schema checks a schema, and those in it. depth is the number of objects and arrays around it.
func (c *schemaCheck) schema(at string, s map[string]any, depth, nested int) {
	r := c.rules
	if c.schemas++; c.schemas > maxSchema || nested > maxSchemaDepth {
		c.report(at, "there are more than %d schemas, or %d in each other", maxSchema, maxSchemaDepth)
	}
	if c.wrong != "" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if slices.Contains(r.Refused, key) || r.Keywords != nil && !slices.Contains(r.Keywords, key) {
			c.report(at, "the API does not take the keyword %q", key)
		}
	}
	if ref, is := s["$ref"].(string); is {
		if r.Lone && len(s) > 1 {
			c.report(at, "something stands beside $ref")
		}
		if r.Local && !strings.HasPrefix(ref, "#") {
			c.report(at, "$ref points to %q, outside of the schema", ref)
		}
		c.refs[c.place] = append(c.refs[c.place], ref)
	}
	if r.Typed && !slices.ContainsFunc([]string{"type", "$ref", "anyOf", "enum", "const"}, func(key string) bool { return s[key] != nil }) {
		c.report(at, "it has no type")
	}
	properties, _ := s["properties"].(map[string]any)
	if c.properties += len(properties); r.Properties > 0 && c.properties > r.Properties {
		c.report(at, "there are more than %d properties", r.Properties)
	}
	if isType(s, "object") && s["$ref"] == nil {
		c.object(at, s, properties)
	}
	if isType(s, "object") || isType(s, "array") {
		if depth++; r.Depth > 0 && depth > r.Depth {
			c.report(at, "more than %d objects and arrays stand in each other", r.Depth)
		}
	}
	if r.Also != nil {
		if wrong := r.Also(s); wrong != "" {
			c.report(at, "%s", wrong)
		}
	}
	c.within(at, s, depth, nested)
}

// object checks what an object says of its properties.
func (c *schemaCheck) object(at string, s, properties map[string]any) {
	r, others := c.rules, s["additionalProperties"]
	if r.Closed && others != false && !(r.Maps && properties == nil && others != nil) {
		c.report(at, `an object needs "additionalProperties": false`)
	}
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if r.Required && !slices.Contains(required, any(name)) {
			c.report(at, "the property %q is not required; one that may be missing is null", name)
		}
	}
}

// within checks the schemas in a schema.
func (c *schemaCheck) within(at string, s map[string]any, depth, nested int) {
	for _, key := range listed {
		switch v := s[key].(type) {
		case map[string]any:
			c.schema(at+"."+key, v, depth, nested+1)
		case []any:
			for i, e := range v {
				if one, is := e.(map[string]any); is {
					c.schema(fmt.Sprintf("%s.%s[%d]", at, key, i), one, depth, nested+1)
				}
			}
		}
	}
	for _, key := range named {
		group, _ := s[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(group)) {
			one, _ := group[name].(map[string]any) // a schema that is true is one without keywords
			was, within := c.place, depth
			if key == "$defs" || key == "definitions" {
				c.place, within = "#"+strings.ReplaceAll(at, ".", "/")+"/"+key+"/"+name, 0
			}
			c.schema(at+"."+key+"."+name, one, within, nested+1)
			c.place = was
		}
	}
}

// cycles reports a definition that leads to itself. The whole schema is "#".
func (c *schemaCheck) cycles() {
	for _, start := range slices.Sorted(maps.Keys(c.refs)) {
		seen := map[string]bool{}
		for next := slices.Clone(c.refs[start]); len(next) > 0; {
			at := next[0]
			if next = next[1:]; at == "#" || at == start {
				c.report("", "it refers to itself by %q", at)
				return
			}
			if !seen[at] {
				seen[at] = true
				next = append(next, c.refs[at]...)
			}
		}
	}
}

// isType reports whether a schema allows a type.
func isType(s map[string]any, name string) bool {
	switch t := s["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return name == "object" && s["type"] == nil && s["properties"] != nil
}

// FormatAsTool returns a request that asks for its format by a tool, for an API or a model that takes no schema, or none
// beside tools, and what turns an answer to it back. The tool must be called; where there are others that may be called
// first, one of them or it. Without a format, or if it is not needed, it returns the request.
func FormatAsTool(req chat.Request, needed bool) (chat.Request, func(chat.Response) chat.Response) {
	if req.Format == nil || !needed {
		return req, func(r chat.Response) chat.Response { return r }
	}
	t := req.Format.Tool()
	for slices.ContainsFunc(req.Tools, func(other chat.Tool) bool { return other.Name == t.Name }) {
		t.Name += "_"
	}
	switch {
	case req.Tool != "" || req.ToolChoice == chat.ToolChoiceRequired: // the answer's turn comes later
	case req.ToolChoice == chat.ToolChoiceNone || len(req.Tools) == 0:
		req.Tool, req.ToolChoice = t.Name, chat.ToolChoiceAuto
	default:
		req.ToolChoice = chat.ToolChoiceRequired
	}
	req.Tools, req.Format = append(slices.Clip(req.Tools), t), nil
	if stream := req.Stream; stream != nil {
		answers := map[int]bool{} // the calls of the tool, by their index: whether each is the first
		req.Stream = func(d chat.Delta) {
			if call, is := d.(chat.CallDelta); is {
				if call.Name == t.Name {
					answers[call.Index] = len(answers) == 0
				}
				if first, is := answers[call.Index]; is {
					if !first || call.Arguments == "" {
						return
					}
					d = chat.Text(call.Arguments)
				}
			}
			stream(d)
		}
	}
	return req, func(r chat.Response) chat.Response {
		answers := func(c chat.ToolCall) bool { return c.Name == t.Name }
		at := slices.IndexFunc(r.Message.ToolCalls, answers)
		if at < 0 {
			return r
		}
		answer := r.Message.ToolCalls[at].Arguments
		if r.Message.ToolCalls = slices.DeleteFunc(slices.Clone(r.Message.ToolCalls), answers); len(r.Message.ToolCalls) == 0 { // else it answers after the results
			r.Message.ToolCalls = nil
			r.Message.Content = append(slices.DeleteFunc(slices.Clone(r.Message.Content), func(p chat.Part) bool { _, is := p.(chat.Text); return is }), chat.Text(answer))
			if r.StopReason == chat.StopToolCalls {
				r.StopReason = chat.StopEnd
			}
		}
		return r
	}
}
