package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestAStaleToolSearchIsRemovedWithItsResult(t *testing.T) {
	declared := append([]chat.Tool{{Name: "tool_search"}}, counting...)
	reference := opaque(`{"type":"tool_reference","tool_name":"rename"}`)
	both := named("tool_search", calls("s", "a"))
	answers := []chat.Message{chat.ToolResult("s", "found"), chat.ToolResult("a", "1")}
	for _, c := range []struct {
		rule string
		req  chat.Request
		want []chat.Message
	}{
		{"a search that is not declared is removed with its result", ask(search(chat.Text("found"))...), []chat.Message{question}},
		{"a search answered with references is removed, declared or not", tools(ask(search(reference)...), declared...), []chat.Message{question}},
		{"a search answered with references to deferred tools stays", tools(ask(search(reference)...), append([]chat.Tool{deferred("rename")}, declared...)...), nil},
		{"the API's own stays while what it found is declared", tools(ask(question, assistant(searched("rename")...), question), deferred("rename")), nil},
		{"the API's own is removed with its result when a tool that it found is gone", tools(ask(question, assistant(searched("rename")...), question), counting...),
			[]chat.Message{question, chat.AssistantMessage("Found."), question}},
		{"a search that is declared and answered in words stays", tools(ask(search(chat.Text("found"))...), declared...), search(chat.Text("found"))},
		{"calls beside it stay", ask(question, both, answers[0], answers[1]),
			[]chat.Message{question, {Role: chat.RoleAssistant, ToolCalls: both.ToolCalls[1:]}, answers[1]}},
		{"words beside it stay", ask(question, with(named("tool_search", calls("s")), chat.Text("I look.")), answers[0], question),
			[]chat.Message{question, chat.AssistantMessage("I look."), question}},
		{"the API's own is opaque and stays", ask(question, assistant(
			opaque(`{"type":"server_tool_use","id":"srv","name":"tool_search_tool_regex","input":{}}`),
			opaque(`{"type":"tool_search_tool_result","tool_use_id":"srv","content":{"type":"tool_search_tool_search_result","tool_references":[]}}`),
			chat.Text("Found."),
		), question), nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			repaired, changes := anthropic.Repair(c.req)
			if c.want == nil {
				require.Empty(t, changes)
				c.want = c.req.Messages
			}
			require.Empty(t, cmp.Diff(c.want, repaired.Messages, cmp.Comparer(sameParts)))
		})
	}
}

// sameParts takes no content for empty content.
func sameParts(a, b chat.Parts) bool {
	return len(a) == len(b) && (len(a) == 0 || cmp.Equal([]chat.Part(a), []chat.Part(b)))
}

