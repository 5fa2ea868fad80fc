package tiktoken

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func TestNoToolsCountNothing(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	require.Zero(t, c.CountTools(nil))
	require.Zero(t, c.CountTools([]chat.Tool{}))
}

// The numbers are GPT-3.5's bills, less the 8 tokens of the message sent with the tools.
func TestToolsCountAsBilled(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	for _, tt := range []struct {
		rule, name, description, parameters string
		want                                int
	}{
		{"no parameters", "foo", "", `{"type":"object","properties":{}}`, 23},
		{"a description", "foo", "Do a foo", `{"type":"object","properties":{}}`, 28},
		{"a property", "bing_bong", "Do a bing bong", `{"type":"object","properties":{"foo":{"type":"string"}}}`, 41},
		{"a property with a description", "bing_bong", "Do a bing bong",
			`{"type":"object","properties":{"foo":{"type":"string"},"bar":{"type":"number","description":"A number"}}}`, 49},
		{"a nested object", "bing_bong", "Do a bing bong",
			`{"type":"object","properties":{"foo":{"type":"object","properties":
				{"bar":{"type":"string","enum":["a","b","c"]},"baz":{"type":"boolean"}}}}}`, 60},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			tool := chat.Tool{Name: tt.name, Description: tt.description, Parameters: json.RawMessage(tt.parameters)}
			require.Equal(t, tt.want, c.CountTools([]chat.Tool{tool}))
		})
	}
}

func TestToolsAreWrittenAsTypeScript(t *testing.T) {
	for _, tt := range []struct{ rule, parameters, want string }{
		{"no schema", ``, `()`},
		{"null", `null`, `()`},
		{"no properties", `{"type":"object"}`, `()`},
		{"properties in the order of the schema", `{"properties":{"z":{"type":"string"},"a":{"type":"boolean"},"m":{"type":"null"}}}`, `(_: {
z?: string,
a?: boolean,
m?: null,
})`},
		{"required properties", `{"required":["b"],"properties":{"a":{"type":"integer"},"b":{"type":"number"}}}`, `(_: {
a?: number,
b: number,
})`},
		{"every line of a description", `{"properties":{"a":{"type":"string","description":"One.\nTwo."}}}`, `(_: {
// One.
// Two.
a?: string,
})`},
		{"literals as they are written", `{"properties":{"a":{"enum":["x",1,2.50,null]},"b":{"const":"k"}}}`, `(_: {
a?: "x" | 1 | 2.50 | null,
b?: "k",
})`},
		{"lists", `{"properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"array","items":{"enum":["x","y"]}}}}`, `(_: {
a?: any[],
b?: string[],
c?: ("x" | "y")[],
})`},
		{"nested objects", `{"properties":{"a":{"type":"object","required":["b"],"properties":{"b":{"description":"B.","properties":{"c":{}}}}},"d":{"type":"object"}}}`, `(_: {
a?: {
  // B.
  b: {
    c?: any,
  },
},
d?: object,
})`},
		{"alternatives", `{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]},"c":{"oneOf":[{"type":"boolean"}]}}}`, `(_: {
a?: string | null,
b?: string | number[],
c?: boolean,
})`},
		{"unknown types", `{"properties":{"a":{"type":"file"},"b":{}}}`, `(_: {
a?: any,
b?: any,
})`},
		{"a reference, as JSON", `{"properties": {"a": {"$ref": "#/$defs/a"}}}`, `(_: {"properties": {"a": {"$ref": "#/$defs/a"}}})`},
		{"allOf, as JSON", `{"allOf":[{"type":"object"}]}`, `(_: {"allOf":[{"type":"object"}]})`},
		{"a value that is not a schema, unchanged", `{"properties":{"a":true}}`, `(_: {"properties":{"a":true}})`},
		{"properties that are not an object", `{"properties":["a"]}`, `(_: {"properties":["a"]})`},
		{"text that is not JSON, unchanged", `{"properties":`, `(_: {"properties":)`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got := toolsText([]chat.Tool{{Name: "f", Parameters: json.RawMessage(tt.parameters)}})
			want := "namespace functions {\n\ntype f = " + tt.want + " => any;\n\n} // namespace functions"
			require.Empty(t, cmp.Diff(want, got))
		})
	}
}

func TestToolsAreWrittenOneAfterTheOther(t *testing.T) {
	got := toolsText([]chat.Tool{{Name: "a", Description: "First."}, {Name: "b"}})
	require.Equal(t, "namespace functions {\n\n// First.\ntype a = () => any;\n\ntype b = () => any;\n\n} // namespace functions", got)
}

func TestParametersThatAreNotASchemaCountAsText(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	long := strings.Repeat("not JSON at all ", 100)
	require.Greater(t, c.CountTools([]chat.Tool{{Name: "f", Parameters: json.RawMessage(long)}}), c.CountText(long))
}
