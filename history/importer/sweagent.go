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
	*chatReader
	list  string
	calls map[string]bool
}

func (s *sweReader) line(number int, o *wire.Object, _ []byte) error {
	list := o.Field(s.list, wire.KindList)
	r := Record{Line: number, Recorded: "trajectory"}
	model := sweModel(o)
	if format := o.Peek("trajectory_format"); format != "" && format != "mini-swe-agent-1" && format != "mini-swe-agent-1.1" {
		s.note(number, Later, clip(format))
	}
	if s.list == "history" && o.Given("trajectory") { // the same steps, with what each model was asked
		o.Skip("trajectory")
		s.note(number, Repeated, "trajectory")
	}
	if data := o.Remainder(); data != nil {
		r.Body = entry.Custom{Name: r.Recorded, Data: data}
		if err := s.add(r); err != nil {
			return err
		}
	}
	if _, err := s.answeredBy(Record{Line: number, Entry: entry.Entry{Parent: s.tip}}, "", model); err != nil {
		return err
	}
	return s.each(list, number, s.list, s.skip, s.message)
}

// sweModel returns the name of the model in the configuration of a trajectory.
func sweModel(o *wire.Object) string {
	var info struct {
		Config struct{ Model struct{ Model_name string } }
	}
	var replay string
	var config struct {
		Agent struct{ Model struct{ Name string } }
	}
	_ = json.Unmarshal(o.Look("info"), &info) // or there is none
	_ = json.Unmarshal(o.Look("replay_config"), &replay)
	_ = json.Unmarshal([]byte(replay), &config)
	return info.Config.Model.Model_name + config.Agent.Model.Name
}

func (s *sweReader) message(line int, o *wire.Object, raw json.RawMessage) error {
	r := Record{Line: line, Recorded: o.Peek("role"), Entry: entry.Entry{Parent: s.tip}}
	var notes pending
	r, err := s.extra(r, o, &notes)
	if err != nil {
		return err
	}
	defer func() { s.noteAll(line, notes) }()
	switch {
	case o.Peek("object") == "response": // of the responses API
		return s.response(r, o, &notes)
	case o.Peek("type") == "function_call_output":
		return s.item(r, o, &notes)
	case r.Recorded == "exit": // how the run ended
		r.Body = entry.Custom{Name: r.Recorded, Data: clone(raw)}
		return s.add(r)
	case r.Recorded == "tool" && o.Is("tool_call_ids", wire.KindList):
		var ids []string
		if json.Unmarshal(o.Look("tool_call_ids"), &ids) != nil || len(ids) != 1 {
			return fmt.Errorf("tool_call_ids: expected one id, found %s", clip(string(o.Look("tool_call_ids"))))
		}
		o.Skip("tool_call_ids")
		id, _ := json.Marshal(ids[0]) // strings always encode
		o.Put("tool_call_id", id)
		if !s.calls[ids[0]] {
			notes.add(Unlinked, "tool_call_ids")
			o.Skip("tool_call_id")
			o.Put("role", json.RawMessage(`"user"`))
		}
	}
	if o.Is("tool_calls", wire.KindText) { // version 1.0 wrote some as Python does
		notes.add(NoPlace, "tool_calls")
		o.Skip("tool_calls")
	}
	if o.Is("tool_calls", wire.KindList) {
		calls, err := textArguments(o.Look("tool_calls"))
		if err != nil {
			return fmt.Errorf("tool_calls: %w", err)
		}
		o.Put("tool_calls", calls)
	}
	if err := s.openAI(r, o, raw, &notes); err != nil {
		return err
	}
	for _, c := range s.get(s.tip).Message().ToolCalls {
		s.calls[c.ID] = true
	}
	return nil
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
func (s *sweReader) extra(r Record, o *wire.Object, notes *pending) (Record, error) {
	r.Time = o.Time("timestamp") // of version 1
	if !o.Is("extra", wire.KindObject) {
		return r, nil
	}
	e := o.Object("extra")
	if r.Cost = e.Amount("cost"); r.Time.IsZero() {
		r.Time = e.Time("timestamp")
	}
	if e.Err() == nil && e.Is("response", wire.KindObject) {
		response := e.Object("response")
		var err error
		if r.Usage, err = chatUsage(response, notes); err != nil {
			return r, err
		}
		if r, err = s.answeredBy(r, "", response.Peek("model")); err != nil {
			return r, err
		}
		notes.add(Repeated, "extra.response")
	}
	o.Put("extra", e.Remainder())
	return r, o.Err()
}

// response reads an answer of OpenAI's responses API.
func (s *sweReader) response(r Record, o *wire.Object, notes *pending) error {
	if r.Usage == (chat.Usage{}) {
		var err error
		if r.Usage, err = chatUsage(o, notes); err != nil {
			return err
		}
	}
	r, err := s.answeredBy(r, "", o.Peek("model"))
	if err != nil {
		return err
	}
	r.Recorded = "response"
	a := items.Answer{Message: chat.Message{Role: chat.RoleAssistant}}
	o.Each("output", func(item *wire.Object) error { return addItem(&a, item.Peek("type"), item, notes) })
	if o.Err() != nil {
		return o.Err()
	}
	return s.say(r, a.Message, o.Remainder())
}

// item reads a result of OpenAI's responses API.
func (s *sweReader) item(r Record, o *wire.Object, notes *pending) error {
	r.Recorded = o.Peek("type")
	extra := o.Raw("extra")
	m, err := readItem(r.Recorded, o, notes)
	if err != nil {
		return err
	}
	return s.say(r, m, extra)
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
