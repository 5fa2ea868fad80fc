package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

func calls(ids ...string) chat.Message { return sessiontest.Calls("count", "{}", ids...) }

func assistant(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Content: parts}
}

func user(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleUser, Content: parts}
}

var (
	question = chat.UserMessage("How many?")
	signed   = chat.Thinking{Text: "hm", Signature: "s"}
)

func TestValidMessagesPass(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		messages []chat.Message
	}{
		{"a question", []chat.Message{question}},
		{"a conversation", []chat.Message{chat.SystemMessage("Be brief."), question, chat.AssistantMessage("42"), question}},
		{"a tool round", []chat.Message{question, calls("a"), chat.ToolResult("a", "42")}},
		{"parallel calls, answered in any order", []chat.Message{question, calls("a", "b", "c"),
			chat.ToolResult("c", "3"), chat.ToolResult("a", "1"), chat.ToolResult("b", "2")}},
		{"rounds one after the other, with an id used again", []chat.Message{question,
			calls("a", "b"), chat.ToolResult("a", "1"), chat.ToolResult("b", "2"), calls("a"), chat.ToolResult("a", "3")}},
		{"a user message after the results", []chat.Message{question, calls("a"), chat.ToolResult("a", "42"), question}},
		{"text beside calls", []chat.Message{question,
			{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("Counting.")}, ToolCalls: calls("a").ToolCalls}, chat.ToolResult("a", "42")}},
		{"content without text", []chat.Message{user(chat.Image{URL: "https://example.com/a.png"}),
			chat.AssistantMessage("A cat."), user(chat.NewDocument("application/pdf", []byte("x"))),
			assistant(chat.Opaque{Value: json.RawMessage(`{}`)}), question}},
		{"thinking first, signed or encrypted", []chat.Message{question,
			{Role: chat.RoleAssistant, Content: chat.Parts{signed, chat.Thinking{Encrypted: "x"}, chat.Text("42")}, ToolCalls: calls("a").ToolCalls},
			chat.ToolResult("a", "42")}},
		{"thinking before nothing but calls", []chat.Message{question,
			{Role: chat.RoleAssistant, Content: chat.Parts{signed}, ToolCalls: calls("a").ToolCalls}, chat.ToolResult("a", "42")}},
		{"a cache breakpoint before thinking", []chat.Message{question, assistant(chat.CacheBreakpoint{}, signed, chat.Text("42")), question}},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.NoError(t, chat.Validate(tt.messages)) })
	}
}

