package importer

import (
	"cmp"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// streamReader reads what agents print when no person is there: Gemini CLI with --output-format stream-json (0.11 and
// later), Claude Code with the same (1.0 and later), `codex exec --json` (0.44 and later) and `opencode run --format json`
// (1.0 and later). Where the user's message is missing a placeholder stands for it.
type streamReader struct {
	*builder
	answer string // the answer to which parts are added, "" if the next part begins one
	latest string // the last answer
	said   bool   // whether there is a message of the turn

	answers map[string]string // of Claude Code, by the provider's id of a message: the answer
	side    map[string]string // by call of a subagent: its last record
}

func isStream(o *wire.Object) bool { return streamFormat(o) != "" }

// streamFormat returns the format of a stream by its first line, "" if it is none.
func streamFormat(o *wire.Object) Program {
	switch typ := o.Peek("type"); {
	case slices.Contains([]string{"system", "user", "assistant"}, typ) && o.Is("session_id", wire.KindText):
		return formatClaudeCode
	case typ == "init" && o.Is("session_id", wire.KindText):
		return formatGemini
	case typ == "thread.started" && o.Is("thread_id", wire.KindText):
		return formatCodex
	case typ == "step_start" && o.Is("sessionID", wire.KindText) && o.Is("part", wire.KindObject):
		return formatOpencode
	}
	return ""
}

func (s *streamReader) line(o *wire.Object) {
	r := Record{Recorded: o.Peek("type"), Entry: entry.Entry{Parent: s.tip, Time: o.Time("timestamp")}}
	if s.rec.Header.Data == nil {
		s.rec.Format = streamFormat(o)
		s.rec.Header = entry.Header{From: cmp.Or(o.Peek("session_id"), o.Peek("thread_id"), o.Peek("sessionID")), Time: r.Time, Data: o.Source()}
		if s.rec.Format == formatGemini {
			s.answeredBy(r, "google", o.Peek("model"))
		}
		if r.Recorded != "user" && r.Recorded != "assistant" {
			return
		}
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
	if !s.event(r, what, part) {
		s.keep(r, o.Source())
	}
}

// event reads an event, or the item or part that it is about, and reports whether it is in a record.
func (s *streamReader) event(r Record, what string, o *wire.Object) bool {
	switch what {
	case "user", "assistant":
		s.claude(r, chat.Role(what), o)
	case "message":
		if o.Peek("role") == "user" {
			s.answer, s.said = "", true
			s.say(r, chat.UserMessage(o.Text("content")), nil)
		} else {
			s.add(r, chat.AssistantMessage(o.Text("content")), o)
		}
	case "agent_message", "text":
		s.add(r, chat.AssistantMessage(o.Text("text")), o)
	case "reasoning":
		s.add(r, chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: o.Text("text")}}}, o)
	case "tool_use":
		if !o.Is("state", wire.KindObject) {
			s.call(r, o.Text("tool_id"), o.Text("tool_name"), cmp.Or(o.Compact("parameters"), "{}"), o)
			return true
		}
		state := o.Object("state") // of opencode: with its result
		id, failed := o.Text("callID"), state.OptionalText("status") == "error"
		output := cmp.Or(state.OptionalText("output"), state.OptionalText("error"))
		s.call(r, id, o.Text("tool"), cmp.Or(state.Compact("input"), "{}"), o)
		s.rest("state", state)
		s.result(r, id, output, failed)
	case "tool_result":
		failed, output := o.OptionalText("status") == "error", cmp.Or(o.OptionalText("output"), o.Compact("error"))
		s.result(r, o.Text("tool_id"), output, failed)
	case "command_execution":
		id, output, status := o.Text("id"), o.OptionalText("aggregated_output"), o.OptionalText("status")
		failed := o.Given("exit_code") && o.Number("exit_code") != "0" || status == "failed"
		if status == "declined" { // it was not run
			failed, output = true, status
		}
		s.call(r, id, "shell", string(wire.Marshal(map[string]string{"command": o.Text("command")})), o)
		s.result(r, id, output, failed)
	case "file_change", "mcp_tool_call":
		id, status, failed := o.Text("id"), o.OptionalText("status"), o.Given("error")
		output := cmp.Or(o.Compact("result"), o.Compact("error"), status)
		arguments := cmp.Or(o.Compact("arguments"), o.Compact("changes"), "{}")
		if wire.KindOf([]byte(arguments)) != wire.KindObject {
			arguments = `{"changes":` + arguments + "}"
		}
		s.call(r, id, cmp.Or(o.OptionalText("tool"), what), arguments, o)
		s.result(r, id, output, failed || status == "failed")
	case "step_finish":
		if last := s.get(s.latest); last != nil && o.Is("tokens", wire.KindObject) {
			last.Usage, last.Cost = s.opencodeUsage(o)
		}
		s.answer, s.said = "", s.said && o.Peek("reason") != "stop"
		return false
	case "result", "turn.started": // what follows is of another turn
		s.answer, s.said = "", false
		return false
	default:
		return false
	}
	return true
}

