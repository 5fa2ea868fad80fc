package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestRepair(t *testing.T) {
	skipped := func(c chat.ToolCall) chat.ToolCall { c.Signature = gemini.SkipSignature; return c }
	for _, tt := range []struct {
		rule        string
		given, want []chat.Message
		changes     []string
	}{
		{
			rule:    "a call without a result is removed, the others stay",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`)), call("c2", `{}`)), chat.ToolResult("c1", "1"), chat.UserMessage("b")},
			want:    []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`))), chat.ToolResult("c1", "1"), chat.UserMessage("b")},
			changes: []string{`message 1: every tool call is answered: removed call "c2" of look, which has no result`},
		}, {
			rule:  "with the message, where it was all of it",
			given: []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`))), chat.UserMessage("b")},
			want:  []chat.Message{chat.UserMessage("a"), chat.UserMessage("b")},
			changes: []string{
				`message 1: every tool call is answered: removed call "c1" of look, which has no result`,
				`message 1: no empty text: removed the message, of which nothing is left`,
			},
		}, {
			rule:  "the signature that was lost with a call is made up for",
			given: []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`)), call("c2", `{}`)), chat.ToolResult("c2", "2")},
			want:  []chat.Message{chat.UserMessage("a"), calls(skipped(call("c2", `{}`))), chat.ToolResult("c2", "2")},
			changes: []string{
				`message 1: every tool call is answered: removed call "c1" of look, which has no result`,
				`message 1: calls of the current turn carry their thought signature: let call "c2" do without its thought signature`,
			},
		}, {
			rule:    "a result without its call is removed",
			given:   []chat.Message{chat.UserMessage("a"), chat.ToolResult("c1", "1"), chat.UserMessage("b")},
			want:    []chat.Message{chat.UserMessage("a"), chat.UserMessage("b")},
			changes: []string{`message 1: no result without its call: removed a result of call "c1", which is not in the assistant message before it`},
		}, {
			rule:    "calls of one id are told apart, and so are their results",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"n":1}`)), call("c1", `{"n":2}`)), chat.ToolResult("c1", "1"), chat.ToolResult("c1", "2")},
			want:    []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"n":1}`)), call("c1-2", `{"n":2}`)), chat.ToolResult("c1", "1"), chat.ToolResult("c1-2", "2")},
			changes: []string{`message 1: tool calls are named: gave call 1, of id "c1", the id "c1-2"`},
		}, {
			rule:    "arguments are wrapped in an object",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"cut`))), chat.ToolResult("c1", "1")},
			want:    []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"arguments":"{\"cut"}`))), chat.ToolResult("c1", "1")},
			changes: []string{`message 1: arguments are a JSON object: wrapped the arguments of call "c1" in an object`},
		}, {
			rule:  "what cannot be sent is said, what is another provider's goes",
			given: []chat.Message{user(chat.Text("a"), chat.Image{URL: "ftp://b"}, chat.Opaque{Value: json.RawMessage(`{"type":"x"}`)})},
			want:  []chat.Message{user(chat.Text("a"), chat.Text(`(an image at "ftp://b": Gemini takes data, https and gs URLs)`))},
			changes: []string{
				`message 0: parts are Gemini's: put a text in the place of what cannot be sent: part 1: an image at "ftp://b": Gemini takes data, https and gs URLs`,
				`message 0: parts are Gemini's: removed what cannot be sent: part 2: an opaque part that is none of Gemini's: json: unknown field "type"`,
			},
		}, {
			rule:  "the place of a call that is gone goes too",
			given: []chat.Message{chat.UserMessage("a"), {Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: json.RawMessage(`{"functionCall":{"id":"c1"}}`)}, chat.Text("b")}, ToolCalls: []chat.ToolCall{call("c1", `{}`)}}, chat.UserMessage("c")},
			want:  []chat.Message{chat.UserMessage("a"), chat.AssistantMessage("b"), chat.UserMessage("c")},
			changes: []string{
				`message 1: every tool call is answered: removed call "c1" of look, which has no result`,
				`message 1: parts are Gemini's: removed what cannot be sent: part 0: the place of a call "c1" that is not in the message or stands elsewhere`,
			},
		}, {
			rule:  "something is said before the first call and after the last answer",
			given: []chat.Message{chat.SystemMessage("s"), calls(call("c1", `{}`)), chat.ToolResult("c1", " "), chat.AssistantMessage("b")},
			want: []chat.Message{
				chat.SystemMessage("s"), chat.UserMessage("(The conversation so far is not shown.)"), calls(call("c1", `{}`)), chat.ToolResult("c1", "(no output)"),
				chat.AssistantMessage("b"), chat.UserMessage("Continue."),
			},
			changes: []string{
				`message 1: function calls follow a user or function response turn: put "(The conversation so far is not shown.)" before the call`,
				`message 2: no empty text: removed part 0, which is blank`,
				`message 2: no empty text: put "(no output)" where the tool said nothing`,
				`message 4: the last message is from user or tool: put "Continue." at the end`,
			},
		}, {
			rule:    "nothing at all becomes something",
			want:    []chat.Message{chat.UserMessage("Continue.")},
			changes: []string{`message 0: the last message is from user or tool: put "Continue." at the end`},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			before, err := json.Marshal(tt.given)
			require.NoError(t, err)
			got, changes := gemini.Repair(tt.given, gemini.Options{})
			require.Empty(t, cmp.Diff(tt.want, got, cmp.Comparer(sameParts)))
			var said []string
			for _, c := range changes {
				said = append(said, c.String())
			}
			require.Equal(t, tt.changes, said)
			after, err := json.Marshal(tt.given)
			require.NoError(t, err)
			require.Equal(t, string(before), string(after), "what was given is as it was")

			require.NoError(t, gemini.Validate(got, gemini.Options{}))
			again, none := gemini.Repair(got, gemini.Options{})
			require.Empty(t, none)
			require.Equal(t, got, again)
		})
	}
}

// sameParts takes no parts and an empty list of them for the same.
func sameParts(a, b chat.Parts) bool {
	return len(a) == 0 && len(b) == 0 || cmp.Equal([]chat.Part(a), []chat.Part(b))
}