func TestEachViolationNamesItsRuleAndMessage(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		messages []chat.Message
		want     []string
	}{
		{"an unknown role", []chat.Message{{Role: "developer", Content: chat.Parts{chat.Text("a")}}, question},
			[]string{`message 0: known role: the role is "developer"`}},
		{"no role", []chat.Message{{Content: chat.Parts{chat.Text("a")}}, question},
			[]string{`message 0: known role: the role is ""`}},
		{"an empty message", []chat.Message{chat.SystemMessage("a"), {Role: chat.RoleUser}},
			[]string{"message 1: no empty text: the message has neither content nor tool calls"}},
		{"a nil part", []chat.Message{user(chat.Text("a"), nil)}, []string{"message 0: no empty text: part 1 is nil"}},
		{"a blank text", []chat.Message{user(chat.Text("a"), chat.Text(" \n\t\u00a0"))},
			[]string{"message 0: no empty text: part 1 is blank"}},
		{"an empty text beside calls", []chat.Message{question,
			{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("")}, ToolCalls: calls("a").ToolCalls}, chat.ToolResult("a", "42")},
			[]string{"message 1: no empty text: part 0 is blank"}},
		{"a path for an image", []chat.Message{user(chat.Image{URL: "photo.png"}), user(chat.Image{URL: `C:\photo.png`}), user(chat.Image{})}, []string{
			`message 0: an image is a URL: part 0 is not a URL but "photo.png": read a file and send its bytes in base64`,
			`message 1: an image is a URL: part 0 is not a URL but "C:\\photo.png": read a file and send its bytes in base64`,
			`message 2: an image is a URL: part 0 is not a URL but "": read a file and send its bytes in base64`,
		}},
		{"nothing but a cache breakpoint", []chat.Message{user(chat.CacheBreakpoint{})},
			[]string{"message 0: no empty text: the message has neither content nor tool calls"}},
		{"nothing but thinking", []chat.Message{question, assistant(signed), question},
			[]string{"message 1: no empty text: the message has neither content nor tool calls"}},
		{"a user who calls tools", []chat.Message{{Role: chat.RoleUser, ToolCalls: calls("a").ToolCalls}},
			[]string{"message 0: fields fit the role: a user message calls a tool"}},
		{"a user who answers a call", []chat.Message{{Role: chat.RoleUser, ToolCallID: "a", Content: chat.Parts{chat.Text("42")}}},
			[]string{`message 0: fields fit the role: a user message answers tool call "a"`}},
		{"a call without an id", []chat.Message{question, calls(""), question},
			[]string{"message 1: tool calls are named: call 0 has no id"}},
		{"a call without a name", []chat.Message{question, {Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a"}}}, chat.ToolResult("a", "42")},
			[]string{`message 1: tool calls are named: call "a" names no tool`}},
		{"two calls of one id", []chat.Message{question, calls("a", "a"), chat.ToolResult("a", "42")},
			[]string{`message 1: tool calls are named: two calls have the id "a"`}},
		{"a call without an answer", []chat.Message{question, calls("a", "b"), chat.ToolResult("b", "2"), question},
			[]string{`message 1: every tool call is answered: call "a" has no result`}},
		{"a last call without an answer", []chat.Message{question, calls("a", "b"), chat.ToolResult("a", "1")},
			[]string{`message 1: every tool call is answered: call "b" has no result`}},
		{"an answer that comes too late", []chat.Message{question, calls("a"), question, chat.ToolResult("a", "42")}, []string{
			`message 1: every tool call is answered: call "a" has no result`,
			`message 3: no result without its call: no call "a" in the assistant message before it`,
		}},
		{"an answer without its call", []chat.Message{question, chat.ToolResult("a", "42")},
			[]string{`message 1: no result without its call: no call "a" in the assistant message before it`}},
		{"an answer without an id", []chat.Message{question, calls("a"), chat.ToolResult("", "1"), chat.ToolResult("a", "1")},
			[]string{`message 2: no result without its call: no call "" in the assistant message before it`}},
		{"two answers to one call", []chat.Message{question, calls("a"), chat.ToolResult("a", "1"), chat.ToolResult("a", "2")},
			[]string{`message 3: no result without its call: call "a" has an answer already`}},
		{"no messages", nil, []string{"request: the last message is from user or tool: there are no messages"}},
		{"a last message from the model", []chat.Message{question, chat.AssistantMessage("42")},
			[]string{"message 1: the last message is from user or tool: it is from assistant"}},
		{"a system message at the end", []chat.Message{question, chat.SystemMessage("Be brief.")},
			[]string{"message 1: the last message is from user or tool: it is from system"}},
		{"thinking of a user", []chat.Message{user(signed, chat.Text("a"))},
			[]string{"message 0: thinking is whole and first: part 0 is thinking in a user message"}},
		{"thinking after text", []chat.Message{question, assistant(chat.Text("a"), signed), question},
			[]string{"message 1: thinking is whole and first: part 1 comes after other content"}},
		{"thinking after an opaque part", []chat.Message{question, assistant(chat.Opaque{}, signed), question},
			[]string{"message 1: thinking is whole and first: part 1 comes after other content"}},
		{"thinking without its signature", []chat.Message{question, assistant(chat.Thinking{Text: "hm"}, chat.Text("a")), question},
			[]string{"message 1: thinking is whole and first: part 0 has no signature"}},
		{"every violation, in the order of the messages", []chat.Message{
			{Role: "x"}, calls("a"), chat.ToolResult("b", " "), chat.AssistantMessage("42"),
		}, []string{
			`message 0: known role: the role is "x"`,
			"message 0: no empty text: the message has neither content nor tool calls",
			`message 1: every tool call is answered: call "a" has no result`,
			`message 2: no result without its call: no call "b" in the assistant message before it`,
			"message 2: no empty text: part 0 is blank",
			"message 3: the last message is from user or tool: it is from assistant",
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			requireViolations(t, tt.want, chat.Validate(tt.messages))
			requireViolations(t, tt.want, chat.ValidateRequest(chat.Request{Messages: tt.messages}))
		})
	}
}

