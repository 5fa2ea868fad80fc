package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// copilotReader reads the events.jsonl of the GitHub Copilot CLI (versions 0.0.369 to 1.0; github/copilot-sdk describes its
// events): lines of a type, an id, the id of the event before and data. What a subagent says is a sidechain for each call
// that started one. Events for the user's interface are noted aside.
type copilotReader struct {
	*builder
	side    map[string]string     // by call of a subagent: its last record
	calls   map[string]string     // ids of calls, and the subagent that made them
	answers map[string]string     // by id of a request, and "" for the last: the answer
	waiting map[string]chat.Usage // by id of a request: usage before its answer
	said    map[string]string     // by subagent: thinking before its answer
}

func newCopilot(b *builder) format {
	return &copilotReader{
		builder: b, side: map[string]string{}, calls: map[string]string{}, answers: map[string]string{}, waiting: map[string]chat.Usage{},
		said: map[string]string{},
	}
}

func isCopilot(o *wire.Object) bool {
	return o.Is("type", wire.KindText) && o.Is("data", wire.KindObject) && o.Is("id", wire.KindText) && o.Is("timestamp", wire.KindText) && !o.Is("payload", wire.KindObject) &&
		(o.Given("parentId") || o.Peek("type") == "session.start")
}

func (c *copilotReader) link(o *wire.Object) (id, parent string) {
	return o.Peek("id"), o.Peek("parentId")
}

func (c *copilotReader) line(o *wire.Object) {
	r := Record{Recorded: o.Text("type")}
	r.ID, r.Time = o.Text("id"), o.Time("timestamp")
	parent := o.OptionalText("parentId")
	d := o.Object("data")
	if o.Err() != nil {
		return
	}
	if at, twice := c.after[r.ID]; twice {
		c.note(noteRepeated, "id")
		r.Parent = at
		c.keep(r, o.Source())
		return
	}
	r.Parent = c.follows(parent, c.rec.Leaf, "parentId")
	main, id, agent := r.Parent, r.ID, cmp.Or(d.Peek("parentToolCallId"), o.Peek("agentId"))
	of, called := c.calls[d.Peek("toolCallId")]
	if called && r.Recorded == "tool.execution_complete" {
		agent = of
	}
	if agent != "" {
		r.Parent, r.Sidechain = c.side[agent], true
	}
	records := len(c.rec.Records)
	if !c.event(r, agent, o, d) {
		c.keep(r, o.Source())
	}
	if o.Err() != nil {
		return
	}
	for _, added := range c.rec.Records[records:] {
		if added.Aside {
			continue
		}
		if agent != "" {
			c.side[agent] = added.ID
		} else {
			main = added.ID
		}
	}
	c.after[id] = main
	if agent == "" {
		c.rec.Leaf = main
	}
}

// event reads an event, and reports whether it is in a record. agent is the call of the subagent that it is of, "" for none.
func (c *copilotReader) event(r Record, agent string, o, d *wire.Object) bool {
	switch r.Recorded {
	case "session.start":
		if c.rec.Header.From == "" {
			if version := d.Count("version"); version > 1 {
				c.note(noteLater, fmt.Sprint("version ", version))
			}
			c.rec.Header = entry.Header{From: d.Peek("sessionId"), Time: d.Time("startTime"), Data: o.Source()}
			c.answeredBy(Record{Entry: entry.Entry{Parent: r.Parent, Time: r.Time}}, "", d.Peek("selectedModel"))
			return true
		}
	case "session.model_change":
		if c.model = d.OptionalText("newModel"); c.model != "" {
			c.rest("session.model_change", d)
			c.add(r, entry.ModelChange{Model: c.model})
			return true
		}
	case "user.message":
		c.user(r, d)
		return true
	case "assistant.message":
		c.answer(r, agent, d)
		return true
	case "assistant.reasoning":
		c.said[agent] += d.OptionalText("content")
	case "assistant.usage":
		c.usage(d)
	case "tool.execution_complete":
		if _, called := c.calls[d.Peek("toolCallId")]; called {
			c.result(r, d)
			return true
		}
		c.note(noteUnlinked, "toolCallId")
	case "session.compaction_complete":
		if summary := d.Peek("summaryContent"); summary != "" {
			c.add(r, entry.Compaction{
				Messages: []chat.Message{summaryMessage(summary)}, TokensBefore: d.Count("preCompactionTokens"), TokensAfter: d.Count("postCompactionTokens"),
				Summary: entry.Summary{Text: d.Text("summaryContent"), Data: d.Remainder()},
			})
			return true
		}
	case "system.message":
		c.custom(r, "system", o)
		return true
	default:
		if family, _, _ := strings.Cut(r.Recorded, "."); !copilotAside[r.Recorded] && !copilotAside[family] {
			c.note(noteUnknown, r.Recorded)
		}
	}
	return false
}

// copilotAside are the events, or all whose types start so, that report what is said elsewhere or what a user is shown.
var copilotAside = map[string]bool{
	"abort": true, "assistant.idle": true, "assistant.intent": true, "assistant.message_delta": true, "assistant.message_start": true,
	"assistant.reasoning_delta": true, "assistant.server_tool_progress": true, "assistant.streaming_delta": true,
	"assistant.tool_call_delta": true, "assistant.turn_end": true, "assistant.turn_start": true, "auto_mode_switch": true,
	"capabilities": true, "command": true, "commands": true, "elicitation": true, "exit_plan_mode": true, "external_tool": true,
	"factory": true, "hook": true, "mcp": true, "mcp_app": true, "model": true, "pending_messages": true, "permission": true,
	"sampling": true, "session": true, "session_limits_exhausted": true, "skill": true, "subagent": true, "system": true,
	"tool.execution_partial_result": true, "tool.execution_progress": true, "tool.execution_start": true, "tool.user_requested": true,
	"tool_search": true, "ui": true, "user_input": true,
}

