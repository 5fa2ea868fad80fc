package provider_test

import (
	"fmt"
	"strings"
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

func TestNamesThatMustChangeStayApartAndComeBack(t *testing.T) {
	api := &provider.API{ToolName: provider.Words(64, "_-"), Arguments: provider.Any, Signature: provider.Any, Faults: func(chat.Message) []provider.Fault { return nil }, Says: func(m chat.Message) bool { return len(m.Content) > 0 }}
	long := strings.Repeat("a", 70)
	given := []string{"look", "fs.look", "fs/look", "fs_look", long + "1", long + "2", "größe", "."}
	var tools []chat.Tool
	var calls []chat.ToolCall
	for _, name := range given {
		tools = append(tools, chat.Tool{Name: name})
		calls = append(calls, chat.ToolCall{ID: "c" + name[:1] + string(rune('a'+len(calls))), Name: name, Arguments: "{}"})
	}
	req, _ := api.Repair(chat.Request{Tools: tools, Messages: []chat.Message{chat.UserMessage("Look."), {Role: chat.RoleAssistant, ToolCalls: calls}}})
	sent := map[string]bool{}
	for i, tool := range req.Tools {
		require.Equal(t, api.ToolName.Fix(tool.Name), tool.Name, "it is of the form")
		require.False(t, sent[tool.Name], tool.Name)
		sent[tool.Name] = true
		require.Equal(t, tool.Name, req.Messages[1].ToolCalls[i].Name, "calls have the names of their tools")
		alone, _ := api.Repair(chat.Request{Tools: tools[i : i+1], Messages: req.Messages[:1]})
		require.Equal(t, tool.Name, alone.Tools[0].Name, "a name does not depend on the other tools")
	}
	require.Equal(t, "look", req.Tools[0].Name)
	names := api.Names(tools)
	got := names.Response(chat.Response{Message: req.Messages[1]})
	for i, c := range got.Message.ToolCalls {
		require.Equal(t, given[i], c.Name)
	}
	var heard []string
	stream := names.Stream(func(d chat.Delta) { heard = append(heard, d.(chat.CallDelta).Name) })
	for i := range req.Tools {
		stream(chat.CallDelta{Index: i, Name: req.Tools[i].Name})
	}
	require.Equal(t, given, heard)
}

func TestHalfSurrogatePairsInRawJSONAreReplaced(t *testing.T) {
	api := &provider.API{ToolName: provider.Words(64, "_-"), Arguments: provider.Any, Signature: provider.Any, Faults: func(chat.Message) []provider.Fault { return nil }, Says: func(m chat.Message) bool { return len(m.Content) > 0 }}
	for raw, want := range map[string]string{
		`{"path":"\ud83eade9 x"}`:    `{"path":"\ufffdade9 x"}`,
		`{"path":"\udE9A"}`:          `{"path":"\ufffd"}`,
		`{"path":"\ud83e\udd9a"}`:    `{"path":"\ud83e\udd9a"}`,
		`{"path":"\\ud83e"}`:         `{"path":"\\ud83e"}`,
		`{"\ud83e":"\ud83d\ud83e!"}`: `{"\ufffd":"\ufffd\ufffd!"}`,
	} {
		req := chat.Request{
			Tools: []chat.Tool{{Name: "look", Parameters: []byte(raw)}},
			Messages: []chat.Message{
				chat.UserMessage("Look."),
				{Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: []byte(raw)}}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: raw, Signature: raw}}},
				chat.ToolResult("a", "x"),
			},
		}
		err := api.Validate(req)
		if raw == want {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, string(provider.RuleUTF8))
		}
		got, changes := api.Repair(req)
		require.NoError(t, api.Validate(got))
		require.Equal(t, raw != want, len(changes) > 0)
		require.Equal(t, want, string(got.Tools[0].Parameters))
		require.Equal(t, want, string(got.Messages[1].Content[0].(chat.Opaque).Value))
		require.Equal(t, want, got.Messages[1].ToolCalls[0].Arguments)
		require.Equal(t, want, got.Messages[1].ToolCalls[0].Signature)
		again, more := api.Repair(got)
		require.Empty(t, more)
		require.Equal(t, got, again)
		require.Equal(t, raw, string(req.Tools[0].Parameters), "the original is not changed")
	}
}

func TestPartialOfNothingIsTheZeroResponse(t *testing.T) {
	usage := chat.Usage{Input: 1}
	require.Equal(t, chat.Response{}, provider.Partial(chat.Message{Role: chat.RoleAssistant}, chat.Usage{}))
	require.Equal(t, chat.Response{Usage: usage}, provider.Partial(chat.Message{Role: chat.RoleAssistant}, usage))
	require.Equal(t, chat.Response{Message: chat.AssistantMessage("a"), Usage: usage}, provider.Partial(chat.AssistantMessage("a"), usage))
}
