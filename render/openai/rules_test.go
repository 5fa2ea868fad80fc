package openai_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render/openai"
)

// made returns the id that Repair puts in place of another: a hash of it, so that the same history gives the same
// requests.
func made(id string) string {
	sum := sha256.Sum256([]byte("0:" + id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// asked returns an assistant message that calls a tool.
func asked(ids ...string) chat.Message { return sessiontest.Calls("count", "{}", ids...) }

// thought returns reasoning as MessageOfItems does.
func thought(id, encrypted string) chat.Thinking {
	return chat.Thinking{Signature: `{"id":"` + id + `"}`, Encrypted: encrypted}
}

func said(role chat.Role, parts ...chat.Part) chat.Message {
	return chat.Message{Role: role, Content: parts}
}

// broken are histories that break a rule, with the server's refusal, if they can be sent, and the repairs.
var broken = []struct {
	rule     string
	apis     []openai.API
	messages []chat.Message
	refused  string // a part of the server's refusal; "" if the history cannot be sent
	violates chat.Rule
	changes  []string
}{
	{"a call without a result", []openai.API{openai.ChatCompletions}, []chat.Message{question, asked("a", "b"), chat.ToolResult("b", "2"), question},
		"must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a", chat.RuleAnswered,
		[]string{`message 1: every tool call is answered: call "a" had no result: a failed one added`}},
	{"a call without a result", []openai.API{openai.Responses}, []chat.Message{question, asked("a", "b"), chat.ToolResult("b", "2"), question},
		"No tool output found for function call a.", chat.RuleAnswered,
		[]string{`message 1: every tool call is answered: call "a" had no result: a failed one added`}},
	{"a result without its call", []openai.API{openai.ChatCompletions}, []chat.Message{question, chat.ToolResult("a", "1"), question},
		"must be a response to a preceeding message with 'tool_calls'", chat.RuleOrphan,
		[]string{`message 1: no result without its call: the result of call "a" turned into a user message`}},
	{"a result without its call", []openai.API{openai.Responses}, []chat.Message{question, chat.ToolResult("a", "1"), question},
		"No tool call found for function call output with call_id a.", chat.RuleOrphan,
		[]string{`message 1: no result without its call: the result of call "a" turned into a user message`}},
	{"a result that is not directly after its call", []openai.API{openai.ChatCompletions}, []chat.Message{question, asked("a"), question, chat.ToolResult("a", "1")},
		"must be followed by tool messages", chat.RuleAnswered,
		[]string{`message 3: every tool call is answered: the result of call "a" moved to the call`}},
	{"two results of the same call", []openai.API{openai.Responses}, []chat.Message{question, asked("a"), chat.ToolResult("a", "1"), chat.ToolResult("a", "2")},
		"Duplicate function call output found for call_id a", chat.RuleOrphan,
		[]string{`message 3: no result without its call: the result of call "a" turned into a user message`}},
	{"two calls with the same id in a message", []openai.API{openai.ChatCompletions}, []chat.Message{question, asked("a", "a"), chat.ToolResult("a", "1")},
		"Duplicate value for 'tool_call_id' of 'a'", chat.RuleCallID,
		[]string{`message 1: tool calls are named: the id of call 1 changed to "` + made("a") + `"`, `message 1: every tool call is answered: call "` + made("a") + `" had no result: a failed one added`}},
	{"two calls with the same id in the conversation", []openai.API{openai.Responses}, []chat.Message{question, asked("a"), chat.ToolResult("a", "1"), asked("a"), chat.ToolResult("a", "2")},
		"Duplicate call_id a", provider.RuleCallUnique, []string{`message 3: ids of calls are unique: the id of call 0 changed to "` + made("a") + `"`}},
	{"an id of 41 characters", []openai.API{openai.ChatCompletions}, []chat.Message{question, asked(strings.Repeat("x", 41)), chat.ToolResult(strings.Repeat("x", 41), "1")},
		"Expected a string with maximum length 40", provider.RuleCallForm, []string{`message 1: ids and names of calls are of the API's form: the id of call 0 changed to "` + made(strings.Repeat("x", 41)) + `"`}},
	{"an id of 65 characters", []openai.API{openai.Responses}, []chat.Message{question, asked(strings.Repeat("x", 65)), chat.ToolResult(strings.Repeat("x", 65), "1")},
		"Expected a string with maximum length 64", provider.RuleCallForm, []string{`message 1: ids and names of calls are of the API's form: the id of call 0 changed to "` + made(strings.Repeat("x", 65)) + `"`}},
	{"a tool's name with a dot", []openai.API{openai.ChatCompletions, openai.Responses},
		[]chat.Message{question, {Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "fs.read ", Arguments: "{}"}}}, chat.ToolResult("a", "1")},
		"string does not match pattern", provider.RuleCallForm, []string{`message 1: ids and names of calls are of the API's form: the name of call "a" changed to "fs_read__582e9124"`}},
	{"a participant's name with a space", []openai.API{openai.ChatCompletions}, []chat.Message{{Role: chat.RoleUser, Name: "Ada L", Content: question.Content}},
		"Invalid 'messages[0].name'", provider.RuleName, []string{`message 0: names of participants are plain: the name "Ada L" changed to "Ada_L"`}},
	{"reasoning that no item follows", []openai.API{openai.Responses}, []chat.Message{question, said(chat.RoleAssistant, thought("rs_1", "g")), question},
		"Item 'rs_1' of type 'reasoning' was provided without its required following item.", provider.RuleReasoning,
		[]string{"message 1: a reasoning item keeps the item that follows it: the thinking in part 0 left out: it is not followed by an item",
			"message 1: no empty text: the assistant message, now empty, left out"}},
	{"reasoning that has lost its content", []openai.API{openai.Responses}, []chat.Message{question, said(chat.RoleAssistant, thought("rs_1", ""), chat.Text("42")), question},
		"Item with id 'rs_1' not found.", provider.RuleReadable,
		[]string{"message 1: a reasoning item can be read back: the thinking in part 0 left out: it has neither encrypted content nor plain text"}},
	{"no messages", []openai.API{openai.ChatCompletions}, nil, "empty array", chat.RuleLast, nil},
	{"no messages", []openai.API{openai.Responses}, nil, "must be provided", chat.RuleLast, nil},
	{"a message without content", []openai.API{openai.ChatCompletions, openai.Responses}, []chat.Message{said(chat.RoleUser, chat.CacheBreakpoint{}), question},
		"", chat.RuleEmpty, []string{"message 0: no empty text: the user message, now empty, left out"}},
	{"two images in an assistant message, one without a URL", []openai.API{openai.ChatCompletions, openai.Responses},
		[]chat.Message{question, said(chat.RoleAssistant, chat.Image{URL: png}, chat.Image{URL: "a.png"}, chat.Text("a")), question},
		"", provider.RulePlace, []string{"message 1: images and documents are where the API takes them: an image or a document moved to a user message",
			"message 1: images and documents are where the API takes them: an image or a document moved to a user message"}},
	{"an image in a system message", []openai.API{openai.ChatCompletions}, []chat.Message{said(chat.RoleSystem, chat.Text("a"), chat.Image{URL: png}), question},
		"", provider.RulePlace, []string{"message 0: images and documents are where the API takes them: an image or a document moved to a user message"}},
	{"an image without a URL", []openai.API{openai.ChatCompletions, openai.Responses}, []chat.Message{said(chat.RoleUser, chat.Image{URL: "a.png"})},
		"image", provider.RuleMedia, []string{"message 0: images and documents are of kinds that the API takes: part 0 replaced by a text: an image needs an http, https or data URL"}},
	{"a document that is not base64", []openai.API{openai.ChatCompletions, openai.Responses}, []chat.Message{said(chat.RoleUser, chat.Document{Data: "%", MediaType: "application/pdf"})},
		"file", provider.RuleMedia, []string{"message 0: images and documents are of kinds that the API takes: part 0 replaced by a text: a document needs its data, in base64"}},
	{"text that is not UTF-8", []openai.API{openai.ChatCompletions, openai.Responses},
		[]chat.Message{said(chat.RoleUser, chat.Text("a\xff")), {Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "count", Arguments: "{\"at\":\"\xff\"}"}}}, chat.ToolResult("a", "\xfe")},
		"", provider.RuleUTF8, []string{"message 0: text is UTF-8: bytes replaced in part 0", `message 1: text is UTF-8: bytes replaced in the arguments of call "a"`,
			"message 2: text is UTF-8: bytes replaced in part 0"}},
	{"a part that is nil", []openai.API{openai.ChatCompletions, openai.Responses}, []chat.Message{said(chat.RoleUser, nil, chat.Text("a"))}, "", chat.RuleEmpty, []string{"message 0: no empty text: part 0, which is nil, left out"}},
	{"an unknown role", []openai.API{openai.ChatCompletions, openai.Responses}, []chat.Message{said("developer", chat.Text("a")), said("bot", chat.Text("a"))}, "", chat.RuleRole, []string{`message 0: known role: the role "developer" changed to "system"`, `message 1: known role: the role "bot" changed to "user"`}},
	{"calls in a user message", []openai.API{openai.ChatCompletions}, []chat.Message{{Role: chat.RoleUser, Content: question.Content, ToolCalls: asked("a").ToolCalls, ToolCallID: "b"}}, "", chat.RuleFields, []string{"message 0: fields fit the role: 1 calls removed from a user message", "message 0: fields fit the role: the id of a call removed from a user message"}},
	{"an answer at the end", []openai.API{openai.ChatCompletions, openai.Responses}, []chat.Message{question, chat.AssistantMessage("42")}, "", chat.RuleLast, []string{"message 1: the last message is from user or tool: a user message added at the end"}},
	{"a system message at the end", []openai.API{openai.ChatCompletions, openai.Responses},
		[]chat.Message{question, asked("a"), chat.ToolResult("a", "1"), chat.SystemMessage("Go on.")}, "", chat.RuleLast, []string{"message 3: the last message is from user or tool: 1 system messages moved before the question or round to be answered"}},
	{"an opaque part of another provider", []openai.API{openai.ChatCompletions},
		[]chat.Message{question, said(chat.RoleAssistant, chat.Opaque{Value: json.RawMessage(`{"type":"redacted_thinking"}`)}, chat.Text("a")), question},
		"", provider.RuleOpaque, []string{"message 1: opaque parts are the API's: part 0 left out: Chat Completions does not accept this part from the assistant"}},
	{"an opaque part of another provider", []openai.API{openai.Responses},
		[]chat.Message{question, said(chat.RoleAssistant, chat.Opaque{Value: json.RawMessage(`{"type":"redacted_thinking"}`)}, chat.Text("a")), question},
		"", provider.RuleOpaque, []string{"message 1: opaque parts are the API's: part 0 left out: Responses does not accept this part from the assistant"}},
	{"a compaction of Anthropic", []openai.API{openai.Responses},
		[]chat.Message{question, said(chat.RoleAssistant, chat.Opaque{Value: json.RawMessage(`{"type":"compaction","content":"It was counted.","encrypted_content":"c2VjcmV0"}`)}, chat.Text("a")), question},
		"", provider.RuleOpaque, []string{"message 1: opaque parts are the API's: part 0 left out: Responses does not accept this part from the assistant"}},
	{"a message with nothing but a head", []openai.API{openai.ChatCompletions, openai.Responses},
		[]chat.Message{question, said(chat.RoleAssistant, chat.Opaque{Value: json.RawMessage(`{"type":"message","id":"msg_1"}`)}), question},
		"", chat.RuleEmpty, []string{"message 1: no empty text: the assistant message, now empty, left out"}},
}

