package tiktoken

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// toolsTokens is the cost of a request with tools beyond their text.
const toolsTokens = 9

// CountTools counts the definitions of the tools that a request declares; 0 if there are none.
//
// The count is an estimate. OpenAI rewrites the definitions for its models and does not document how; the community
// found, by comparing bills, that GPT-3.5 and GPT-4 see them as TypeScript of this form, plus 9 tokens:
//
//	namespace functions {
//
//	// Counts files.
//	type count = (_: {
//	// Which files, such as "*.go".
//	glob: string,
//	deep?: boolean,
//	}) => any;
//
//	} // namespace functions
//
// For simple tools the count has been right to the token. It is a few tokens too high if the conversation has a system
// message, and misses what the form does not show, such as bounds and defaults; the budget's margin covers that.
// Parameters that the form cannot show ($ref, allOf), or that are not a JSON schema, count as their JSON text.
//
// Of deferred tools only the names count, in the descriptions of the namespaces in which render/openai declares them.
func (c *Counter) CountTools(tools []chat.Tool) int {
	if len(tools) == 0 {
		return 0
	}
	return toolsTokens + c.CountText(toolsText(tools))
}

// toolsText writes tools in the form in which models see them. Properties keep the order of the schema.
func toolsText(tools []chat.Tool) string {
	var w typeWriter
	w.WriteString("namespace functions {\n\n")
	for _, tool := range tools {
		if tool.Deferred {
			w.WriteString(tool.Name + ", ")
			continue
		}
		w.comment(tool.Description, 0)
		w.WriteString("type " + tool.Name + " = (")
		w.parameters(tool.Parameters)
		w.WriteString(") => any;\n\n")
	}
	w.WriteString("} // namespace functions")
	return w.String()
}

// schema holds the parts of a JSON schema that the form shows.
type schema struct {
	Type        typeNames         `json:"type"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Items       *schema           `json:"items"`
	Properties  properties        `json:"properties"`
	Required    []string          `json:"required"`
	AnyOf       []schema          `json:"anyOf"`
	OneOf       []schema          `json:"oneOf"`

	// Fields that the form cannot show.
	AllOf json.RawMessage `json:"allOf"`
	Ref   json.RawMessage `json:"$ref"`
}

// errNotShown is returned for a schema that the form cannot show.
var errNotShown = errors.New("tiktoken: the schema has no TypeScript form")

// UnmarshalJSON reads a schema and refuses one that the form cannot show.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	if s.AllOf != nil || s.Ref != nil {
		return errNotShown
	}
	return nil
}

// typeNames is the type of a schema: one name or a list of them.
type typeNames []string

// UnmarshalJSON reads both forms.
func (t *typeNames) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]string)(t))
	}
	*t = make(typeNames, 1)
	return json.Unmarshal(data, &(*t)[0])
}

// properties of an object, in their order in the schema.
type properties []property

type property struct {
	name   string
	schema schema
}

// UnmarshalJSON reads a JSON object in order.
func (ps *properties) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(err, errNotShown)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		p := property{name: name.(string)} // a key of an object is a string
		if err := d.Decode(&p.schema); err != nil {
			return err
		}
		*ps = append(*ps, p)
	}
	return nil
}

// typeWriter writes TypeScript.
type typeWriter struct{ strings.Builder }

// parameters writes the one parameter of a function, or nothing if the function takes none.
func (w *typeWriter) parameters(raw json.RawMessage) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		w.WriteString("_: ")
		w.Write(raw)
		return
	}
	if len(s.Properties) == 0 && len(s.AnyOf)+len(s.OneOf) == 0 {
		return
	}
	w.WriteString("_: ")
	w.schema(&s, 0)
}

// schema writes a type.
func (w *typeWriter) schema(s *schema, indent int) {
	switch alternatives := slices.Concat(s.AnyOf, s.OneOf); {
	case len(s.Enum) > 0:
		for i, value := range s.Enum {
			w.or(i)
			w.Write(value)
		}
	case s.Const != nil:
		w.Write(s.Const)
	case len(alternatives) > 0:
		for i := range alternatives {
			w.or(i)
			w.schema(&alternatives[i], indent)
		}
	case len(s.Type) > 0:
		for i, name := range s.Type {
			w.or(i)
			w.typeNamed(name, s, indent)
		}
	case len(s.Properties) > 0:
		w.object(s, indent)
	default:
		w.WriteString("any")
	}
}

// or writes the separator before all alternatives but the first.
func (w *typeWriter) or(i int) {
	if i > 0 {
		w.WriteString(" | ")
	}
}

// typeNamed writes one of the types that a schema names.
func (w *typeWriter) typeNamed(name string, s *schema, indent int) {
	switch name {
	case "string", "boolean", "null":
		w.WriteString(name)
	case "number", "integer":
		w.WriteString("number")
	case "array":
		w.array(s.Items, indent)
	case "object":
		w.object(s, indent)
	default:
		w.WriteString("any")
	}
}

func (w *typeWriter) array(items *schema, indent int) {
	switch {
	case items == nil:
		w.WriteString("any")
	case max(len(items.Enum), len(items.Type), len(items.AnyOf)+len(items.OneOf)) > 1:
		w.WriteByte('(')
		w.schema(items, indent)
		w.WriteByte(')')
	default:
		w.schema(items, indent)
	}
	w.WriteString("[]")
}

func (w *typeWriter) object(s *schema, indent int) {
	if len(s.Properties) == 0 {
		w.WriteString("object")
		return
	}
	w.WriteString("{\n")
	for i := range s.Properties {
		p := &s.Properties[i]
		w.comment(p.schema.Description, indent)
		w.indent(indent)
		w.WriteString(p.name)
		if !slices.Contains(s.Required, p.name) {
			w.WriteByte('?')
		}
		w.WriteString(": ")
		w.schema(&p.schema, indent+2)
		w.WriteString(",\n")
	}
	w.indent(indent - 2)
	w.WriteByte('}')
}

// comment writes a description as a comment.
func (w *typeWriter) comment(description string, indent int) {
	if description == "" {
		return
	}
	for line := range strings.SplitSeq(description, "\n") {
		w.indent(indent)
		w.WriteString("// " + line + "\n")
	}
}

func (w *typeWriter) indent(n int) { w.WriteString(strings.Repeat(" ", max(0, n))) }
