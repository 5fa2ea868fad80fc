package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/openai"
)

// What a server needs back, it gets; what it may refuse, it gets only if the model is told so.
func TestFieldsThatMustComeBackDo(t *testing.T) {
	answer := `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I look.","annotations":[],"refusal":null,"note":{"x":1},
		"reasoning_details":[{"type":"reasoning.encrypted","data":"abc"}],
		"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}},"seen":true}]}}]}`
	r, err := saying(t, answer).Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
	require.NoError(t, err)
	messages := []chat.Message{question, r.Message, chat.ToolResult("a", "x")}
	requireJSON(t, `{"role":"assistant","content":"I look.","reasoning_details":[{"type":"reasoning.encrypted","data":"abc"}],
		"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}}]}`,
		openai.ChatMessages(messages, openai.Options{})[1])
	requireJSON(t, `{"role":"assistant","content":"I look.","note":{"x":1},"reasoning_details":[{"type":"reasoning.encrypted","data":"abc"}],
		"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}},"seen":true}]}`,
		openai.ChatMessages(messages, openai.Options{Fields: true})[1])
}

func TestThinkingThatCameAsAPartGoesBackAsOne(t *testing.T) {
	answer := `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Here."}]}}]}`
	r, err := saying(t, answer).Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
	require.NoError(t, err)
	require.Equal(t, chat.Parts{chat.Thinking{Text: "Hm.", Signature: "thinking"}, chat.Text("Here.")}, r.Message.Content)
	requireJSON(t, `[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},{"type":"text","text":"Here."}]}]`,
		openai.ChatMessages([]chat.Message{r.Message}, openai.Options{}))
}
