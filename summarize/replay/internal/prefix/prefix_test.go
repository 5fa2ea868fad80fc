package prefix

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// A message counts 4 tokens, and 1 for each of these words.
func TestCommonCountsTheMessagesAndTheTextThatRequestsShare(t *testing.T) {
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
		{"of the first message that differs, the common words count", []chat.Message{chat.SystemMessage("one two three")}, []chat.Message{chat.SystemMessage("one two four")}, 2},
		{"a text that was continued counts whole", []chat.Message{chat.UserMessage("one two")}, []chat.Message{chat.UserMessage("one two, three")}, 2},
		{"a part of a word counts 0", []chat.Message{chat.UserMessage("understand")}, []chat.Message{chat.UserMessage("understate")}, 0},
		{"a part of a character counts 0", []chat.Message{chat.UserMessage("\u00e9")}, []chat.Message{chat.UserMessage("\u00e8")}, 0},
		{"the text of another role counts 0", []chat.Message{chat.UserMessage("one two three")}, []chat.Message{chat.SystemMessage("one two three")}, 0},
		{"an error is not a result with the same text", []chat.Message{{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{chat.Text("one")}}}, []chat.Message{{Role: chat.RoleTool, ToolCallID: "c", IsError: true, Content: chat.Parts{chat.Text("one")}}}, 1},
		{"a text after another image does not count", []chat.Message{image("https://a")}, []chat.Message{image("https://b")}, 0},
		{"opaque parts are compared byte for byte", []chat.Message{opaque("1")}, []chat.Message{opaque("2")}, 0},
		{"the same opaque part counts", []chat.Message{opaque("1")}, []chat.Message{opaque("1")}, 3 + 1 + 7},
		{"an opaque part has no text in common", []chat.Message{answer}, []chat.Message{opaque("1")}, 0},
		{"other arguments are another message", []chat.Message{user, called("{}")}, []chat.Message{user, called(`{"a":1}`)}, 5},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			p := Prefix{Tokenizer: tiktoken.O200k()}
			p.Send(test.last)
			require.Equal(t, test.want, p.Common(test.next))
		})
	}
}

func TestSendCountsEveryMessage(t *testing.T) {
	p := Prefix{Tokenizer: tiktoken.O200k()}
	require.Equal(t, 6, p.Send([]chat.Message{chat.SystemMessage("one two")}))
	require.Equal(t, 6+5, p.Send([]chat.Message{chat.SystemMessage("one two"), chat.UserMessage("three")}))
	require.Equal(t, 5, p.Send([]chat.Message{chat.UserMessage("three")}))
	require.Equal(t, 5, p.Common([]chat.Message{chat.UserMessage("three")}))
}

func TestCommonCountsOnlyWholeMessagesIfCountsDoNotAddUp(t *testing.T) {
	p := Prefix{Tokenizer: struct{ chat.Tokenizer }{tiktoken.O200k()}}
	p.Send([]chat.Message{chat.SystemMessage("one two"), chat.UserMessage("one two three")})
	require.Equal(t, 6, p.Common([]chat.Message{chat.SystemMessage("one two"), chat.UserMessage("one two four")}))
}

// FuzzCommonText checks that two texts have no more tokens in common than either has.
func FuzzCommonText(f *testing.F) {
	f.Add("one two", " three", " four")
	f.Add("x  \n\n", "\n", " ")
	f.Add("caf", "\u00e9", "\u00e8")
	f.Add("\xff", "\xfe", "")
	f.Add(strings.Repeat("a", 100), "b", "'s")
	c, err := tiktoken.New("o200k_base")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, common, a, b string) {
		n := commonText(c, chat.UserMessage(common+a), chat.UserMessage(common+b))
		require.GreaterOrEqual(t, n, 0)
		require.LessOrEqual(t, n, min(c.CountText(common+a), c.CountText(common+b)))
	})
}
