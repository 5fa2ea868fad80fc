package elements_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

func TestAMessageIsUnchangedByARender(t *testing.T) {
	every := chat.Parts{
		chat.Thinking{Text: "hm", Signature: "c2ln"}, chat.Thinking{Encrypted: "eHl6"}, chat.Text("a <b> & c\n"),
		chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailLow, MediaType: "image/png"}, chat.Text(" "),
		chat.Document{Data: "JVBERi0=", MediaType: "application/pdf"}, chat.Opaque{Value: []byte(`{ "b":1, "a":[ ] }`), Tokens: 7},
		chat.CacheBreakpoint{Type: "ephemeral"}, chat.Text("end"), chat.CacheBreakpoint{},
	}
	for _, test := range []struct {
		name    string
		message chat.Message
	}{
		{"a system message", chat.Message{Role: chat.RoleSystem, Name: "n", Content: chat.Parts{chat.Text("rules")}}},
		{"a user message of every part", chat.Message{Role: chat.RoleUser, Name: "n", Content: every}},
		{"an assistant message with calls", chat.Message{Role: chat.RoleAssistant, Name: "n", Content: every, ToolCalls: []chat.ToolCall{{ID: "1", Name: "read", Arguments: "{"}, {ID: "2"}}}},
		{"an assistant message of calls alone", chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "read"}}}},
		{"an assistant message without calls", chat.AssistantMessage("hello")},
		{"a tool message", chat.Message{Role: chat.RoleTool, ToolCallID: "1", Content: chat.Parts{chat.Text("42")}}},
		{"a tool's error", chat.Message{Role: chat.RoleTool, ToolCallID: "1", IsError: true, Content: chat.Parts{chat.Text("no"), chat.Image{URL: "i"}}}},
		{"an image inline", chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "data:image/png;base64,iVBORw0K"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := rendered(t, elements.Message(elements.Props{}, test.message), 1000)
			require.Empty(t, cmp.Diff([]chat.Message{test.message}, r.Messages))
			require.Equal(t, words{}.CountMessage(test.message), r.Tokens)
		})
	}
}

func TestMessageJoinsTexts(t *testing.T) {
	r := rendered(t, elements.Message(elements.Props{}, chat.Message{Role: chat.RoleUser, Content: chat.Parts{
		chat.Text("a"), chat.Text("b\n"), chat.Text("c"), chat.Image{URL: "i"}, chat.Text("d"), chat.Text("e"),
	}}), 100)
	require.Equal(t, chat.Parts{chat.Text("a\nb\nc"), chat.Image{URL: "i"}, chat.Text("d\ne")}, r.Messages[0].Content,
		"a text that follows another starts on a line of its own")
}

func TestMessageTakesItsProperties(t *testing.T) {
	props := elements.Props{Priority: new(3), Required: true, FlexGrow: 2}
	for _, role := range []chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool} {
		e, ok := elements.Message(props, chat.Message{Role: role}).(elements.Element)
		require.True(t, ok)
		require.Equal(t, props, e.ElementProps(), role)
	}
}

func TestAMessageWithoutCallsHasANilList(t *testing.T) {
	m, ok := elements.Message(elements.Props{}, chat.AssistantMessage("a")).(elements.AssistantMessage)
	require.True(t, ok)
	require.Nil(t, m.ToolCalls)
}

func TestPartReturnsTheElementOfAPart(t *testing.T) {
	require.Nil(t, elements.Part(nil))
	for _, p := range []interface {
		elements.Node
		Part() chat.Part
	}{
		elements.Image{Source: "https://example.com", Detail: chat.DetailAuto, MediaType: "m"}, elements.Document{Data: "d", MediaType: "m"},
		elements.Thinking{Thought: chat.Thinking{Text: "t", Signature: "s", Encrypted: "e"}}, elements.Opaque{Value: []byte("1"), Tokens: 2},
		elements.CacheBreakpoint{Type: "ephemeral"},
	} {
		require.Equal(t, elements.Node(p), elements.Part(p.Part()))
	}
	require.Equal(t, elements.Text("a"), elements.Part(chat.Text("a")))
}
