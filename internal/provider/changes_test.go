package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

func said(changes []chat.Repair) (said []string) {
	for _, c := range changes {
		said = append(said, c.String())
	}
	return said
}

func TestChangesAreInTheOrderOfTheMessages(t *testing.T) {
	var c provider.Changes
	require.Nil(t, c.ByMessage())
	c.Report(2, chat.RuleEmpty, "first")
	c.Report(0, chat.RuleEmpty, "part %d", 1)
	c.Report(2, chat.RuleEmpty, "second")
	c.Report(chat.RequestIndex, chat.RuleTool, "third")
	require.Equal(t, []string{
		"request: tools are named and described by a schema: third",
		"message 0: no empty text: part 1",
		"message 2: no empty text: first",
		"message 2: no empty text: second",
	}, said(c.ByMessage()))
}

func TestFieldsFitTheRole(t *testing.T) {
	calls := []chat.ToolCall{{ID: "a", Name: "f"}}
	for _, tt := range []struct {
		rule        string
		given, want chat.Message
		changes     []string
	}{
		{"an assistant message may hold calls", chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}, chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}, nil},
		{"a tool message may hold the id of a call", chat.ToolResult("a", "1"), chat.ToolResult("a", "1"), nil},
		{"an unknown role becomes the user's", chat.Message{Role: "x"}, chat.Message{Role: chat.RoleUser}, []string{`message 3: known role: the role "x" changed to "user"`}},
		{"the role developer becomes the system's", chat.Message{Role: "developer"}, chat.Message{Role: chat.RoleSystem}, []string{`message 3: known role: the role "developer" changed to "system"`}},
		{"no other message may hold calls or the id of one", chat.Message{Role: "x", ToolCalls: calls, ToolCallID: "a"}, chat.Message{Role: chat.RoleUser}, []string{
			`message 3: known role: the role "x" changed to "user"`,
			"message 3: fields fit the role: 1 calls removed from a user message",
			"message 3: fields fit the role: the id of a call removed from a user message",
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var c provider.Changes
			require.Equal(t, tt.want, c.Fields(3, tt.given))
			require.Equal(t, tt.changes, said(c.ByMessage()))
		})
	}
}

func TestBlankTextIsRemovedAndInvalidBytesAreReplaced(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		given   chat.Text
		want    chat.Part
		changes []string
	}{
		{"text stays", " a ", chat.Text(" a "), nil},
		{"blank text is removed", " \n", nil, []string{"message 3: no empty text: part 1, which is blank, left out"}},
		{"bytes that are not UTF-8 are replaced", "a\xff\xfeb", chat.Text("a\uFFFDb"), []string{"message 3: text is UTF-8: bytes replaced in part 1"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			var c provider.Changes
			require.Equal(t, tt.want, c.Text(3, 1, tt.given))
			require.Equal(t, tt.changes, said(c.ByMessage()))
		})
	}
}

func TestToolsToolChoiceAndLimitAreRepaired(t *testing.T) {
	req := chat.Request{
		Messages: []chat.Message{chat.UserMessage("b"), chat.UserMessage("a")}, MaxTokens: -1, Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired},
		Tools: []chat.Tool{{Name: "f", Description: "\xff"}, {Name: "f"}, {Name: "g", Description: "g"}},
	}
	want := chat.Request{
		Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}, Tools: []chat.Tool{{Name: "f", Description: "\uFFFD"}, {Name: "g", Description: "g"}},
		Messages: []chat.Message{chat.UserMessage("b"), chat.UserMessage("a")},
	}
	got, changes := lenient().Repair(req)
	require.Equal(t, want, got)
	require.Equal(t, []string{
		"request: the answer has room: a limit of -1 tokens left out",
		`request: text is UTF-8: bytes replaced in the description of tool "f"`,
		`request: tools are named and described by a schema: the second tool "f" left out`,
	}, said(changes))

	got, changes = lenient().Repair(chat.Request{Shape: chat.Shape{ToolChoice: chat.ToolChoiceRequired}})
	require.Equal(t, chat.Request{Shape: chat.Shape{ToolChoice: chat.ToolChoiceAuto}, Messages: []chat.Message{}}, got)
	require.Equal(t, []string{"request: the tool choice can be met: a call is no longer required: there are no tools"}, said(changes))
}
