package tiktoken

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// tokensOf returns the sum of the tokens of texts, each counted on its own.
func tokensOf(t *testing.T, texts ...string) int {
	t.Helper()
	n := 0
	for _, text := range texts {
		n += len(oracle(t, "cl100k_base").EncodeOrdinary(text))
	}
	return n
}

func TestAMessageCountsItsTextsAndThreeTokens(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	const image = 85
	low := chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailLow}
	for _, tt := range []struct {
		rule    string
		message chat.Message
		want    int
	}{
		{"3 and the role", chat.Message{Role: chat.RoleUser}, 3 + 1},
		{"the content's tokens", chat.UserMessage("hello world"), 3 + 1 + 2},
		{"a system message", chat.SystemMessage("hello:"), 3 + 1 + 2},
		{"texts are joined, which may take fewer tokens",
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("hel"), chat.Text("lo wor"), chat.Text("ld")}},
			3 + 1 + 2},
		{"a name takes 1 token more", chat.Message{Role: chat.RoleUser, Name: "Ada", Content: chat.Parts{chat.Text("hello")}},
			3 + 1 + 1 + tokensOf(t, "Ada") + 1},
		{"a tool message has no name", chat.Message{Role: chat.RoleTool, Name: "Ada", ToolCallID: "c1", Content: chat.Parts{chat.Text("42")}},
			3 + 1 + 1 + tokensOf(t, "c1")},
		{"tool calls: id, type, name and 1 for it, arguments",
			chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
				{ID: "call_1", Name: "count_files", Arguments: `{"glob":"*.go"}`}, {ID: "call_2"},
			}},
			3 + 1 + tokensOf(t, "call_1", "function", "count_files", `{"glob":"*.go"}`, "call_2", "function") + 1},
		{"a tool's result, with its call", chat.ToolResult("call_1", "42 files"), 3 + tokensOf(t, "tool", "42 files", "call_1")},
		{"only a tool's message answers a call",
			chat.Message{Role: chat.RoleUser, ToolCallID: "call_1", Content: chat.Parts{chat.Text("hello")}}, 3 + 1 + 1},
		{"only an assistant calls tools",
			chat.Message{Role: chat.RoleUser, ToolCalls: []chat.ToolCall{{ID: "call_1", Name: "count_files"}}}, 3 + 1},
		{"with an image, each text counts alone and with its type",
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("hel"), chat.Text("lo"), low}},
			3 + 1 + tokensOf(t, "text", "hel", "text", "lo") + image},
		{"with an image in a tool message, each text counts alone and with its type",
			chat.Message{Role: chat.RoleTool, ToolCallID: "call_1", Content: chat.Parts{chat.Text("see"), low}},
			3 + tokensOf(t, "tool", "call_1", "text", "see") + image},
		{"an image alone", chat.Message{Role: chat.RoleUser, Content: chat.Parts{low}}, 3 + 1 + image},
		{"an empty text beside an image counts its type", chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text(""), low}},
			3 + 1 + 1 + image},
		{"images and documents of assistant and system are not sent",
			chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("hel"), low, chat.NewDocument("application/pdf", []byte("x")), chat.Text("lo")}},
			3 + 1 + 1},
		{"an opaque part counts as its tokens, and makes the content a list",
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("hello"), chat.Opaque{Value: json.RawMessage(`{"a":1}`), Tokens: 7}}},
			3 + 1 + tokensOf(t, "text", "hello") + 7},
		{"an assistant's opaque part",
			chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("hel"), chat.Opaque{Value: json.RawMessage(`{"a":1}`), Tokens: 7}, chat.Text("lo")}},
			3 + 1 + 1 + 7},
		{"a document leaves the texts joined",
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("hel"), chat.NewDocument("text/plain", []byte("hello world")), chat.Text("lo")}},
			3 + 1 + 1 + 2},
		{"an assistant's thinking counts its text",
			chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "hello world", Signature: "c2ln", Encrypted: "eHl6"}, chat.Text("hello")}},
			3 + 1 + 1 + 2},
		{"thinking in another message is not sent",
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Thinking{Text: "hello world"}, chat.Text("hello")}}, 3 + 1 + 1},
		{"a cache breakpoint is 0 tokens",
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("hel"), chat.CacheBreakpoint{Type: "ephemeral"}, chat.Text("lo")}}, 3 + 1 + 1},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, c.CountMessage(tt.message)) })
	}
}

func TestAPartCountsByItsKind(t *testing.T) {
	c := newTestCounter(t, "cl100k_base")
	const largest = 1445
	for _, tt := range []struct {
		rule string
		part chat.Part
		want int
	}{
		{"a text", chat.Text("hello world"), 2},
		{"no text", chat.Text(""), 0},
		{"nothing", nil, 0},
		{"thinking is its text", chat.Thinking{Text: "hello world", Signature: "c2ln", Encrypted: "eHl6"}, 2},
		{"hidden thinking", chat.Thinking{Encrypted: "eHl6"}, 0},
		{"an opaque part counts as its tokens", chat.Opaque{Value: json.RawMessage(`"hello"`), Tokens: 12}, 12},
		{"a count is never negative", chat.Opaque{Tokens: -12}, 0},
		{"a cache breakpoint", chat.CacheBreakpoint{Type: "ephemeral"}, 0},
		{"a document of text is its text", chat.NewDocument("text/markdown", []byte("hello world")), 2},
		{"any other document is the largest image and 1 for 4 bytes", chat.NewDocument("application/pdf", make([]byte, 3000)), largest + 750},
		{"a text that is not base64", chat.Document{MediaType: "text/plain", Data: strings.Repeat("?", 4000)}, largest + 750},
		{"an empty document", chat.NewDocument("application/pdf", nil), 0},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, c.CountPart(tt.part)) })
	}
}
