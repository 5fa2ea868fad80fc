package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/contents"
)

// geminiReader reads the chats of Gemini CLI (google-gemini/gemini-cli, versions 0.1 to 0.49): one JSON document or, in
// newer versions, lines: what is known of the session, then messages, of which the last of an id counts, changes of what is
// known ($set, also of all messages) and rewinds ($rewindTo). A message holds the results of its calls.
type geminiReader struct {
	*builder
	messages []*geminiMessage
	latest   map[string]*geminiMessage   // by id
	path     []*geminiMessage            // of the conversation
	answered map[string][]*geminiMessage // by id of a call
}

// geminiMessage is a message, read when all its versions are known.
type geminiMessage struct {
	id     string
	after  *geminiMessage
	number int
	raw    json.RawMessage
	last   string // the record that the next message follows
}

func (g *geminiReader) line(number int, o *wire.Object, raw []byte) error {
	switch {
	case o.Is("$rewindTo", wire.KindText):
		g.cut(o.Peek("$rewindTo"))
		return nil
	case o.Is("$set", wire.KindObject):
		set := o.Object("$set")
		if set.Err() == nil && set.Is("messages", wire.KindList) {
			path := g.path
			g.path = nil
			return g.each(set.Raw("messages"), number, "messages", g.skip, func(line int, o *wire.Object, raw json.RawMessage) error {
				return g.message(line, o, raw, path)
			})
		}
		return set.Err()
	case o.Is("sessionId", wire.KindText) && !o.Is("type", wire.KindText):
		var messages json.RawMessage
		if o.Given("messages") {
			messages = o.Field("messages", wire.KindList)
		}
		if g.rec.Header.From == "" {
			g.rec.Header = entry.Header{From: o.Peek("sessionId"), Time: o.Time("startTime")}
			g.rec.Header.Data = o.Remainder()
		}
		if messages == nil {
			return o.Err()
		}
		return g.each(messages, number, "messages", g.skip, func(line int, o *wire.Object, raw json.RawMessage) error {
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
func (g *geminiReader) message(number int, o *wire.Object, raw json.RawMessage, before []*geminiMessage) error {
	id := o.Text("id")
	if o.Err() != nil {
		return o.Err()
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

// behind reports whether a message is another, or follows it.
func (m *geminiMessage) behind(other *geminiMessage) bool {
	for ; m != nil; m = m.after {
		if m == other {
			return true
		}
	}
	return false
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
	o, err := wire.Parse(m.raw)
	if err != nil {
		return err
	}
	r := Record{Line: m.number, Recorded: o.Text("type"), Entry: entry.Entry{Parent: m.last, Time: o.Time("timestamp")}}
	if o.Err() != nil {
		return o.Err()
	}
	if !g.has(m.id) {
		r.ID = m.id
	}
	var notes pending
	said := chat.Message{Role: chat.RoleUser}
	o.Skip("id")
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
	if o.Given("thoughts") {
		o.Each("thoughts", func(t *wire.Object) error {
			text := strings.TrimSpace(t.OptionalText("subject") + "\n" + t.OptionalText("description"))
			t.Time("timestamp")
			appendThinking(&said, chat.Thinking{Text: text}, "thoughts", &notes)
			notes.rest("thoughts", t)
			return t.Err()
		})
	}
	d, err := geminiParts(o, "content", said.Role == chat.RoleAssistant, &notes)
	if err != nil {
		return err
	}
	results := d.Results
	for i := range results {
		if results[i].Name = ""; results[i].ToolCallID == "" { // the call has the name
			return errors.New("content: functionResponse: id is missing")
		}
	}
	said.Content, said.ToolCalls = append(said.Content, d.Content...), d.ToolCalls
	if o.Given("toolCalls") {
		o.Each("toolCalls", func(call *wire.Object) error {
			c := chat.ToolCall{ID: call.Text("id"), Name: call.Text("name"), Arguments: cmp.Or(call.Compact("args"), "{}")}
			status := call.OptionalText("status")
			result := chat.Message{Role: chat.RoleTool, ToolCallID: c.ID, IsError: status == "error" || status == "cancelled"}
			call.Time("timestamp")
			given := call.Given("result")
			answer, err := geminiParts(call, "result", false, &notes)
			if err != nil {
				return err
			}
			own := slices.ContainsFunc(answer.Results, func(m chat.Message) bool { return m.ToolCallID == c.ID })
			for _, m := range answer.Results {
				if own && m.ToolCallID != c.ID { // the recorder stores the results of all calls with each
					notes.add(Repeated, "functionResponse")
					continue
				}
				if m.ToolCallID != "" && m.ToolCallID != c.ID {
					notes.add(NoPlace, "functionResponse.id")
				}
				result.IsError, result.Content = result.IsError || m.IsError, append(result.Content, m.Content...)
			}
			result.Content = append(result.Content, answer.Content...)
			if i := slices.IndexFunc(said.ToolCalls, func(other chat.ToolCall) bool { return other.ID == c.ID }); i >= 0 { // the content has it too
				c.Signature = said.ToolCalls[i].Signature
				said.ToolCalls = slices.Delete(said.ToolCalls, i, i+1)
			}
			said.ToolCalls = append(said.ToolCalls, c)
			if given {
				results = append(results, result)
			}
			notes.rest("toolCalls", call)
			return call.Err()
		})
	}
	model := o.OptionalText("model")
	if o.Given("tokens") {
		t := o.Object("tokens")
		r.Usage = chat.Usage{Input: t.Count("input") + t.Count("tool"), Output: t.Count("output") + t.Count("thoughts"), CacheRead: t.Count("cached")}
		notes.rest("tokens", t)
	}
	if o.Err() != nil {
		return o.Err()
	}
	if r, err = g.answeredBy(r, "google", model); err != nil {
		return err
	}
	if len(said.Content) > 0 || len(said.ToolCalls) > 0 || len(results) == 0 {
		if err := g.say(r, said, o.Remainder()); err != nil {
			return err
		}
		m.last = g.tip
	}
	r.Parent = m.last
	results = slices.DeleteFunc(results, func(result chat.Message) bool {
		twice := slices.ContainsFunc(g.answered[result.ToolCallID], m.behind)
		if g.answered[result.ToolCallID] = append(g.answered[result.ToolCallID], m); twice {
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

// geminiParts reads a field of parts: a text, a part, or a list of both.
func geminiParts(o *wire.Object, field string, model bool, notes *pending) (*contents.Decoder, error) {
	d := &contents.Decoder{Model: model}
	raw := o.Raw(field)
	if raw == nil {
		return d, nil
	}
	list := []json.RawMessage{raw}
	if wire.KindOf(raw) == wire.KindList {
		var err error
		if list, err = wire.Values(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	for i, raw := range list {
		if wire.KindOf(raw) == wire.KindText {
			text := wire.Of("text", raw)
			d.Text(text.Text("text"))
			d.Malformed = text.Err()
		} else if p, err := wire.Parse(raw); err != nil {
			d.Malformed = err
		} else {
			d.Part(p)
		}
		if d.Malformed != nil {
			return nil, fmt.Errorf("%s: part %d: %w", field, i, d.Malformed)
		}
	}
	notes.left(d.Left)
	return d, nil
}
