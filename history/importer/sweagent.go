package importer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// sweReader reads the trajectories of SWE-agent (versions 0.6 to 1.1) and mini-swe-agent (versions 1 and 2), one JSON
// document each, whose messages are OpenAI's with additions: the list history, or messages. What else is in the document is
// in one [entry.Custom] before them, with the totals of usage. SWE-agent records neither times nor usage of answers.
type sweReader struct {
	*builder
	list  string
	calls map[string]bool
}

func (s *sweReader) line(o *wire.Object) {
	list := o.Field(s.list, wire.KindList)
	r := Record{Recorded: "trajectory"}
	model := sweModel(o)
	if format := o.Peek("trajectory_format"); format != "" && format != "mini-swe-agent-1" && format != "mini-swe-agent-1.1" {
		s.note(noteLater, clip(format))
	}
	if s.list == "history" && o.Given("trajectory") { // the same steps, with what each model was asked
		o.Skip("trajectory")
		s.note(noteRepeated, "trajectory")
	}
	if data := o.Remainder(); data != nil {
		s.add(r, entry.Custom{Name: r.Recorded, Data: data})
	}
	s.answeredBy(Record{Entry: entry.Entry{Parent: s.tip}}, "", model)
	s.each(list, s.list, s.skip, s.message)
}

// sweModel returns the name of the model in the configuration of a trajectory.
func sweModel(o *wire.Object) string {
	name := within(o, "info", "config", "model").Peek("model_name")
	if config := wire.ObjectOf([]byte(o.Peek("replay_config"))); config != nil {
		name += within(config, "agent", "model").Peek("name")
	}
	return name
}

func (s *sweReader) message(o *wire.Object) {
	r := s.extra(Record{Recorded: o.Peek("role"), Entry: entry.Entry{Parent: s.tip}}, o)
	switch {
	case o.Peek("object") == "response": // of the responses API
		s.response(r, o)
		return
	case o.Peek("type") == "function_call_output":
		r.Recorded = o.Peek("type")
		extra := o.Raw("extra")
		s.say(r, s.readItem(r.Recorded, o), extra)
		return
	case r.Recorded == "exit": // how the run ended
		s.custom(r, r.Recorded, o)
		return
	case r.Recorded == "tool" && o.Is("tool_call_ids", wire.KindList):
		var ids []string
		if json.Unmarshal(o.Look("tool_call_ids"), &ids) != nil || len(ids) != 1 {
			o.Fail(fmt.Errorf("tool_call_ids: expected one id, found %s", clip(string(o.Look("tool_call_ids")))))
			return
		}
		o.Skip("tool_call_ids")
		if s.calls[ids[0]] {
			o.PutText("tool_call_id", ids[0])
		} else {
			s.note(noteUnlinked, "tool_call_ids")
			o.PutText("role", "user")
		}
	}
	if o.Is("tool_calls", wire.KindText) { // version 1.0 wrote some as Python does
		s.note(noteNoPlace, "tool_calls")
		o.Skip("tool_calls")
	}
	if o.Is("tool_calls", wire.KindList) {
		calls, err := textArguments(o.Look("tool_calls"))
		if err != nil {
			o.Fail(fmt.Errorf("tool_calls: %w", err))
		}
		o.Put("tool_calls", calls)
	}
	if s.openAI(r, o); o.Err() != nil {
		return
	}
	for _, c := range s.get(s.tip).Message().ToolCalls {
		s.calls[c.ID] = true
	}
}

// textArguments returns calls whose arguments are texts, as the API has them; SWE-agent may write an object.
func textArguments(calls json.RawMessage) (json.RawMessage, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(calls, &list); err != nil {
		return nil, err
	}
	for _, call := range list {
		var f map[string]json.RawMessage
		if json.Unmarshal(call["function"], &f) == nil && len(f["arguments"]) > 0 && wire.KindOf(f["arguments"]) == wire.KindObject {
			f["arguments"], _ = json.Marshal(wire.Compacted(f["arguments"])) // texts and maps of JSON always encode
			call["function"], _ = json.Marshal(f)
		}
	}
	return json.Marshal(list)
}

// extra reads the field of that name, in which mini-swe-agent has the time, the cost and the provider's response.
func (s *sweReader) extra(r Record, o *wire.Object) Record {
	r.Time = o.Time("timestamp") // of version 1
	if !o.Is("extra", wire.KindObject) {
		return r
	}
	e := o.Object("extra")
	if r.Cost = e.Amount("cost"); r.Time.IsZero() {
		r.Time = e.Time("timestamp")
	}
	if e.Is("response", wire.KindObject) {
		response := e.Object("response")
		r.Usage = s.chatUsage(response)
		r = s.answeredBy(r, "", response.Peek("model"))
		s.note(noteRepeated, "extra.response")
	}
	o.Put("extra", e.Remainder())
	return r
}

// response reads an answer of OpenAI's responses API.
func (s *sweReader) response(r Record, o *wire.Object) {
	if r.Usage == (chat.Usage{}) {
		r.Usage = s.chatUsage(o)
	}
	r = s.answeredBy(r, "", o.Peek("model"))
	r.Recorded = "response"
	a := items.Answer{Message: chat.Message{Role: chat.RoleAssistant}}
	o.Each("output", func(item *wire.Object) { s.addItem(&a, item.Peek("type"), item) })
	s.say(r, a.Message, o.Remainder())
}

// isSWE reports whether an object is a trajectory of SWE-agent.
func isSWE(o *wire.Object) bool {
	first := firstOf(o, "history")
	return first != nil && isChatRole(first)
}

// isMini reports whether an object is a trajectory of mini-swe-agent.
func isMini(o *wire.Object) bool {
	return strings.HasPrefix(o.Peek("trajectory_format"), "mini-swe-agent") || o.Is("messages", wire.KindList) && o.Is("info", wire.KindObject) && strings.Contains(string(o.Look("info")), `"mini_version"`)
}