func TestARequestThatBreaksARuleIsRefusedReportedAndRepaired(t *testing.T) {
	for _, tt := range broken {
		for _, api := range tt.apis {
			t.Run(tt.rule+" "+api.String(), func(t *testing.T) {
				if tt.refused != "" {
					require.Contains(t, judged(t, api, tt.messages, false), tt.refused)
				}
				req := chat.Request{Messages: tt.messages}
				invalid := errtest.As[*chat.ValidationError](t, openai.Validate(req, api))
				_, err := openai.ChatRequest(req, openai.Options{})
				if api == openai.Responses {
					_, err = openai.ItemsRequest(req, openai.Options{})
				}
				require.Equal(t, invalid, err)
				var rules []chat.Rule
				for _, v := range invalid.Violations {
					rules = append(rules, v.Rule)
				}
				require.Contains(t, rules, tt.violates)

				before := fmt.Sprintf("%#v", tt.messages)
				repaired, changes := openai.Repair(req, api)
				require.Equal(t, before, fmt.Sprintf("%#v", tt.messages), "Repair changed its argument")
				var got []string
				for _, c := range changes {
					got = append(got, c.String())
				}
				require.Empty(t, cmp.Diff(tt.changes, got))
				s := newServer(t, always(reply{items: []item{message("msg_1", "42")}}))
				m := s.model(api, "gpt-4o")
				var reported []chat.Repair
				req.OnRepair = func(c []chat.Repair) { reported = c }
				_, err = m.Generate(t.Context(), req)
				if len(tt.messages) == 0 { // cannot be repaired
					require.ErrorAs(t, err, new(*chat.ValidationError))
					require.Zero(t, s.count())
					return
				}
				require.NoError(t, err)
				require.Equal(t, changes, reported)
				require.NoError(t, openai.Validate(repaired, api))
			})
		}
	}
}

