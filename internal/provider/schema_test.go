package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

func TestASchemaIsCheckedWithThePlaceOfWhatIsWrong(t *testing.T) {
	const closed = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	deep := closed
	for range 10 {
		deep = `{"type":"object","properties":{"in":` + deep + `},"required":["in"],"additionalProperties":false}`
	}
	many := make([]string, 5001)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"null"}`, i)
	}
	for name, c := range map[string]struct{ schema, want string }{
		"a closed object":           {closed, ""},
		"a root of another type":    {`{"anyOf":[` + closed + `]}`, `the schema: it is not of type "object"`},
		"an open object":            {`{"type":"object","properties":{}}`, `the schema: an object needs "additionalProperties": false`},
		"an open object inside":     {`{"type":"object","additionalProperties":false,"required":["list"],"properties":{"list":{"type":"array","items":{"type":["null","object"]}}}}`, `properties.list.items: an object needs "additionalProperties": false`},
		"a property that may lack":  {`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`, `the schema: the property "a" is not required; one that may be missing is null`},
		"a keyword in a definition": {`{"type":"object","additionalProperties":false,"properties":{},"$defs":{"x":{"not":{}}}}`, `$defs.x: the API does not take the keyword "not"`},
		"a keyword as a name":       {`{"type":"object","additionalProperties":false,"required":["not"],"properties":{"not":{"type":"string"}}}`, ""},
		"an alternative":            {`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"anyOf":[{"type":"null"},{"type":"object"}]}}}`, `properties.a.anyOf[1]: an object needs "additionalProperties": false`},
		"a value of any type":       {`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":true}}`, "properties.a: it has no type"},
		"too deep":                  {deep, "more than 10 objects and arrays stand in each other"},
		"too many properties":       {`{"type":"object","additionalProperties":false,"properties":{` + strings.Join(many, ",") + `}}`, "there are more than 5000 properties"},
	} {
		t.Run(name, func(t *testing.T) {
			f := chat.Format{Name: "f", Schema: json.RawMessage(c.schema), Strict: true}
			if got := provider.StrictSchemas.Check(f); c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
			f.Strict = false
			require.Empty(t, provider.StrictSchemas.Check(f), "the rules are those of strict formats")
		})
	}
}

func TestASchemaThatRefersToItselfIsFound(t *testing.T) {
	r := provider.SchemaRules{Acyclic: true, Lone: true, Local: true}
	for schema, want := range map[string]string{
		`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`:                       "",
		`{"properties":{"a":{"$ref":"#"}}}`:                                                               `it refers to itself by "#"`,
		`{"$defs":{"x":{"properties":{"y":{"$ref":"#/$defs/y"}}},"y":{"items":{"$ref":"#/$defs/x"}}}}`:    "it refers to itself",
		`{"properties":{"a":{"$ref":"https://a.test/b"}}}`:                                                `properties.a: $ref points to "https://a.test/b"`,
		`{"properties":{"a":{"$ref":"#/$defs/x","description":"d"}}}`:                                     "properties.a: something stands beside $ref",
		`{"properties":{"a":` + strings.Repeat(`{"items":`, 300) + `{}` + strings.Repeat(`}`, 300) + `}}`: "200 in each other",
	} {
		got := r.Check(chat.Format{Schema: json.RawMessage(schema)})
		if want == "" {
			require.Empty(t, got, schema)
		} else {
			require.Contains(t, got, want, schema)
		}
	}
}

// A form that is asked for by a tool comes back as the text of the answer, streamed as text; calls before it stay calls.
func TestAFormThatIsAskedForByAToolIsTheTextOfTheAnswer(t *testing.T) {
	format := &chat.Format{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}
	look := chat.Tool{Name: "look"}
	var heard []chat.Delta
	req := chat.Request{Tools: []chat.Tool{look}, Shape: chat.Shape{Format: format}, Stream: func(d chat.Delta) { heard = append(heard, d) }}
	sent, back := provider.FormatAsTool(req, true)
	require.Nil(t, sent.Format)
	require.Equal(t, chat.ToolChoiceRequired, sent.ToolChoice, "the other tools may be called first")
	require.Equal(t, []string{"look", "look_"}, []string{sent.Tools[0].Name, sent.Tools[1].Name})
	require.Len(t, req.Tools, 1)
	for _, d := range []chat.Delta{chat.CallDelta{ID: "a", Name: "look_"}, chat.CallDelta{Arguments: `{"n"`}, chat.CallDelta{Arguments: `:1}`}} {
		sent.Stream(d)
	}
	require.Equal(t, []chat.Delta{chat.Text(`{"n"`), chat.Text(`:1}`)}, heard)
	answer := chat.ToolCall{ID: "a", Name: "look_", Arguments: `{"n":1}`}
	got := back(chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{answer}}, StopReason: chat.StopToolCalls})
	require.Equal(t, chat.Response{Message: chat.AssistantMessage(`{"n":1}`)}, got)
	both := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "b", Name: "look"}, answer}}
	got = back(chat.Response{Message: both, StopReason: chat.StopToolCalls})
	require.Equal(t, both.ToolCalls[:1], got.Message.ToolCalls, "it answers once it has the result")
	require.Equal(t, chat.StopToolCalls, got.StopReason)

	alone, _ := provider.FormatAsTool(chat.Request{Shape: chat.Shape{Format: format}}, true)
	require.Equal(t, "look", alone.Tool)
	require.NoError(t, chat.ValidateRequest(chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}, Tools: alone.Tools, Shape: alone.Shape}))
}
