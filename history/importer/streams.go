package importer

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// streamReader reads what agents print when no person is there: Gemini CLI with --output-format stream-json (0.11 and
// later), `codex exec --json` (0.44 and later) and `opencode run --format json` (1.0 and later). Only the first prints
// the user's message; where it is missing a placeholder stands for it.
type streamReader struct {
	*builder
	answer string // the answer to which parts are added, "" if the next part begins one
	latest string // the last answer
	said   bool   // whether there is a message
}

// streamFormat returns the format of a stream by its first line, "" if it is none.
func streamFormat(o *wire.Object) Format {
	switch typ := o.Peek("type"); {
	case typ == "init" && o.Is("session_id", wire.KindText):
		return FormatGemini
	case typ == "thread.started" && o.Is("thread_id", wire.KindText):
		return FormatCodex
	case typ == "step_start" && o.Is("sessionID", wire.KindText) && o.Is("part", wire.KindObject):
		return FormatOpencode
	}
	return ""
}

func (s *streamReader) line(number int, o *wire.Object, raw []byte) error {
	r := Record{Line: number, Recorded: o.Peek("type"), Entry: entry.Entry{Parent: s.tip, Time: o.Time("timestamp")}}
	if s.rec.Header.Data == nil {
		s.rec.Header = entry.Header{From: cmp.Or(o.Peek("session_id"), o.Peek("thread_id"), o.Peek("sessionID")), Time: r.Time, Data: clone(raw)}
		if model := o.Peek("model"); model != "" {
			_, err := s.answeredBy(r, "google", model)
			return err
		}
		return nil
	}
	part := o
	for _, field := range [...]string{"item", "part"} {
		if o.Is(field, wire.KindObject) {
			part = o.Object(field)
		}
	}
	what := r.Recorded
	if what == "item.completed" {
		what = part.Peek("type")
	}
	var notes pending
	err := s.event(r, what, part, raw, &notes)
	if err = cmp.Or(err, part.Err(), o.Err()); err == nil {
		s.noteAll(number, notes)
	}
	return err
}

// event reads an event, or the item or part that it is about.
func (s *streamReader) event(r Record, what string, o *wire.Object, raw []byte, notes *pending) error {
	switch what {
	case "message":
		if o.Peek("role") == "user" {
			s.answer, s.said = "", true
			return s.say(r, chat.UserMessage(o.Text("content")), nil)
		}
		return s.add(r, chat.AssistantMessage(o.Text("content")), o, notes, "role", "type", "delta")
	case "agent_message", "text":
		return s.add(r, chat.AssistantMessage(o.Text("text")), o, notes, "type")
	case "reasoning":
		return s.add(r, chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: o.Text("text")}}}, o, notes, "type")
	case "tool_use":
		if o.Is("state", wire.KindObject) { // of opencode: with its result
			state := o.Object("state")
			failed := state.OptionalText("status") == "error"
			id := o.Text("callID")
			output := cmp.Or(state.OptionalText("output"), state.OptionalText("error"))
			err := s.call(r, id, o.Text("tool"), cmp.Or(state.Compact("input"), "{}"), o, notes)
			notes.rest("state", state)
			return cmp.Or(err, state.Err(), s.result(r, id, output, failed))
		}
		return s.call(r, o.Text("tool_id"), o.Text("tool_name"), cmp.Or(o.Compact("parameters"), "{}"), o, notes)
	case "tool_result":
		failed, output := o.OptionalText("status") == "error", o.OptionalText("output")
		if output == "" && o.Given("error") {
			output = o.Compact("error")
		}
		return s.result(r, o.Text("tool_id"), output, failed)
	case "command_execution":
		id, output := o.Text("id"), o.OptionalText("aggregated_output")
		failed := o.Given("exit_code") && o.Number("exit_code") != "0"
		arguments, _ := json.Marshal(map[string]string{"command": o.Text("command")}) // always encodes
		return cmp.Or(s.call(r, id, "shell", string(arguments), o, notes), s.result(r, id, output, failed))
	case "file_change", "mcp_tool_call":
		id, output := o.Text("id"), cmp.Or(o.Compact("result"), o.OptionalText("status"))
		arguments := cmp.Or(o.Compact("arguments"), o.Compact("changes"), "{}")
		if wire.KindOf([]byte(arguments)) != wire.KindObject {
			arguments = `{"changes":` + arguments + "}"
		}
		return cmp.Or(s.call(r, id, cmp.Or(o.OptionalText("tool"), what), arguments, o, notes), s.result(r, id, output, o.Given("error")))
	case "step_finish":
		if last := s.get(s.latest); last != nil && o.Is("tokens", wire.KindObject) {
			t := o.Object("tokens")
			cache := t.Object("cache")
			last.Usage = chat.Usage{Input: t.Count("input"), Output: t.Count("output") + t.Count("reasoning"), CacheRead: cache.Count("read"), CacheWrite: cache.Count("write")}
			last.Usage.Input += last.Usage.CacheRead + last.Usage.CacheWrite
			last.Cost = o.Amount("cost")
		}
		s.answer = ""
	}
	return s.keep(r, raw)
}

// call adds a call to the answer.
func (s *streamReader) call(r Record, id, name, arguments string, o *wire.Object, notes *pending) error {
	m := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: name, Arguments: arguments}}}
	return s.add(r, m, o, notes, "type", "status", "exit_code")
}

// result adds the result of a call.
func (s *streamReader) result(r Record, id, output string, failed bool) error {
	r.Parent = s.tip
	m := chat.ToolResult(id, output)
	m.IsError, s.answer = failed, ""
	return s.say(r, m, nil)
}

// add adds parts to the answer, or begins one. Of the object they were read from, fields that say nothing more are skipped.
func (s *streamReader) add(r Record, m chat.Message, o *wire.Object, notes *pending, skip ...string) error {
	delta := o.Flag("delta")
	o.Skip(skip...)
	notes.rest("", o)
	if err := o.Err(); err != nil {
		return err
	}
	if s.answer != "" {
		if before := s.get(s.answer).Body.(entry.Message).Content; delta && len(before) > 0 && len(m.Content) == 1 {
			if text, ok := before[len(before)-1].(chat.Text); ok { // the text goes on
				before[len(before)-1], m.Content = text+m.Content[0].(chat.Text), nil
			}
		}
		s.join(s.answer, m)
		return nil
	}
	if !s.said {
		s.note(r.Line, NoPlace, "the user's message, which the stream does not have")
		if err := s.say(Record{Line: r.Line, Recorded: "prompt", Entry: entry.Entry{Parent: s.tip}}, chat.UserMessage(noPrompt), nil); err != nil {
			return err
		}
	}
	r.Parent, s.said = s.tip, true
	if err := s.say(r, m, nil); err != nil {
		return fmt.Errorf("%s: %w", r.Recorded, err)
	}
	s.answer, s.latest = s.tip, s.tip
	return nil
}

// noPrompt stands for what a user said, because no provider takes a conversation that begins with an answer.
const noPrompt = "(The recording does not have the user's message.)"
