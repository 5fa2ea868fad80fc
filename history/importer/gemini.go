package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// geminiReader reads the chats of Gemini CLI (google-gemini/gemini-cli, versions 0.1 to 0.49): one JSON document or, in
// newer versions, lines: what is known of the session, then messages, of which the last of an id counts, changes of what is
// known ($set, also of all messages) and rewinds ($rewindTo). A message holds the results of its calls.
type geminiReader struct {
	*builder
	messages []*geminiMessage
	latest   map[string]*geminiMessage // by id
	path     []*geminiMessage          // of the conversation
	answered map[string]bool           // ids of calls
}

// geminiMessage is a message, read when all its versions are known.
type geminiMessage struct {
	id     string
	after  *geminiMessage
	number int
	raw    json.RawMessage
	last   string // the record that the next message follows
}

func (g *geminiReader) line(number int, o *object, raw []byte) error {
	switch {
	case o.is("$rewindTo", kindText):
		g.cut(o.peek("$rewindTo"))
		return nil
	case o.is("$set", kindObject):
		set := o.object("$set")
		if set.err == nil && set.is("messages", kindList) {
			path := g.path
			g.path = nil
			return g.each(set.raw("messages"), number, "messages", g.skip, func(line int, o *object, raw json.RawMessage) error {
				return g.message(line, o, raw, path)
			})
		}
		return set.err
	case o.is("sessionId", kindText) && !o.is("type", kindText):
		var messages json.RawMessage
		if o.given("messages") {
			messages = o.field("messages", kindList)
		}
		if g.rec.Header.From == "" {
			g.rec.Header = entry.Header{From: o.peek("sessionId"), Time: o.time("startTime")}
			g.rec.Header.Data = o.remainder()
		}
		if messages == nil {
			return o.err
		}
		return g.each(messages, number, "messages", g.skip, func(line int, o *object, raw json.RawMessage) error {
			return g.message(line, o, raw, nil)
		})
	}
	return g.message(number, o, raw, nil)
}

// cut leaves the path before the message with an id, or empty without one.
func (g *geminiReader) cut(id string) {
	for i, m := range g.path {
		if m.id == id {
			g.path = g.path[:i:i]
			return
		}
	}
	g.path = nil
}

// message takes a message, or a new version of one. before is the path that a list of all messages replaces.
func (g *geminiReader) message(number int, o *object, raw json.RawMessage, before []*geminiMessage) error {
	id := o.text("id")
	if o.err != nil {
		return o.err
	}
	same := g.latest[id]
	if at := len(g.path); before != nil {
		if at >= len(before) || before[at] != same || at > 0 && g.path[at-1] != before[at-1] {
			same = nil
		}
	}
	if before == nil && !slices.Contains(g.path, same) { // it was rewound
		same = nil
	}
	if same != nil {
		same.raw = clone(raw)
		if before != nil {
			g.path = append(g.path, same)
		}
		return nil
	}
	m := &geminiMessage{id: id, number: number, raw: clone(raw)}
	if n := len(g.path); n > 0 {
		m.after = g.path[n-1]
	}
	g.path, g.latest[id], g.messages = append(g.path, m), m, append(g.messages, m)
	return nil
}

func (g *geminiReader) finish() error {
	for _, m := range g.messages {
		if m.after != nil {
			m.last = m.after.last
		}
		if err := g.take(m.number, g.skip, func() error { return g.add(m) }); err != nil {
			return err
		}
	}
	if n := len(g.path); n > 0 {
		g.rec.Leaf = g.path[n-1].last
	}
	return nil
}

