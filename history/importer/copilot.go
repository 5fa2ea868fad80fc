package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// copilotReader reads the events.jsonl of the GitHub Copilot CLI (versions 0.0.369 to 1.0; github/copilot-sdk describes its
// events): lines of a type, an id, the id of the event before and data. What a subagent says is a sidechain for each call
// that started one. Events for the user's interface are noted aside.
type copilotReader struct {
	*builder
	after   map[string]string     // by event: the record of the conversation that the next one follows
	side    map[string]string     // by call of a subagent: its last record
	calls   map[string]string     // ids of calls, and the subagent that made them
	answers map[string]string     // by id of a request, and "" for the last: the answer
	waiting map[string]chat.Usage // by id of a request: usage before its answer
	thought map[string]string     // by subagent: thinking before its answer
}

func newCopilot(b *builder) *copilotReader {
	return &copilotReader{
		builder: b, after: map[string]string{}, side: map[string]string{}, calls: map[string]string{}, answers: map[string]string{},
		waiting: map[string]chat.Usage{}, thought: map[string]string{},
	}
}

func isCopilot(o *object) bool {
	return o.is("type", kindText) && o.is("data", kindObject) && o.is("id", kindText) && o.is("timestamp", kindText) && !o.is("payload", kindObject) &&
		(o.given("parentId") || o.peek("type") == "session.start")
}

func (c *copilotReader) link(o *object) (id, parent string) { return o.peek("id"), o.peek("parentId") }