func TestRepairReturnsAValidRequestAsItWas(t *testing.T) {
	messages := []chat.Message{
		chat.SystemMessage("Be brief."), question,
		{Role: chat.RoleAssistant, Content: chat.Parts{thought("rs_1", "g"), chat.Text("I count."), chat.CacheBreakpoint{}}, ToolCalls: asked("a", "b").ToolCalls},
		chat.ToolResult("b", "2"), chat.ToolResult("a", "1"), question,
	}
	for _, api := range apis {
		req := chat.Request{Messages: messages, Tools: []chat.Tool{countTool}, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}, MaxTokens: 5, Temperature: new(0.5)}
		require.NoError(t, openai.Validate(req, api))
		got, changes := openai.Repair(req, api)
		require.Empty(t, changes)
		require.Empty(t, cmp.Diff(req, got), "%s: the messages differ", api)
	}
}

func TestTheOldestOfTooManyImagesAreReplacedByTexts(t *testing.T) {
	for _, api := range apis {
		picture := chat.Image{URL: "https://example.com/a.png"}
		req := chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Content: slices.Repeat(chat.Parts{picture}, 1500)}}}
		require.NoError(t, openai.Validate(req, api))
		req.Messages[0].Content = append(req.Messages[0].Content, picture)
		invalid := errtest.As[*chat.ValidationError](t, openai.Validate(req, api))
		require.Len(t, invalid.Violations, 1)
		require.Equal(t, provider.RuleImageCount, invalid.Violations[0].Rule)
		repaired, changes := openai.Repair(req, api)
		require.NoError(t, openai.Validate(repaired, api))
		require.Len(t, changes, 375)
		content := repaired.Messages[0].Content
		require.Equal(t, chat.Text("[left out: an older image: a request takes at most 1500 images]"), content[374])
		require.Equal(t, chat.Part(picture), content[375])
	}
}