// claude reads a message of Claude Code, which has a line for each block. What a subagent says is a sidechain.
func (s *streamReader) claude(r Record, role chat.Role, o *wire.Object) {
	m := o.Object("message")
	d, usage, id := s.blocks(role, m), s.anthropicUsage(m), m.Peek("id")
	d.Message.Origin.Model = m.Peek("model")
	agent := o.Peek("parent_tool_use_id")
	if o.Err() != nil {
		return
	}
	o.Put("message", m.Remainder())
	if before := s.get(s.answers[id]); id != "" && before != nil {
		s.join(before.ID, d.Message)
		before.Usage = cmp.Or(usage, before.Usage)
		return
	}
	if r.Sidechain = agent != ""; !r.Sidechain {
		s.begin(role)
		r.Parent = s.tip
	} else {
		r.Parent = s.side[agent]
	}
	main := s.tip
	r = s.sayAll(r, d.Results)
	if len(d.Results) == 0 || len(d.Message.Content) > 0 {
		r.Usage = usage
		s.say(r, d.Message, o.Remainder())
	}
	if s.answers[id] = s.tip; r.Sidechain {
		s.side[agent], s.tip = s.tip, main
	}
}

// begin is called before a message of a role is added. A turn begins with the user's.
func (s *streamReader) begin(role chat.Role) {
	if !s.said && role != chat.RoleUser {
		s.note(noteNoPlace, "the user's message, which the stream does not have")
		s.say(Record{Recorded: "prompt", Entry: entry.Entry{Parent: s.tip}}, chat.UserMessage(noPrompt), nil)
	}
	s.said = true
}

// call adds a call to the answer.
func (s *streamReader) call(r Record, id, name, arguments string, o *wire.Object) {
	s.add(r, chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: name, Arguments: arguments}}}, o)
}

// result adds the result of a call.
func (s *streamReader) result(r Record, id, output string, failed bool) {
	r.Parent = s.tip
	m := chat.ToolResult(id, output)
	m.IsError, s.answer = failed, ""
	s.say(r, m, nil)
}

// add adds parts to the answer, or begins one. Of the object they were read from, fields that say nothing more are skipped.
func (s *streamReader) add(r Record, m chat.Message, o *wire.Object) {
	delta := o.Flag("delta")
	o.Skip("role", "type", "delta", "status", "exit_code")
	if o.Err() != nil {
		return
	}
	s.begin(m.Role)
	s.rest("", o)
	if s.answer != "" {
		if before := s.get(s.answer).Body.(entry.Message).Content; delta && len(before) > 0 && len(m.Content) == 1 {
			text, ok := before[len(before)-1].(chat.Text)
			if more, is := m.Content[0].(chat.Text); ok && is { // the text goes on
				before[len(before)-1], m.Content = text+more, nil
			}
		}
		s.join(s.answer, m)
		return
	}
	r.Parent = s.tip
	s.say(r, m, nil)
	s.answer, s.latest = s.tip, s.tip
}

// noPrompt stands for what a user said, because no provider takes a conversation that begins with an answer.
const noPrompt = "(The recording does not have the user's message.)"