func requireViolations(t *testing.T, want []string, err error) {
	t.Helper()
	invalid := errtest.As[*chat.ValidationError](t, err)
	var got []string
	for _, v := range invalid.Violations {
		got = append(got, v.String())
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestEachViolationOfARequestNamesItsRule(t *testing.T) {
	count := chat.Tool{Name: "count", Parameters: json.RawMessage(` {"type":"object"}`)}
	for _, tt := range []struct {
		rule string
		req  chat.Request
		want []string
	}{
		{"a tool without a name", chat.Request{Tools: []chat.Tool{{}}}, []string{"request: tools are named and described by a schema: tool 0 has no name"}},
		{"a tool with white space in its name", chat.Request{Tools: []chat.Tool{{Name: "read a file"}}},
			[]string{`request: tools are named and described by a schema: the name "read a file" of a tool has white space, which no provider accepts`}},
		{"two tools of one name", chat.Request{Tools: []chat.Tool{count, count}},
			[]string{`request: tools are named and described by a schema: two tools have the name "count"`}},
		{"a schema that is not JSON", chat.Request{Tools: []chat.Tool{{Name: "a", Parameters: json.RawMessage(`{`)}}},
			[]string{`request: tools are named and described by a schema: the parameters of tool "a" are not a JSON object`}},
		{"a schema that is not an object", chat.Request{Tools: []chat.Tool{{Name: "a", Parameters: json.RawMessage(`[]`)}}},
			[]string{`request: tools are named and described by a schema: the parameters of tool "a" are not a JSON object`}},
		{"a required call without tools", chat.Request{Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}},
			[]string{"request: the tool choice can be met: a call is required and there are no tools"}},
		{"an unknown choice", chat.Request{Tools: []chat.Tool{count}, Shape: chat.Shape{ToolChoice: "count"}},
			[]string{`request: the tool choice can be met: there is no choice "count"`}},
		{"a call of a tool that is not declared", chat.Request{Tools: []chat.Tool{count}, Shape: chat.Shape{Tool: "look"}},
			[]string{`request: the tool choice can be met: a call of "look" is required, and there is no such tool`}},
		{"a call of a tool beside a choice", chat.Request{Tools: []chat.Tool{count}, Shape: chat.Shape{Tool: "count", ToolChoice: chat.ToolChoiceNone}},
			[]string{`request: the tool choice can be met: a call of "count" is required beside the choice "none": set one of the two`}},
		{"an unknown effort", chat.Request{Shape: chat.Shape{Effort: "max"}}, []string{`request: what is asked of the answer can be asked: there is no effort "max"`}},
		{"a format without a name or a schema", chat.Request{Shape: chat.Shape{Format: &chat.Format{}}}, []string{
			`request: what is asked of the answer can be asked: the name "" of the format is not 1 to 64 letters, digits, _ and -`,
			`request: what is asked of the answer can be asked: the schema of the format "" is not a JSON object`}},
		{"a format whose schema is not an object", chat.Request{Shape: chat.Shape{Format: &chat.Format{Name: "a", Schema: json.RawMessage("[1]")}}},
			[]string{`request: what is asked of the answer can be asked: the schema of the format "a" is not a JSON object`}},
		{"a negative limit of the answer", chat.Request{MaxTokens: -1}, []string{"request: the answer has room: the limit is -1 tokens"}},
		{"a violation of the request comes before those of its messages", chat.Request{MaxTokens: -1, Messages: []chat.Message{user(chat.Text(" "))}},
			[]string{"request: the answer has room: the limit is -1 tokens", "message 0: no empty text: part 0 is blank"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req.Messages = []chat.Message{question}
			}
			requireViolations(t, tt.want, chat.ValidateRequest(tt.req))
		})
	}
	require.NoError(t, chat.ValidateRequest(chat.Request{
		Messages: []chat.Message{question}, Tools: []chat.Tool{count, {Name: "look"}, {Name: "go", Parameters: json.RawMessage(" null")}}, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}, MaxTokens: 5,
	}))
}

func TestValidationErrorNamesTheFirstAndCountsTheRest(t *testing.T) {
	err := chat.Validate([]chat.Message{question, chat.AssistantMessage("42")})
	require.EqualError(t, err, "chat: message 1: the last message is from user or tool: it is from assistant")
	err = chat.Validate([]chat.Message{question, chat.AssistantMessage(" ")})
	require.EqualError(t, err, "chat: message 1: no empty text: part 0 is blank (and 1 more)")
}
