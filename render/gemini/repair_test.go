package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestRepairChangesOnlyTheFaultsAndReportsEachChange(t *testing.T) {
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
			changes: []string{`message 1: every tool call is answered: call "c2" left out: it has no result`},
		}, {
			rule:  "a message with nothing but a call without a result is removed",
			given: []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`))), chat.UserMessage("b")},
			want:  []chat.Message{chat.UserMessage("a"), chat.UserMessage("b")},
			changes: []string{
				`message 1: every tool call is answered: call "c1" left out: it has no result`,
				`message 1: no empty text: the assistant message, now empty, left out`,
			},
		}, {
			rule:  "the first call that is left gets SkipSignature",
			given: []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`)), call("c2", `{}`)), chat.ToolResult("c2", "2")},
			want:  []chat.Message{chat.UserMessage("a"), calls(skipped(call("c2", `{}`))), chat.ToolResult("c2", "2")},
			changes: []string{
				`message 1: every tool call is answered: call "c1" left out: it has no result`,
				`message 1: calls of the current turn carry their thought signature: SkipSignature added to call "c2"`,
			},
		}, {
			rule:    "a result without its call becomes a user message",
			given:   []chat.Message{chat.UserMessage("a"), chat.ToolResult("c1", "1"), chat.UserMessage("b")},
			want:    []chat.Message{chat.UserMessage("a"), user(chat.Text("Result of a tool call that is not shown:"), chat.Text("<tool-result>\n1\n</tool-result>")), chat.UserMessage("b")},
			changes: []string{`message 1: no result without its call: the result of call "c1" turned into a user message`},
		}, {
			rule:    "a result moves to its call, before a user message",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`)), call("c2", `{}`)), chat.ToolResult("c1", "1"), chat.UserMessage("b"), chat.ToolResult("c2", "2"), chat.UserMessage("c")},
			want:    []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`)), call("c2", `{}`)), chat.ToolResult("c1", "1"), chat.ToolResult("c2", "2"), chat.UserMessage("b"), chat.UserMessage("c")},
			changes: []string{`message 4: every tool call is answered: the result of call "c2" moved to the call`},
		}, {
			rule:    "an image in a system message moves to a user message after it",
			given:   []chat.Message{{Role: chat.RoleSystem, Content: chat.Parts{chat.Text("s"), chat.Image{URL: "gs://a"}}}, chat.UserMessage("a")},
			want:    []chat.Message{chat.SystemMessage("s"), user(chat.Image{URL: "gs://a"}), chat.UserMessage("a")},
			changes: []string{"message 0: images and documents are where the API takes them: an image or a document moved to a user message"},
		}, {
			rule:    "a system message at the end moves before the round to be answered",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{}`))), chat.ToolResult("c1", "1"), chat.SystemMessage("s")},
			want:    []chat.Message{chat.UserMessage("a"), chat.SystemMessage("s"), calls(signed(call("c1", `{}`))), chat.ToolResult("c1", "1")},
			changes: []string{"message 3: the last message is from user or tool: 1 system messages moved before the question or round to be answered"},
		}, {
			rule:    "the second of two calls with the same id gets a new one, and so does its result",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"n":1}`)), call("c1", `{"n":2}`)), chat.ToolResult("c1", "1"), chat.ToolResult("c1", "2")},
			want:    []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"n":1}`)), call("c1-2", `{"n":2}`)), chat.ToolResult("c1", "1"), chat.ToolResult("c1-2", "2")},
			changes: []string{`message 1: tool calls are named: the id of call 1 changed to "c1-2"`},
		}, {
			rule:    "arguments are wrapped in an object",
			given:   []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"cut`))), chat.ToolResult("c1", "1")},
			want:    []chat.Message{chat.UserMessage("a"), calls(signed(call("c1", `{"arguments":"{\"cut"}`))), chat.ToolResult("c1", "1")},
			changes: []string{`message 1: arguments are a JSON object: the arguments of call "c1" put into an object`},
		}, {
			rule:  "an image that cannot be sent becomes a text, another provider's opaque part is removed",
			given: []chat.Message{user(chat.Text("a"), chat.Image{URL: "ftp://b"}, chat.Opaque{Value: json.RawMessage(`{"type":"x"}`)})},
			want:  []chat.Message{user(chat.Text("a"), chat.Text(`[left out: an image at "ftp://b": Gemini takes data, https and gs URLs]`))},
			changes: []string{
				`message 0: images and documents are of kinds that the API takes: part 1 replaced by a text: an image at "ftp://b": Gemini takes data, https and gs URLs`,
				`message 0: opaque parts are the API's: part 2 left out: an opaque part that is not Gemini's: json: unknown field "type"`,
			},
		}, {
			rule:  "the place of a removed call is removed too",
			given: []chat.Message{chat.UserMessage("a"), {Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: json.RawMessage(`{"functionCall":{"id":"c1"}}`)}, chat.Text("b")}, ToolCalls: []chat.ToolCall{call("c1", `{}`)}}, chat.UserMessage("c")},
			want:  []chat.Message{chat.UserMessage("a"), chat.AssistantMessage("b"), chat.UserMessage("c")},
			changes: []string{
				`message 1: every tool call is answered: call "c1" left out: it has no result`,
				`message 1: opaque parts are the API's: part 0 left out: the place of call "c1", which is not in the message or has another place`,
			},
		}, {
			rule:  "a user message is added before the first call and after the last answer",
			given: []chat.Message{chat.SystemMessage("s"), calls(call("c1", `{}`)), chat.ToolResult("c1", " "), chat.AssistantMessage("b")},
			want: []chat.Message{
				chat.SystemMessage("s"), chat.UserMessage("(The conversation before this is not shown.)"), calls(call("c1", `{}`)), chat.ToolResult("c1", "(no output)"),
				chat.AssistantMessage("b"), chat.UserMessage("Continue."),
			},
			changes: []string{
				`message 1: function calls follow a user or function response turn: a user message added before it`,
				`message 2: no empty text: part 0, which is blank, left out`,
				`message 2: no empty text: the missing output replaced by a text`,
				`message 3: the last message is from user or tool: a user message added at the end`,
			},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			before := sure.JSON(t, tt.given)
			got, changes := gemini.Repair(asking(tt.given), gemini.Options{})
			require.Empty(t, cmp.Diff(tt.want, got.Messages, cmp.Comparer(sameParts)))
			var said []string
			for _, c := range changes {
				said = append(said, c.String())
			}
			require.Equal(t, tt.changes, said)
			require.Equal(t, string(before), string(sure.JSON(t, tt.given)), "Repair changed its argument")

			require.NoError(t, gemini.Validate(got, gemini.Options{}))
			again, none := gemini.Repair(got, gemini.Options{})
			require.Empty(t, none)
			require.Equal(t, got, again)
		})
	}
}

// sameParts compares parts. A nil list equals an empty one.
func sameParts(a, b chat.Parts) bool {
	return len(a) == 0 && len(b) == 0 || cmp.Equal([]chat.Part(a), []chat.Part(b))
}
