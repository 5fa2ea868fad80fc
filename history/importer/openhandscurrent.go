package importer

import (
	"cmp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// current reads an event of the SDK.
func (h *openHandsReader) current(r Record, id string, o *wire.Object) {
	r.Recorded = o.Text("kind")
	if !h.has(id) {
		r.ID = id
	}
	m := chat.Message{Role: chat.RoleTool}
	switch r.Recorded {
	case "SystemPromptEvent":
		h.custom(r, "system", o)
		return
	case "MessageEvent":
		said := o.Object("llm_message")
		if m.Role = chat.Role(said.OptionalText("role")); m.Role != chat.RoleAssistant {
			m.Role = chat.RoleUser
		}
		h.thoughts(&m, said)
		h.content(&m, said, "content")
		h.rest("llm_message", said)
		h.content(&m, o, "extended_content")
	case "ActionEvent":
		h.acted(r, id, o)
		return
	case "ObservationEvent":
		result := o.Object("observation")
		m.ToolCallID, m.IsError = o.Text("tool_call_id"), result.Flag("is_error")
		h.content(&m, result, "content")
		for _, field := range []string{"output", "error"} { // of the first versions
			if len(m.Content) == 0 {
				h.content(&m, result, field)
			}
		}
		o.Put("observation", result.Remainder())
		h.content(&m, o, "extended_content")
	case "UserRejectObservation":
		m.ToolCallID, m.IsError = o.Text("tool_call_id"), true
		h.text(&m, o.OptionalText("rejection_reason"), "rejection_reason")
	case "AgentErrorEvent":
		m.ToolCallID, m.IsError = o.Text("tool_call_id"), true
		h.text(&m, o.Text("error"), "error")
	case "Condensation":
		var forgotten []string
		decode(o, "forgotten_event_ids", &forgotten)
		h.condensed(r, o.Peek("summary"), o, forgotten)
		return
	case "CondensationRequest", "CondensationSummaryEvent", "ConversationErrorEvent", "ConversationStateUpdateEvent", "HookExecutionEvent",
		"InterruptEvent", "LLMCompletionLogEvent", "PauseEvent", "ServerErrorEvent", "StreamingDeltaEvent", "TokenEvent":
		h.keep(r, o.Source())
		return
	default:
		h.note(noteUnknown, r.Recorded)
		h.keep(r, o.Source())
		return
	}
	if o.Err() != nil {
		return
	}
	if _, answers := h.pairing.Add(m); m.Role == chat.RoleTool && !answers {
		h.note(noteUnlinked, "tool_call_id")
		m = chat.Message{Role: chat.RoleUser, Content: m.Content}
	}
	h.say(r, m, o.Remainder())
}

// acted reads a call, with what the model thought and said before it.
func (h *openHandsReader) acted(r Record, id string, o *wire.Object) {
	m := chat.Message{Role: chat.RoleAssistant}
	h.thoughts(&m, o)
	h.content(&m, o, "thought")
	call := o.Object("tool_call")
	c := chat.ToolCall{ID: o.Text("tool_call_id"), Name: o.Text("tool_name")}
	if call.Is("function", wire.KindObject) { // of the first versions
		call = call.Object("function")
	}
	c.Arguments = cmp.Or(call.OptionalText("arguments"), "{}")
	o.Skip("action") // the same as the arguments
	call.Skip("id", "name")
	h.rest("tool_call", call)
	m.ToolCalls = []chat.ToolCall{c}
	h.call(r, id, o.Peek("llm_response_id"), m, o)
}
