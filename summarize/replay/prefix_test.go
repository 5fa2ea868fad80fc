package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// A message counts 4 tokens, and 1 for each of these words.
func TestCommonCountsTheWholeMessagesThatRequestsShare(t *testing.T) {
	system, user, answer := chat.SystemMessage("one two"), chat.UserMessage("three"), chat.AssistantMessage("four")
	image := func(url string) chat.Message {
		return chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: url}, chat.Text("one two three")}}
	}
	opaque := func(value string) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: []byte(value), Tokens: 7}}}
	}
	called := func(arguments string) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "ls", Arguments: arguments}}}
	}
	tests := []struct {
		rule       string
		last, next []chat.Message
		want       int
	}{
		{"nothing is in common with no request", nil, []chat.Message{system, user}, 0},
		{"the same request counts whole", []chat.Message{system, user}, []chat.Message{system, user}, 6 + 5},
		{"appended messages do not count", []chat.Message{system, user}, []chat.Message{system, user, answer, user}, 6 + 5},
		{"messages that were cut off at the end do not count", []chat.Message{system, user, answer}, []chat.Message{system}, 6},
		{"after another first message nothing counts", []chat.Message{system, user}, []chat.Message{user, system}, 0},
		{"messages after a difference do not count", []chat.Message{system, user, answer}, []chat.Message{system, answer, answer}, 6},
		{"of a message that differs nothing counts, however it begins", []chat.Message{chat.UserMessage("one two")}, []chat.Message{chat.UserMessage("one two, three")}, 0},
		{"the text of another role counts 0", []chat.Message{chat.UserMessage("one two three")}, []chat.Message{chat.SystemMessage("one two three")}, 0},
		{"an error is not a result with the same text", []chat.Message{{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{chat.Text("one")}}}, []chat.Message{{Role: chat.RoleTool, ToolCallID: "c", IsError: true, Content: chat.Parts{chat.Text("one")}}}, 0},
		{"a text after another image does not count", []chat.Message{image("https://a")}, []chat.Message{image("https://b")}, 0},
		{"opaque parts are compared byte for byte", []chat.Message{opaque("1")}, []chat.Message{opaque("2")}, 0},
		{"the same opaque part counts", []chat.Message{opaque("1")}, []chat.Message{opaque("1")}, 3 + 1 + 7},
		{"an opaque part has no text in common", []chat.Message{answer}, []chat.Message{opaque("1")}, 0},
		{"other arguments are another message", []chat.Message{user, called("{}")}, []chat.Message{user, called(`{"a":1}`)}, 5},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			p := prefix{tokenizer: tiktoken.O200k()}
			p.send(test.last)
			require.Equal(t, test.want, p.common(test.next))
		})
	}
}

func TestSendCountsEveryMessage(t *testing.T) {
	p := prefix{tokenizer: tiktoken.O200k()}
	require.Equal(t, 6, p.send([]chat.Message{chat.SystemMessage("one two")}))
	require.Equal(t, 6+5, p.send([]chat.Message{chat.SystemMessage("one two"), chat.UserMessage("three")}))
	require.Equal(t, 5, p.send([]chat.Message{chat.UserMessage("three")}))
	require.Equal(t, 5, p.common([]chat.Message{chat.UserMessage("three")}))
}
