package chattemplate_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/chattemplate"
)

func call(id string) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "look", Arguments: `{"at":1}`}}}
}

func TestTheTemplateOfAModelIsFoundByItsName(t *testing.T) {
	for model, want := range map[string]struct {
		template chattemplate.Template
		assumed  bool
	}{
		"meta-llama/Meta-Llama-3-8B-Instruct":  {chattemplate.Llama3, false},
		"llama3:8b":                            {chattemplate.Llama3, false},
		"llama3.3:70b":                         {chattemplate.Llama3, true},
		"meta-llama/Llama-3.1-8B-Instruct":     {chattemplate.Llama3, true},
		"Qwen/Qwen2.5-7B-Instruct":             {chattemplate.Qwen25, false},
		"qwen2.5-coder:7b":                     {chattemplate.Qwen25, true},
		"qwen3:8b":                             {chattemplate.Qwen3, false},
		"Qwen/Qwen3-30B-A3B":                   {chattemplate.Qwen3, false},
		"Qwen/Qwen3-30B-A3B-Instruct-2507":     {chattemplate.Qwen3, true},
		"qwen3-coder:30b":                      {chattemplate.Qwen3, true},
		"qwen3.5:9b":                           {chattemplate.Qwen3, true},
		"deepseek-ai/DeepSeek-V3":              {chattemplate.DeepSeekV3, false},
		"deepseek-ai/DeepSeek-V3.1":            {chattemplate.DeepSeekV3, true},
		"mistral-nemo":                         {chattemplate.MistralNemo, false},
		"mistralai/Mistral-Nemo-Instruct-2407": {chattemplate.MistralNemo, false},
		"dolphin-llama3:8b":                    {},
		"gemma3:4b":                            {},
		"gpt-4o":                               {},
		"":                                     {},
	} {
		template, assumed := chattemplate.ForModel(model)
		require.Equal(t, want.template, template, model)
		require.Equal(t, want.assumed, assumed, model)
	}
}

// length counts a token a byte.
func length(text string) int { return len(text) }

func TestAFrameDoesNotDependOnTexts(t *testing.T) {
	for _, template := range templates {
		for _, m := range []chat.Message{chat.SystemMessage(""), chat.UserMessage(""), chat.AssistantMessage(""), chat.ToolResult("c1", ""), call("c1")} {
			frame, joined := template.CountFrame(length, m)
			require.True(t, joined)
			for _, text := range []string{"a", "\n\nb ", "</think>"} {
				m.Content = chat.Parts{chat.Text(text)}
				with, _ := template.CountFrame(length, m)
				require.Equal(t, frame, with, "%s: %v", template, m)
			}
		}
	}
}

func TestMediaCountAsEstimates(t *testing.T) {
	for _, template := range append(templates, "") {
		plain := chat.UserMessage("Look.")
		for _, p := range []chat.Part{
			chat.Image{URL: "https://example.com/a.png"}, chat.NewDocument("application/pdf", make([]byte, 900)), chat.Opaque{Tokens: 7}, chat.Opaque{Tokens: math.MaxInt},
		} {
			m := plain
			m.Content = append(chat.Parts{p}, plain.Content...)
			part := sizing.Estimator{}.CountPart(p)
			require.Equal(t, part, template.CountPart(length, p))
			frame, _ := template.CountFrame(length, plain)
			with, _ := template.CountFrame(length, m)
			require.Equal(t, max(frame+part, part), max(with, 0), "%s: %v", template, p)
		}
		require.Zero(t, template.CountPart(length, chat.CacheBreakpoint{}))
		require.Equal(t, template == chattemplate.Qwen3, template.CountPart(length, chat.Thinking{Text: "Hm."}) == 3)
	}
}

func TestARequestWithoutToolsCountsNone(t *testing.T) {
	for _, template := range append(templates, "") {
		require.Zero(t, template.CountTools(length, nil))
	}
}

// written returns what a template writes for the schema of a tool.
func written(schema string) string {
	var all strings.Builder
	chattemplate.Qwen25.CountTools(func(text string) int {
		all.WriteString(text)
		return 0
	}, []chat.Tool{{Name: "f", Parameters: json.RawMessage(schema)}})
	_, rest, _ := strings.Cut(all.String(), `"parameters": `)
	return strings.TrimSuffix(rest, "}}\n")
}

func TestJSONIsWrittenAsByPython(t *testing.T) {
	for schema, want := range map[string]string{
		`{ "a":[1 ,2.50,-1e5,true,false,null],"b":{}, "c":[]}`: `{"a": [1, 2.50, -1e5, true, false, null], "b": {}, "c": []}`,
		`"\u00fc \u2028 <&> \/ \t \u0001 \\u2028"`:             "\"ü \u2028 <&> / \\t \\u0001 \\\\u2028\"",
		`{"a": 1`:                   `{"a": 1`, // not JSON
		strings.Repeat("[", 20_000): strings.Repeat("[", 20_000),
	} {
		require.Equal(t, want, written(schema))
	}
}

func FuzzJSONThatIsWrittenMeansTheSame(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"b"]}`, `"\ud800"`, `{"a":1,"a":2}`, `[[],{}]`, `1e400`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if (chat.Tool{Parameters: json.RawMessage(schema)}).Schema() == nil || !json.Valid([]byte(schema)) {
			return
		}
		var was, is any
		if json.Unmarshal([]byte(schema), &was) != nil {
			return // a number that is too large
		}
		require.NoError(t, json.Unmarshal([]byte(written(schema)), &is), written(schema))
		require.Equal(t, was, is)
	})
}
