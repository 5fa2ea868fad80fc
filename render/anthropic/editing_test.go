package anthropic_test

import (
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/render/anthropic"
)

// clearing has the API clear old thinking and results.
var clearing = anthropic.Editing{Edits: []sdk.BetaContextManagementConfigEditUnionParam{
	{OfClearThinking20251015: &sdk.BetaClearThinking20251015EditParam{}},
	{OfClearToolUses20250919: &sdk.BetaClearToolUses20250919EditParam{Keep: sdk.BetaToolUsesKeepParam{Value: 3}}},
}}

func TestOnAppliedIsCalledWithTheEditsOfTheAPI(t *testing.T) {
	a := say(text("42"))
	a.applied = []block{{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000}}
	model, s := answering(t, a)
	var applied []sdk.BetaContextManagementResponseAppliedEditUnion
	model.Betas = []string{"interleaved-thinking-2025-05-14"}
	model.Editing = clearing
	model.Editing.OnApplied = func(edits []sdk.BetaContextManagementResponseAppliedEditUnion) { applied = edits }
	_, err := model.Generate(t.Context(), ask(question))
	require.NoError(t, err)
	require.Len(t, applied, 1)
	require.EqualValues(t, 8, applied[0].ClearedToolUses)
	require.EqualValues(t, 50_000, applied[0].ClearedInputTokens)
	require.Equal(t, []block{
		{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919", "keep": map[string]any{"type": "tool_uses", "value": 3.0}},
	}, s.last(t).Editing.Edits)
	require.Equal(t, "interleaved-thinking-2025-05-14,context-management-2025-06-27", strings.Join(s.headers[0].Values("Anthropic-Beta"), ","))
}

func TestOnAppliedIsNotCalledWithoutEdits(t *testing.T) {
	a := say(text("42"))
	a.applied = []block{}
	model, s := answering(t, a)
	model.Editing.OnApplied = func([]sdk.BetaContextManagementResponseAppliedEditUnion) { t.Error("nothing was cleared") }
	_, err := model.Generate(t.Context(), ask(question))
	require.NoError(t, err)
	require.NotContains(t, s.bodies[0], "context_management")
	require.Empty(t, s.headers[0].Values("Anthropic-Beta"))
}