func TestRepairKeepsAllThatCanBeSent(t *testing.T) {
	for _, c := range []struct {
		rule string
		req  chat.Request
		want []chat.Message
	}{
		{"a result moves to its call, before a user message", ask(question, calls("a", "b"), chat.ToolResult("b", "2"), chat.UserMessage("Wait."), chat.ToolResult("a", "1")),
			[]chat.Message{question, calls("a", "b"), chat.ToolResult("b", "2"), chat.ToolResult("a", "1"), chat.UserMessage("Wait.")}},
		{"a result without its call becomes a user message", ask(question, chat.AssistantMessage("Well."), chat.ToolResult("z", "1")),
			[]chat.Message{question, chat.AssistantMessage("Well."), user(chat.Text("Result of a tool call that is not shown:"), chat.Text("<tool-result>\n1\n</tool-result>"))}},
		{"an image that a message cannot hold moves after the results", ask(question, with(calls("a"), pixel), failed(result("a", chat.Text("no"), pixel)), chat.AssistantMessage("Well."), question),
			[]chat.Message{question, calls("a"), failed(chat.ToolResult("a", "no")), user(pixel, pixel), chat.AssistantMessage("Well."), question}},
		{"a document that the API does not accept is named in a text", ask(user(chat.NewDocument("application/zip", []byte("PK")))),
			[]chat.Message{user(chat.Text(`[left out: a document of type "application/zip"]`))}},
		{"the second of two calls with the same id gets a new one, and so do its result and its place",
			ask(question, with(calls("a", "a"), opaque(`{"type":"tool_use","id":"a"}`), chat.Text("and"), opaque(`{"type":"tool_use","id":"a"}`)), chat.ToolResult("a", "1"), chat.ToolResult("a", "2")),
			[]chat.Message{question, with(calls("a", "a_2"), opaque(`{"type":"tool_use","id":"a"}`), chat.Text("and"), opaque(`{"type":"tool_use","id":"a_2"}`)), chat.ToolResult("a", "1"), chat.ToolResult("a_2", "2")}},
		{"thinking after other content becomes an opaque part", ask(question, assistant(signed, chat.Text("42"), redacted, chat.Text("!")), question),
			[]chat.Message{question, assistant(signed, chat.Text("42"), opaque(`{"type":"redacted_thinking","data":"enc:secret"}`), chat.Text("!")), question}},
		{"all messages of a tool loop lose their thinking if one lost a part of it", ask(question, with(calls("a"), signed), chat.ToolResult("a", "1"), with(calls("b"), chat.Thinking{Text: "cut off"}), chat.ToolResult("b", "2")),
			[]chat.Message{question, calls("a"), chat.ToolResult("a", "1"), calls("b"), chat.ToolResult("b", "2")}},
		{"only a message that lost a part of its thinking loses the rest in a turn that is over", ask(question, with(calls("a"), signed), chat.ToolResult("a", "1"), with(calls("b"), chat.Thinking{Text: "cut off"}), chat.ToolResult("b", "2"), chat.AssistantMessage("2"), question),
			[]chat.Message{question, with(calls("a"), signed), chat.ToolResult("a", "1"), calls("b"), chat.ToolResult("b", "2"), chat.AssistantMessage("2"), question}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			repaired, changes := anthropic.Repair(c.req)
			require.NotEmpty(t, changes)
			require.NoError(t, anthropic.Validate(repaired))
			require.Empty(t, cmp.Diff(c.want, repaired.Messages, cmp.Comparer(sameParts)))
		})
	}
}

func TestHugeRequestsAreRepairedInTime(t *testing.T) {
	const n = 20_000
	req := ask(question, calls(strings.Split(strings.Repeat("a,", n), ",")...))
	for range n {
		req.Messages = append(req.Messages, chat.ToolResult("a", "1"))
	}
	marks := chat.Message{Role: chat.RoleUser}
	for i := range n {
		marks.Content = append(marks.Content, chat.Text(fmt.Sprint(i)), mark)
	}
	req.Messages = append(req.Messages, marks)
	repaired, _ := anthropic.Repair(req)
	require.NoError(t, anthropic.Validate(repaired))
	require.Len(t, repaired.Messages, n+4)
}

func TestCallsOfTheAPIsOwnToolsKeepTheirResults(t *testing.T) {
	for _, c := range []struct {
		rule string
		req  chat.Request
		want []chat.Message // nil if the request is valid
	}{
		{"a call with its result stays", ask(question, assistant(searching("s"), found("s"), chat.Text("Well.")), question), nil},
		{"a result in a later message stays, after results of the client's tools",
			ask(question, with(calls("a"), searching("s")), chat.ToolResult("a", "1"), assistant(found("s"), chat.Text("Well.")), question), nil},
		{"a paused turn at the end stays", ask(question, assistant(chat.Text("I look."), searching("s"))), nil},
		{"a paused turn stays with its continuation", ask(question, assistant(searching("s")), assistant(found("s"), chat.Text("Well.")), question), nil},
		{"a paused turn that a user message interrupts loses its call", ask(question, assistant(chat.Text("I look."), searching("s")), question),
			[]chat.Message{question, chat.AssistantMessage("I look."), question}},
		{"a message that holds nothing else is removed", ask(question, assistant(searching("s")), question), []chat.Message{question, question}},
		{"a result without its call is removed", ask(question, assistant(found("s"), chat.Text("Well.")), question),
			[]chat.Message{question, chat.AssistantMessage("Well."), question}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			repaired, changes := anthropic.Repair(c.req)
			require.Equal(t, c.want == nil, len(changes) == 0, "%v", changes)
			if c.want == nil {
				c.want = c.req.Messages
			}
			require.Empty(t, cmp.Diff(c.want, repaired.Messages, cmp.Comparer(sameParts)))
			s := newServer(t, func(int, request) answer { return say(text("42")) })
			model := &anthropic.Model{Client: s.client(), Name: "claude-test"}
			_, err := model.Generate(t.Context(), c.req)
			require.NoError(t, err)
		})
	}
}
