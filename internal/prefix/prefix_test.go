package prefix

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// A message of one of the roles takes 3 tokens and 1 for the role, and each of the words here 1 more.
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
		{"nothing was sent before", nil, []chat.Message{system, user}, 0},
		{"the same again", []chat.Message{system, user}, []chat.Message{system, user}, 6 + 5},
		{"what is appended does not count", []chat.Message{system, user}, []chat.Message{system, user, answer, user}, 6 + 5},
		{"what was cut off at the end does not count", []chat.Message{system, user, answer}, []chat.Message{system}, 6},
		{"another beginning leaves nothing", []chat.Message{system, user}, []chat.Message{user, system}, 0},
		{"what follows a difference does not count", []chat.Message{system, user, answer}, []chat.Message{system, answer, answer}, 6},
		{"of the first that differs, the words in common", []chat.Message{chat.SystemMessage("one two three")}, []chat.Message{chat.SystemMessage("one two four")}, 2},
		{"a text that goes on counts whole", []chat.Message{chat.UserMessage("one two")}, []chat.Message{chat.UserMessage("one two, three")}, 2},
		{"half a word counts nothing", []chat.Message{chat.UserMessage("understand")}, []chat.Message{chat.UserMessage("understate")}, 0},
		{"half a character counts nothing", []chat.Message{chat.UserMessage("\u00e9")}, []chat.Message{chat.UserMessage("\u00e8")}, 0},
		{"another role leaves nothing of the text", []chat.Message{chat.UserMessage("one two three")}, []chat.Message{chat.SystemMessage("one two three")}, 0},
		{"what an error says is not what a result says", []chat.Message{{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{chat.Text("one")}}}, []chat.Message{{Role: chat.RoleTool, ToolCallID: "c", IsError: true, Content: chat.Parts{chat.Text("one")}}}, 1},
		{"a text after another image does not count", []chat.Message{image("https://a")}, []chat.Message{image("https://b")}, 0},
		{"opaque parts are compared byte for byte", []chat.Message{opaque("1")}, []chat.Message{opaque("2")}, 0},
		{"the same opaque part", []chat.Message{opaque("1")}, []chat.Message{opaque("1")}, 3 + 1 + 7},
		{"an opaque part is no text", []chat.Message{answer}, []chat.Message{opaque("1")}, 0},
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

// A tokenizer that does not know where its counts add up has whole messages alone.
func TestCommonCountsOnlyWholeMessagesIfCountsDoNotAddUp(t *testing.T) {
	p := Prefix{Tokenizer: struct{ chat.Tokenizer }{tiktoken.O200k()}}
	p.Send([]chat.Message{chat.SystemMessage("one two"), chat.UserMessage("one two three")})
	require.Equal(t, 6, p.Common([]chat.Message{chat.SystemMessage("one two"), chat.UserMessage("one two four")}))
}

// What two texts are said to have in common is never more than they have, and is all but the last words.
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