// user reads what the user said, as the model was shown it.
func (c *copilotReader) user(r Record, d *wire.Object) {
	m := chat.Message{Role: chat.RoleUser}
	field := "content"
	if d.Peek("transformedContent") != "" {
		field = "transformedContent"
	}
	c.text(&m, d.Text(field), "user.message.content")
	if list := d.Look("attachments"); d.Is("attachments", wire.KindList) {
		d.Each("attachments", func(a *wire.Object) {
			if a.Peek("type") == "blob" && a.Is("data", wire.KindText) && a.Is("mimeType", wire.KindText) {
				m.Content = append(m.Content, mediaOf(a))
			}
		})
		d.Put("attachments", list)
	}
	c.say(r, m, d.Remainder())
}

// answer reads an answer, or a further part of the one before.
func (c *copilotReader) answer(r Record, agent string, d *wire.Object) {
	m := chat.Message{Role: chat.RoleAssistant}
	thinking := chat.Thinking{Text: d.OptionalText("reasoningText"), Signature: d.OptionalText("reasoningOpaque")}
	thinking.Text = cmp.Or(thinking.Text, c.said[agent])
	delete(c.said, agent)
	if thinking.Text == "" {
		thinking = chat.Thinking{Encrypted: thinking.Signature}
	}
	thinking.Encrypted = cmp.Or(d.OptionalText("encryptedContent"), thinking.Encrypted)
	if thinking != (chat.Thinking{}) {
		m.Content = append(m.Content, thinking)
	}
	if text := d.OptionalText("content"); text != "" {
		m.Content = append(m.Content, chat.Text(text))
	}
	optional(d, "toolRequests", func(t *wire.Object) {
		call := chat.ToolCall{ID: t.Text("toolCallId"), Name: t.Text("name")}
		if t.Is("arguments", wire.KindText) { // of a tool that takes a text
			if call.Arguments = t.Text("arguments"); !json.Valid([]byte(call.Arguments)) {
				call.Arguments = inputJSON(call.Arguments)
			}
		} else {
			call.Arguments = cmp.Or(t.Compact("arguments"), "{}")
		}
		c.calls[call.ID] = agent
		m.ToolCalls = append(m.ToolCalls, call)
		c.rest("toolRequests", t)
	})
	request, message, model := d.Peek("apiCallId"), d.Peek("messageId"), d.Peek("model")
	if d.Err() != nil {
		return
	}
	if before := c.get(c.answers["message "+message]); message != "" && before != nil && before.ID == r.Parent {
		c.join(before.ID, m)
		return
	}
	if agent == "" {
		r = c.answeredBy(r, "", model)
	}
	c.say(r, m, d.Remainder())
	answer := c.get(c.tip)
	for _, name := range []string{request, ""} {
		if u, ok := c.waiting[name]; ok {
			answer.Usage = u
			delete(c.waiting, name)
		}
		c.answers[name] = answer.ID
	}
	c.answers["message "+message] = answer.ID
}

// usage reads what a request took. It belongs to the answer of the same request, or else to the last answer without
// usage, or to the next one.
func (c *copilotReader) usage(d *wire.Object) {
	u := copilotUsage.read(d)
	if u.Input < u.CacheRead+u.CacheWrite { // counted without what was cached
		u.Input += u.CacheRead + u.CacheWrite
	}
	if d.Err() != nil {
		return
	}
	request := d.Peek("apiCallId")
	answer := c.get(c.answers[request])
	if answer == nil && request != "" {
		if last := c.get(c.answers[""]); last != nil {
			var said struct{ APICallID string }
			_ = json.Unmarshal(last.Body.(entry.Message).Data, &said) // or it names none
			if said.APICallID == "" {
				answer = last
			}
		}
	}
	if answer != nil && answer.Usage == (chat.Usage{}) {
		answer.Usage = u
	} else {
		c.waiting[request] = u
	}
}

// result reads a result as the model was shown it.
func (c *copilotReader) result(r Record, d *wire.Object) {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: d.Text("toolCallId"), IsError: !d.Flag("success")}
	if d.Is("result", wire.KindObject) {
		result := d.Object("result")
		c.text(&m, result.OptionalText("content"), "result.content")
		optional(result, "binaryResultsForLlm", func(b *wire.Object) {
			if !b.Is("data", wire.KindText) || !b.Is("mimeType", wire.KindText) {
				c.note(noteNoPlace, "result.binaryResultsForLlm")
				return
			}
			m.Content = append(m.Content, mediaOf(b))
			c.rest("result.binaryResultsForLlm", b)
		})
		d.Put("result", result.Remainder())
	}
	if d.Is("error", wire.KindObject) && len(m.Content) == 0 {
		failure := d.Object("error")
		c.text(&m, failure.OptionalText("message"), "error.message")
		d.Put("error", failure.Remainder())
	}
	c.say(r, m, d.Remainder())
}

func (c *copilotReader) finish() {}