// add adds the records of a message.
func (g *geminiReader) add(m *geminiMessage) error {
	o, err := parseObject(m.raw)
	if err != nil {
		return err
	}
	r := Record{Line: m.number, Recorded: o.text("type"), Entry: entry.Entry{Parent: m.last, Time: o.time("timestamp")}}
	if o.err != nil {
		return o.err
	}
	if !g.has(m.id) {
		r.ID = m.id
	}
	var notes pending
	said := chat.Message{Role: chat.RoleUser}
	delete(o.fields, "id")
	switch r.Recorded {
	case "user":
	case "gemini":
		said.Role = chat.RoleAssistant
	case "info", "warning", "error": // for the user only
		return g.keep(r, m.raw)
	default:
		g.note(m.number, Unknown, r.Recorded)
		return g.keep(r, m.raw)
	}
	var results []chat.Message
	if o.given("thoughts") {
		o.each("thoughts", func(t *object, _ json.RawMessage) error {
			text := strings.TrimSpace(t.optionalText("subject") + "\n" + t.optionalText("description"))
			t.time("timestamp")
			appendThinking(&said, chat.Thinking{Text: text}, "thoughts", &notes)
			notes.rest("thoughts", t)
			return t.err
		})
	}
	err = geminiParts(o, "content", func(p *object, raw json.RawMessage) error {
		if p.is("functionResponse", kindObject) {
			result := chat.Message{Role: chat.RoleTool}
			if err := geminiResult(&result, p, &notes); err != nil {
				return err
			}
			results = append(results, result)
			return nil
		}
		return geminiPart(&said, p, raw, &notes)
	})
	if err != nil {
		return err
	}
	if o.given("toolCalls") {
		o.each("toolCalls", func(call *object, _ json.RawMessage) error {
			c := chat.ToolCall{ID: call.text("id"), Name: call.text("name"), Arguments: cmp.Or(call.compact("args"), "{}")}
			status := call.optionalText("status")
			result := chat.Message{Role: chat.RoleTool, ToolCallID: c.ID, IsError: status == "error" || status == "cancelled"}
			call.time("timestamp")
			given := call.given("result")
			err := geminiParts(call, "result", func(p *object, raw json.RawMessage) error {
				if p.is("functionResponse", kindObject) {
					return geminiResult(&result, p, &notes)
				}
				return geminiPart(&result, p, raw, &notes)
			})
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(said.ToolCalls, func(other chat.ToolCall) bool { return other.ID == c.ID }); i >= 0 { // the content has it too
				c.Signature = said.ToolCalls[i].Signature
				said.ToolCalls = slices.Delete(said.ToolCalls, i, i+1)
			}
			said.ToolCalls = append(said.ToolCalls, c)
			if given {
				results = append(results, result)
			}
			notes.rest("toolCalls", call)
			return call.err
		})
	}
	model := o.optionalText("model")
	if o.given("tokens") {
		t := o.object("tokens")
		r.Usage = chat.Usage{Input: t.count("input") + t.count("tool"), Output: t.count("output") + t.count("thoughts"), CacheRead: t.count("cached")}
		notes.rest("tokens", t)
	}
	if o.err != nil {
		return o.err
	}
	if r, err = g.answeredBy(r, "google", model); err != nil {
		return err
	}
	if len(said.Content) > 0 || len(said.ToolCalls) > 0 || len(results) == 0 {
		if err := g.say(r, said, o.remainder()); err != nil {
			return err
		}
		m.last = g.tip
	}
	r.Parent = m.last
	results = slices.DeleteFunc(results, func(result chat.Message) bool {
		twice := g.answered[result.ToolCallID]
		if g.answered[result.ToolCallID] = true; twice {
			notes.add(Repeated, "functionResponse")
		}
		return twice
	})
	if r, err = g.sayAll(r, results); err != nil {
		return err
	}
	m.last = r.Parent
	g.noteAll(m.number, notes)
	return nil
}

// geminiParts calls f for each part of a field: a text, a part, or a list of both.
func geminiParts(o *object, field string, f func(p *object, raw json.RawMessage) error) error {
	raw := o.raw(field)
	if raw == nil {
		return nil
	}
	list := []json.RawMessage{raw}
	if kind(raw) == kindList {
		list = nil
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	if len(list) > maxItems {
		return fmt.Errorf("%s: more than %d parts", field, maxItems)
	}
	for i, raw := range list {
		p := &object{fields: map[string]json.RawMessage{"text": raw}}
		var err error
		if kind(raw) != kindText {
			p, err = parseObject(raw)
		}
		if err == nil {
			err = f(p, raw)
		}
		if err != nil {
			return fmt.Errorf("%s: part %d: %w", field, i, err)
		}
	}
	return nil
}

// geminiPart reads a part of Gemini's API.
func geminiPart(m *chat.Message, p *object, raw json.RawMessage, notes *pending) error {
	signature := p.optionalText("thoughtSignature")
	switch {
	case p.is("text", kindText) && p.flag("thought"):
		appendThinking(m, chat.Thinking{Text: p.text("text"), Signature: signature}, "content.thought", notes)
	case p.is("text", kindText):
		appendText(m, p.text("text"), "content.text", notes)
		if signature != "" {
			notes.add(NoPlace, "content.thoughtSignature")
		}
	case p.is("inlineData", kindObject):
		d := p.object("inlineData")
		m.Content = append(m.Content, d.media())
		notes.rest("content.inlineData", d)
	case p.is("functionCall", kindObject) && m.Role == chat.RoleAssistant:
		c := p.object("functionCall")
		call := chat.ToolCall{ID: c.text("id"), Name: c.text("name"), Arguments: cmp.Or(c.compact("args"), "{}"), Signature: signature}
		m.ToolCalls = append(m.ToolCalls, call)
	default:
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	notes.rest("content", p)
	return p.err
}

// geminiResult reads the answer of a function: its output or error, or else all of it as JSON, and its media.
func geminiResult(m *chat.Message, p *object, notes *pending) error {
	f := p.object("functionResponse")
	if m.ToolCallID == "" {
		m.ToolCallID = f.text("id")
	} else if id := f.peek("id"); id == m.ToolCallID {
		delete(f.fields, "id")
	}
	delete(f.fields, "name") // the call has it
	if f.is("response", kindObject) {
		whole := f.fields["response"]
		response := f.object("response")
		for _, field := range []string{"output", "error"} {
			if response.is(field, kindText) && len(response.rest()) == 1 {
				m.IsError = m.IsError || field == "error"
				appendText(m, response.text(field), "functionResponse.response."+field, notes)
				whole = nil
			}
		}
		if whole != nil {
			m.Content = append(m.Content, chat.Text(compacted(whole)))
		}
	}
	if p.err != nil {
		return p.err
	}
	err := geminiParts(f, "parts", func(p *object, raw json.RawMessage) error { return geminiPart(m, p, raw, notes) })
	notes.rest("functionResponse", f)
	notes.rest("", p)
	return err
}
