package provider_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

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
