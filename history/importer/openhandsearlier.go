package importer

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// earlier reads an event of the versions before the SDK.
func (h *openHandsReader) earlier(r Record, id string, o *wire.Object) {
	action, observation, source := o.Peek("action"), o.Peek("observation"), o.Peek("source")
	call := o.Inside("tool_call_metadata")
	r.Recorded = action + observation
	m := chat.Message{Role: chat.RoleUser}
	switch {
	case action == "system":
		h.custom(r, "system", o)
		return
	case action == "condensation":
		h.forgot(r, o)
		return
	case action == "message" && (source == "user" || call == nil):
		if source == "agent" {
			m.Role = chat.RoleAssistant
		}
		args := openHandsArgs(o)
		h.text(&m, args.OptionalText("content"), "args.content")
		h.images(&m, args)
		o.Put("args", args.Remainder())
		h.say(r, m, o.Remainder())
		return
	case action != "" && call != nil:
		h.answered(r, id, o, call)
		return
	case action != "" && source == "agent" && openHandsTools[action]:
		m.Role = chat.RoleAssistant
		args := openHandsArgs(o)
		h.text(&m, args.OptionalText("thought"), "args.thought")
		m.ToolCalls = []chat.ToolCall{{ID: "call-" + id, Name: action, Arguments: cmp.Or(wire.Compacted(args.All()), "{}")}}
		h.call(r, id, "", m, o)
		return
	case observation != "":
		m = chat.Message{Role: chat.RoleTool, ToolCallID: h.calls[string(o.Look("cause"))], IsError: observation == "error" || observation == "user_rejected"}
		if call != nil && h.pairing.IsOpen(call.Peek("tool_call_id")) {
			m.ToolCallID = call.Peek("tool_call_id")
		}
		if _, answers := h.pairing.Add(m); !answers {
			if call != nil {
				h.note(noteUnlinked, "tool_call_metadata")
			}
			break
		}
		h.text(&m, o.OptionalText("content"), "content")
		if extras := o.Inside("extras"); extras != nil {
			h.images(&m, extras)
		}
		if call != nil {
			h.note(noteRepeated, "tool_call_metadata")
			o.Skip("tool_call_metadata")
		}
		h.say(r, m, o.Remainder())
		return
	case source == "agent" && !openHandsAside[action]:
		h.note(noteUnknown, "action."+action)
	}
	h.keep(r, o.Source())
}

// openHandsArgs returns the arguments of an action, an empty object if it has none.
func openHandsArgs(o *wire.Object) *wire.Object {
	if !o.Is("args", wire.KindObject) {
		return &wire.Object{}
	}
	return o.Object("args")
}

// openHandsAside are the actions of an agent that are no part of what it says.
var openHandsAside = map[string]bool{
	"": true, "null": true, "start": true, "pause": true, "resume": true, "stop": true, "change_agent_state": true, "recall": true,
	"condensation_request": true, "loop_recovery": true,
}

// openHandsTools are the actions that versions before tool calls wrote without one.
var openHandsTools = map[string]bool{
	"run": true, "run_ipython": true, "read": true, "write": true, "edit": true, "browse": true, "browse_interactive": true,
	"delegate": true, "finish": true, "think": true, "call_tool_mcp": true, "task_tracking": true,
}

// forgot reads a condensation: the events from one to another, or those of a list, are forgotten.
func (h *openHandsReader) forgot(r Record, o *wire.Object) {
	var e struct {
		Args struct {
			IDs     []json.Number `json:"forgotten_event_ids"`
			To      json.Number   `json:"forgotten_events_end_id"`
			Summary any
		}
	}
	o.Fail(json.Unmarshal(o.Source(), &e))
	var ids []string
	for _, id := range append(e.Args.IDs, e.Args.To) {
		if id != "" {
			ids = append(ids, id.String())
		}
	}
	summary, _ := e.Args.Summary.(string)
	h.condensed(r, summary, o, ids)
}

// answered reads a call with the response that made it, which holds the whole answer.
func (h *openHandsReader) answered(r Record, id string, o, metadata *wire.Object) {
	m := chat.Message{Role: chat.RoleAssistant}
	response := metadata.Object("model_response")
	c := chat.ToolCall{ID: metadata.Text("tool_call_id"), Name: metadata.Text("function_name")}
	r.Usage = h.chatUsage(response)
	response.Each("choices", func(choice *wire.Object) {
		said := choice.Object("message")
		if len(m.Content) > 0 {
			return
		}
		h.thoughts(&m, said)
		h.content(&m, said, "content")
		if said.Is("tool_calls", wire.KindList) {
			said.Each("tool_calls", func(call *wire.Object) {
				if call.Peek("id") == c.ID {
					c.Arguments = call.Object("function").OptionalText("arguments")
				}
			})
		}
	})
	if err := metadata.Err(); err != nil {
		o.Fail(fmt.Errorf("tool_call_metadata: %w", err))
	}
	if c.Arguments == "" {
		c.Arguments = cmp.Or(wire.Compacted(openHandsArgs(o).All()), "{}")
	}
	m.ToolCalls = []chat.ToolCall{c}
	answer := response.Peek("id")
	if h.get(h.answers[answer]) == nil || answer == "" {
		r = h.answeredBy(r, "", response.Peek("model"))
	}
	h.note(noteRepeated, "tool_call_metadata")
	o.Skip("tool_call_metadata", "args")
	h.call(r, id, answer, m, o)
}