func (c *copilotReader) line(number int, o *object, raw []byte) error {
	r := Record{Line: number, Recorded: o.text("type")}
	r.ID, r.Time = o.text("id"), o.time("timestamp")
	parent := o.optionalText("parentId")
	d := o.object("data")
	if o.err != nil {
		return o.err
	}
	if _, twice := c.after[r.ID]; twice {
		c.note(number, Repeated, "id")
		r.Parent = c.after[r.ID]
		return c.keep(r, raw)
	}
	var ok bool
	if r.Parent, ok = c.after[parent]; !ok && parent != "" {
		r.Parent = c.rec.Leaf
		c.note(number, Unlinked, "parentId")
	}
	main, id, agent := r.Parent, r.ID, d.peek("parentToolCallId")
	if agent == "" {
		agent = o.peek("agentId")
	}
	of, called := c.calls[d.peek("toolCallId")]
	if called && r.Recorded == "tool.execution_complete" {
		agent = of
	}
	if agent != "" {
		r.Parent, r.Sidechain = c.side[agent], true
	}
	var notes pending
	records := len(c.rec.Records)
	if err := c.event(&r, agent, d, raw, &notes); err != nil || o.err != nil {
		return cmp.Or(o.err, err)
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
	c.noteAll(number, notes)
	return nil
}

// event reads an event; agent is the call of the subagent that it is of, "" for none.
func (c *copilotReader) event(r *Record, agent string, d *object, raw []byte, notes *pending) (err error) {
	switch r.Recorded {
	case "session.start":
		if c.rec.Header.From == "" {
			c.rec.Header = entry.Header{From: d.peek("sessionId"), Time: d.time("startTime"), Data: clone(raw)}
			if version := d.count("version"); version > 1 {
				notes.add(Later, fmt.Sprint("version ", version))
			}
			_, err = c.answeredBy(Record{Line: r.Line, Recorded: r.Recorded, Entry: entry.Entry{Parent: r.Parent, Time: r.Time}}, "", d.peek("selectedModel"))
			return err
		}
	case "session.model_change":
		if c.model = d.optionalText("newModel"); c.model != "" {
			r.Body = entry.ModelChange{Model: c.model}
			notes.rest("session.model_change", d)
			return c.add(*r)
		}
	case "user.message":
		return c.user(r, d, notes)
	case "assistant.message":
		return c.answer(r, agent, d, notes)
	case "assistant.reasoning":
		c.thought[agent] += d.optionalText("content")
	case "assistant.usage":
		return c.usage(r, d, raw)
	case "tool.execution_complete":
		if _, called := c.calls[d.peek("toolCallId")]; called {
			return c.result(r, d, notes)
		}
		notes.add(Unlinked, "toolCallId")
	case "session.compaction_complete":
		if summary := d.peek("summaryContent"); summary != "" {
			r.Body = entry.Compaction{
				Messages: []chat.Message{summaryMessage(summary)}, TokensBefore: d.count("preCompactionTokens"), TokensAfter: d.count("postCompactionTokens"),
				Summary: entry.Summary{Text: d.text("summaryContent"), Data: d.remainder()},
			}
			return c.add(*r)
		}
	case "system.message":
		r.Body = entry.Custom{Name: "system", Data: clone(raw)}
		return c.add(*r)
	default:
		if family, _, _ := strings.Cut(r.Recorded, "."); !copilotAside[r.Recorded] && !copilotAside[family] {
			notes.add(Unknown, r.Recorded)
		}
	}
	return c.keep(*r, raw)
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
func (c *copilotReader) user(r *Record, d *object, notes *pending) error {
	m := chat.Message{Role: chat.RoleUser}
	text := d.peek("transformedContent")
	if text != "" {
		delete(d.fields, "transformedContent")
	} else {
		text = d.text("content")
	}
	appendText(&m, text, "user.message.content", notes)
	if raw := d.fields["attachments"]; d.is("attachments", kindList) {
		err := eachObject(raw, func(a *object, _ json.RawMessage) error {
			if a.peek("type") == "blob" && a.is("data", kindText) && a.is("mimeType", kindText) {
				m.Content = append(m.Content, a.media())
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("attachments: %w", err)
		}
	}
	if d.err != nil {
		return d.err
	}
	return c.say(*r, m, d.remainder())
}

// answer reads an answer, or a further part of the one before.
func (c *copilotReader) answer(r *Record, agent string, d *object, notes *pending) error {
	m := chat.Message{Role: chat.RoleAssistant}
	thinking := chat.Thinking{Text: d.optionalText("reasoningText"), Signature: d.optionalText("reasoningOpaque")}
	if before := c.thought[agent]; before != "" && thinking.Text == "" {
		thinking.Text = before
	}
	delete(c.thought, agent)
	if thinking.Text == "" {
		thinking = chat.Thinking{Encrypted: thinking.Signature}
	}
	if encrypted := d.optionalText("encryptedContent"); encrypted != "" {
		thinking.Encrypted = encrypted
	}
	if thinking != (chat.Thinking{}) {
		m.Content = append(m.Content, thinking)
	}
	if text := d.optionalText("content"); text != "" {
		m.Content = append(m.Content, chat.Text(text))
	}
	if d.given("toolRequests") {
		d.each("toolRequests", func(t *object, _ json.RawMessage) error {
			call := chat.ToolCall{ID: t.text("toolCallId"), Name: t.text("name")}
			if t.is("arguments", kindText) { // of a tool that takes a text
				if call.Arguments = t.text("arguments"); !json.Valid([]byte(call.Arguments)) {
					call.Arguments = inputJSON(call.Arguments)
				}
			} else {
				call.Arguments = cmp.Or(t.compact("arguments"), "{}")
			}
			c.calls[call.ID] = agent
			m.ToolCalls = append(m.ToolCalls, call)
			notes.rest("toolRequests", t)
			return t.err
		})
	}
	request, id, model := d.peek("apiCallId"), d.peek("messageId"), d.peek("model")
	if d.err != nil {
		return d.err
	}
	if before := c.get(c.answers["message "+id]); id != "" && before != nil && before.ID == r.Parent {
		c.join(before.ID, m)
		return nil
	}
	if agent == "" {
		var err error
		if *r, err = c.answeredBy(*r, "", model); err != nil {
			return err
		}
	}
	if err := c.say(*r, m, d.remainder()); err != nil {
		return err
	}
	answer := c.get(c.tip)
	for _, name := range []string{request, ""} {
		if u, ok := c.waiting[name]; ok {
			answer.Usage = u
			delete(c.waiting, name)
		}
		c.answers[name] = answer.ID
	}
	c.answers["message "+id] = answer.ID
	return nil
}

// usage reads what a request took. It belongs to the answer of the same request, or else to the last answer without
// usage, or to the next one.
func (c *copilotReader) usage(r *Record, d *object, raw []byte) error {
	u := chat.Usage{
		Input: d.count("inputTokens"), Output: d.count("outputTokens"), CacheRead: d.count("cacheReadTokens"), CacheWrite: d.count("cacheWriteTokens"),
	}
	if u.Input < u.CacheRead+u.CacheWrite { // counted without what was cached
		u.Input += u.CacheRead + u.CacheWrite
	}
	if d.err != nil {
		return d.err
	}
	request := d.peek("apiCallId")
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
	return c.keep(*r, raw)
}

// result reads a result as the model was shown it.
func (c *copilotReader) result(r *Record, d *object, notes *pending) error {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: d.text("toolCallId"), IsError: !d.flag("success")}
	if d.is("result", kindObject) {
		result := d.object("result")
		appendText(&m, result.optionalText("content"), "result.content", notes)
		if result.given("binaryResultsForLlm") {
			result.each("binaryResultsForLlm", func(b *object, _ json.RawMessage) error {
				if !b.is("data", kindText) || !b.is("mimeType", kindText) {
					notes.add(NoPlace, "result.binaryResultsForLlm")
					return nil
				}
				m.Content = append(m.Content, b.media())
				notes.rest("result.binaryResultsForLlm", b)
				return b.err
			})
		}
		d.put("result", result.remainder())
	}
	if d.is("error", kindObject) && len(m.Content) == 0 {
		failure := d.object("error")
		appendText(&m, failure.optionalText("message"), "error.message", notes)
		d.put("error", failure.remainder())
	}
	if d.err != nil {
		return d.err
	}
	return c.say(*r, m, d.remainder())
}

func (c *copilotReader) finish() error { return nil }
