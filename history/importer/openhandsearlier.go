package importer

import (
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// openHandsEvent is what of an event of the versions before the SDK tells what it is.
type openHandsEvent struct {
	Action, Observation, Source string
	Cause                       *int
	Content                     string
	Args                        map[string]json.RawMessage
	Extras                      map[string]json.RawMessage
	ToolCallMetadata            *struct {
		FunctionName  string          `json:"function_name"`
		ToolCallID    string          `json:"tool_call_id"`
		ModelResponse json.RawMessage `json:"model_response"`
	} `json:"tool_call_metadata"`
}

// earlier reads an event of the versions before the SDK.
func (h *openHands) earlier(r Record, id string, o *wire.Object) {
	var e openHandsEvent
	if err := json.Unmarshal(o.Source(), &e); err != nil {
		o.Fail(err)
		return
	}
	arg := func(from map[string]json.RawMessage, name string) (text string) {
		_ = json.Unmarshal(from[name], &text) // or it is not a text
		return text
	}
	images := func(m *chat.Message, from map[string]json.RawMessage) {
		var urls []string
		_ = json.Unmarshal(from["image_urls"], &urls) // or there are none
		for _, url := range urls {
			m.Content = append(m.Content, chat.Image{URL: url})
		}
	}
	r.Recorded = e.Action + e.Observation
	m := chat.Message{Role: chat.RoleUser}
	switch {
	case e.Action == "system":
		h.custom(r, "system", o)
		return
	case e.Action == "condensation":
		h.forgot(r, e.Args, o)
		return
	case e.Action == "message" && (e.Source == "user" || e.ToolCallMetadata == nil):
		if e.Source == "agent" {
			m.Role = chat.RoleAssistant
		}
		h.text(&m, arg(e.Args, "content"), "args.content")
		images(&m, e.Args)
		delete(e.Args, "content")
		delete(e.Args, "image_urls")
		args, _ := json.Marshal(e.Args) // maps of JSON always encode
		o.Put("args", args)
		h.say(r, m, o.Remainder())
		return
	case e.Action != "" && e.ToolCallMetadata != nil:
		h.answered(r, id, o, e)
		return
	case e.Action != "" && e.Source == "agent" && openHandsTools[e.Action]:
		m.Role = chat.RoleAssistant
		h.text(&m, arg(e.Args, "thought"), "args.thought")
		delete(e.Args, "thought")
		arguments, _ := json.Marshal(e.Args) // maps of JSON always encode
		m.ToolCalls = []chat.ToolCall{{ID: "call-" + id, Name: e.Action, Arguments: wire.Compacted(arguments)}}
		o.Skip("args")
		h.call(r, id, "", m, o)
		return
	case e.Observation != "":
		m = chat.Message{Role: chat.RoleTool, IsError: e.Observation == "error" || e.Observation == "user_rejected"}
		if e.Cause != nil {
			m.ToolCallID = h.calls[fmt.Sprint(*e.Cause)]
		}
		if e.ToolCallMetadata != nil && h.pairing.IsOpen(e.ToolCallMetadata.ToolCallID) {
			m.ToolCallID = e.ToolCallMetadata.ToolCallID
		}
		if _, answers := h.pairing.Add(m); !answers {
			if e.ToolCallMetadata != nil {
				h.note(Unlinked, "tool_call_metadata")
			}
			break
		}
		h.text(&m, e.Content, "content")
		images(&m, e.Extras)
		if o.Given("tool_call_metadata") {
			h.note(Repeated, "tool_call_metadata")
			o.Skip("tool_call_metadata")
		}
		o.Skip("content")
		h.say(r, m, o.Remainder())
		return
	case e.Source == "agent" && !openHandsAside[e.Action]:
		h.note(Unknown, "action."+e.Action)
	}
	h.keep(r, o.Source())
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
func (h *openHands) forgot(r Record, args map[string]json.RawMessage, o *wire.Object) {
	var a struct {
		IDs     []int `json:"forgotten_event_ids"`
		From    *int  `json:"forgotten_events_start_id"`
		To      *int  `json:"forgotten_events_end_id"`
		Summary any
	}
	data, _ := json.Marshal(args) // maps of JSON always encode
	if err := json.Unmarshal(data, &a); err != nil {
		o.Fail(fmt.Errorf("args: %w", err))
	}
	var ids []string
	for _, id := range a.IDs {
		ids = append(ids, fmt.Sprint(id))
	}
	if a.To != nil {
		ids = append(ids, fmt.Sprint(*a.To))
	}
	summary, _ := a.Summary.(string)
	h.condensed(r, summary, o, ids)
}

// answered reads a call with the response that made it, which holds the whole answer.
func (h *openHands) answered(r Record, id string, o *wire.Object, e openHandsEvent) {
	m := chat.Message{Role: chat.RoleAssistant}
	response, err := wire.Parse(e.ToolCallMetadata.ModelResponse)
	if err != nil {
		o.Fail(fmt.Errorf("tool_call_metadata: model_response: %w", err))
		return
	}
	c := chat.ToolCall{ID: e.ToolCallMetadata.ToolCallID, Name: e.ToolCallMetadata.FunctionName}
	r.Usage = h.chatUsage(response)
	parts(response, "choices", func(choice *wire.Object) {
		said := choice.Object("message")
		if len(m.Content) > 0 {
			return
		}
		h.thoughts(&m, said)
		h.content(&m, said, "content")
		if said.Is("tool_calls", wire.KindList) {
			parts(said, "tool_calls", func(call *wire.Object) {
				if call.Peek("id") == c.ID {
					c.Arguments = call.Object("function").OptionalText("arguments")
				}
			})
		}
	})
	if response.Err() != nil {
		o.Fail(fmt.Errorf("tool_call_metadata: model_response: %w", response.Err()))
		return
	}
	if c.Arguments == "" {
		arguments, _ := json.Marshal(e.Args) // maps of JSON always encode
		c.Arguments = wire.Compacted(arguments)
	}
	m.ToolCalls = []chat.ToolCall{c}
	answer := response.Peek("id")
	if h.get(h.answers[answer]) == nil || answer == "" {
		r = h.answeredBy(r, "", response.Peek("model"))
	}
	h.note(Repeated, "tool_call_metadata")
	o.Skip("tool_call_metadata", "args")
	h.call(r, id, answer, m, o)
}
