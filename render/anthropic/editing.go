package anthropic

import (
	"encoding/json"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

// Editing has the API edit the context of each request before the model sees it. The zero value leaves it as it is.
type Editing struct {
	// Edits in the order that the API requires: clear_thinking_20251015 comes before clear_tool_uses_20250919. Their
	// betas are requested. The trigger of compact_20260112 is 50,000 tokens or more; its block is a part of the answer,
	// and its tokens count in [chat.Response].Usage.
	Edits []sdk.BetaContextManagementConfigEditUnionParam
	// OnApplied, if set, is called with the edits that the API made to a request, if any, from the goroutine of
	// Generate. The cached prefix ends at the first of them.
	OnApplied func([]sdk.BetaContextManagementResponseAppliedEditUnion)
}

// fieldEditing is a field of a request that [sdk.MessageNewParams] does not have.
const fieldEditing = "context_management"

// ManagesContext reports whether the API edits the context of requests. Policies may leave compaction to it
// (policy.Policy.StandsBack).
func (m *Model) ManagesContext() bool { return len(m.Editing.Edits) > 0 }

// betas returns the betas that the edits of a request need.
func (e Editing) betas() (list []string) {
	for _, edit := range e.Edits {
		if edit.OfCompact20260112 != nil {
			list = append(list, string(sdk.AnthropicBetaCompact2026_01_12))
		} else {
			list = append(list, string(sdk.AnthropicBetaContextManagement2025_06_27))
		}
	}
	return slices.Compact(list)
}

// applied calls OnApplied with the edits that the last event of an answer names.
func (m *Model) applied(e sdk.MessageStreamEventUnion) {
	if m.Editing.OnApplied == nil || e.Type != "message_delta" {
		return
	}
	var event struct {
		Editing sdk.BetaContextManagementResponse `json:"context_management"`
	}
	if json.Unmarshal([]byte(e.RawJSON()), &event) == nil && len(event.Editing.AppliedEdits) > 0 {
		m.Editing.OnApplied(event.Editing.AppliedEdits)
	}
}
