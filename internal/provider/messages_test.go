package provider_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// lenient returns an API with the rules that all share, which has no images.
func lenient() *provider.API {
	return &provider.API{
		Arguments: provider.Any, Signature: provider.Any,
		NewID:  func(id string, n int) string { return fmt.Sprint(id, "#", n) },
		Faults: func(chat.Message) []provider.Fault { return nil },
		Says:   func(m chat.Message) bool { return m.Text() != "" },
		Late:   func(chat.Message, chat.Thinking) chat.Part { return nil },
	}
}

func calling(ids ...string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: "f"})
	}
	return m
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
			got, changes := lenient().Repair(chat.Request{Messages: tt.given})
			require.Empty(t, cmp.Diff(tt.want, got.Messages, cmpopts.EquateEmpty()))
			require.Equal(t, tt.changes, said(changes))
		})
	}
}
