package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestCounterCountsMessagesAsTheyAreSent(t *testing.T) {
	tokenizer := tiktoken.O200k()
	plain := chat.AssistantMessage("I look.")
	of := func(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleAssistant, Content: parts} }
	base := tokenizer.CountMessage(plain)
	encrypted := chat.Thinking{Text: "a summary that the model is not shown", Signature: `{"id":"rs_1"}`, Encrypted: strings.Repeat("x", 4000)}
	head := chat.Opaque{Value: json.RawMessage(`{"type":"message","id":"msg_1"}`), Tokens: 9}
	for _, tt := range []struct {
		rule            string
		message         chat.Message
		chat, responses int
	}{
		{"text", plain, base, base},
		{"thinking of another provider", of(chat.Thinking{Text: "hm hm hm", Signature: "c2ln"}, chat.Text("I look.")), base, base},
		{"thinking of a local server", of(chat.Thinking{Text: "hm hm hm", Signature: "reasoning_content"}, chat.Text("I look.")), base + tokenizer.CountText("hm hm hm"), base},
		{"encrypted reasoning", of(encrypted, chat.Text("I look.")), base, base + (3000-650)/4},
		{"reasoning in plain text", of(chat.Thinking{Text: "hm hm hm", Signature: `{"content":[]}`}, chat.Text("I look.")), base, base + tokenizer.CountText("hm hm hm")},
		{"an opaque part that only stores fields", of(head, chat.Text("I look.")), base, base},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.chat, openai.Counter(openai.ChatCompletions, openai.Options{}, tokenizer).CountMessage(tt.message))
			require.Equal(t, tt.responses, openai.Counter(openai.Responses, openai.Options{}, tokenizer).CountMessage(tt.message))
			for _, api := range apis {
				c, sum := openai.Counter(api, openai.Options{}, tokenizer), base-tokenizer.CountText("I look.")
				for _, p := range tt.message.Content {
					sum += c.CountPart(p)
				}
				require.Equal(t, c.CountMessage(tt.message), sum, "the parts add up")
			}
		})
	}
	picture := chat.Message{Role: chat.RoleTool, ToolCallID: "c1", Content: chat.Parts{chat.Text("a"), chat.Image{URL: "https://example.com/a.png"}}}
	require.Greater(t, openai.Counter(openai.ChatCompletions, openai.Options{}, tokenizer).CountMessage(picture), tokenizer.CountMessage(picture), "it is sent in a message of its own")
	require.Equal(t, tokenizer.CountMessage(picture), openai.Counter(openai.Responses, openai.Options{}, tokenizer).CountMessage(picture))
}

func TestFieldsCountIfTheyAreSentBack(t *testing.T) {
	tokenizer := tiktoken.O200k()
	m := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{
		chat.Thinking{Text: "hm hm hm", Signature: "reasoning_content"}, chat.Text("I look."),
		chat.Opaque{Value: json.RawMessage(`{"type":"chat.fields","reasoning_details":[{"data":"abc"}],"chat.kept":{"note":"some words that a server may refuse"}}`)},
	}, ToolCalls: []chat.ToolCall{
		{ID: "a", Name: "look", Arguments: "{}", Signature: `{"type":"chat.fields","extra_content":{"s":"one two three"}}`},
		{ID: "b", Name: "say", Arguments: "x", Signature: `{"type":"custom_tool_call","chat.fields":{"type":"chat.fields","chat.kept":{"seen":true}}}`},
	}}
	plain := chat.Message{Role: m.Role, Content: m.Content[1:2], ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}, {ID: "b", Name: "say", Arguments: "x"}}}
	base, thought := tokenizer.CountMessage(plain), tokenizer.CountText("hm hm hm")
	required := tokenizer.CountText(`{"reasoning_details":[{"data":"abc"}]}`) + tokenizer.CountText(`{"extra_content":{"s":"one two three"}}`)
	all := tokenizer.CountText(`{"note":"some words that a server may refuse","reasoning_details":[{"data":"abc"}]}`) +
		tokenizer.CountText(`{"extra_content":{"s":"one two three"}}`) + tokenizer.CountText(`{"seen":true}`)
	for _, tt := range []struct {
		rule    string
		options openai.Options
		want    int
	}{
		{"those that a server requires", openai.Options{}, base + thought + required},
		{"all", openai.Options{Fields: true}, base + thought + all},
		{"without thinking", openai.Options{Thinking: openai.ThinkingNone}, base + required},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, openai.Counter(openai.ChatCompletions, tt.options, tokenizer).CountMessage(m))
			require.NotEmpty(t, m.ToolCalls[0].Signature, "the message is not changed")
		})
	}
}

// joining is a tokenizer whose counts add up.
type joining struct{ chat.Tokenizer }

func (joining) SafeCut(before, after rune) bool { return before == 'a' }
func (j joining) CountFrame(m chat.Message) (int, bool) {
	return j.CountMessage(m) - j.CountText(m.Text()), true
}

func TestCounterIsAJoinerIfItsTokenizerIs(t *testing.T) {
	tokenizer := tiktoken.O200k()
	c, ok := openai.Counter(openai.ChatCompletions, openai.Options{}, joining{tokenizer}).(chat.Joiner)
	require.True(t, ok)
	require.True(t, c.SafeCut('a', ' '))
	m := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "hm", Signature: "x"}, chat.Text("I look.")}}
	frame, joined := c.CountFrame(m)
	require.True(t, joined)
	require.Equal(t, c.CountMessage(m), frame+c.CountText("I look."))
}
