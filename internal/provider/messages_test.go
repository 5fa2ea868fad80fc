package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

func list(messages ...chat.Message) []provider.Indexed {
	var out []provider.Indexed
	for i, m := range messages {
		out = append(out, provider.Indexed{Message: m, Index: i})
	}
	return out
}

func calling(ids ...string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: "f"})
	}
	return m
}

func TestAResultBelongsToTheLastCallWithItsID(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		given   []chat.Message
		results map[int][]int
	}{
		{"results belong to the calls before them, in any order", []chat.Message{calling("a", "b"), chat.ToolResult("b", ""), chat.ToolResult("a", "")}, map[int][]int{0: {1, 2}}},
		{"other messages may be between a call and its result", []chat.Message{calling("a"), chat.UserMessage("u"), chat.ToolResult("a", "")}, map[int][]int{0: {2}}},
		{"a result before its call belongs to none", []chat.Message{chat.ToolResult("a", ""), calling("a")}, map[int][]int{}},
		{"a result with an unknown id belongs to none", []chat.Message{calling("a"), chat.ToolResult("b", "")}, map[int][]int{}},
		{"a result belongs to the later of two messages with its id", []chat.Message{calling("a"), calling("a"), chat.ToolResult("a", "")}, map[int][]int{1: {2}}},
		{"a message has no more results with an id than calls with it", []chat.Message{calling("a", "a"), chat.ToolResult("a", ""), chat.ToolResult("a", ""), chat.ToolResult("a", "")}, map[int][]int{0: {1, 2}}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			results, matched := provider.ResultsOf(list(tt.given...))
			require.Equal(t, tt.results, results)
			want := map[int]bool{}
			for _, of := range tt.results {
				for _, i := range of {
					want[i] = true
				}
			}
			require.Equal(t, want, matched)
		})
	}
}

func TestEndMakesTheLastMessageOneToAnswer(t *testing.T) {
	user, answer, system := chat.UserMessage("u"), chat.AssistantMessage("a"), chat.SystemMessage("s")
	result := chat.ToolResult("a", "1")
	const moved, added = ": the last message is from user or tool: 1 system messages moved before the question or round to be answered",
		": the last message is from user or tool: a user message added at the end"
	for _, tt := range []struct {
		rule        string
		given, want []chat.Message
		changes     []string
	}{
		{"a request without messages stays empty", nil, nil, nil},
		{"a question can be answered", []chat.Message{system, user}, []chat.Message{system, user}, nil},
		{"a result can be answered", []chat.Message{user, calling("a"), result}, []chat.Message{user, calling("a"), result}, nil},
		{"a user message is added after an answer", []chat.Message{user, answer}, []chat.Message{user, answer, chat.UserMessage("Continue.")}, []string{"message 1" + added}},
		{"a user message is added to system messages alone", []chat.Message{system}, []chat.Message{system, chat.UserMessage("Continue.")}, []string{"message 0" + added}},
		{"a system message moves before the question", []chat.Message{user, answer, user, system}, []chat.Message{user, answer, system, user}, []string{"message 3" + moved}},
		{"a system message moves before the round", []chat.Message{user, calling("a"), result, system}, []chat.Message{user, system, calling("a"), result}, []string{"message 3" + moved}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var c provider.Changes
			var got []chat.Message
			for _, m := range c.End(list(tt.given...), len(tt.given)) {
				got = append(got, m.Message)
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.changes, said(c.ByMessage()))
		})
	}
}
