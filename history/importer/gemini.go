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

func isGemini(o *wire.Object) bool {
	return o.Is("sessionId", wire.KindText) && o.Is("projectHash", wire.KindText)
}

func newGemini(b *builder) format {
	return &geminiReader{builder: b, latest: map[string]*geminiMessage{}, answered: map[string][]*geminiMessage{}}
}

// geminiMessage is a message, read when all its versions are known.
type geminiMessage struct {
	item
	id    string
	after *geminiMessage
	last  string // the record that the next message follows
}

func (g *geminiReader) line(o *wire.Object) {
	switch {
	case o.Is("$rewindTo", wire.KindText):
		g.cut(o.Peek("$rewindTo"))
	case o.Is("$set", wire.KindObject):
		set := o.Object("$set")
		if set.Is("messages", wire.KindList) {
			path := g.path
			g.path = nil
			g.each(set.Raw("messages"), "messages", g.skip, func(o *wire.Object) { g.message(o, path) })
		}
	case o.Is("sessionId", wire.KindText) && !o.Is("type", wire.KindText):
		messages := o.Raw("messages")
		if g.rec.Header.From == "" {
			g.rec.Header = entry.Header{From: o.Peek("sessionId"), Time: o.Time("startTime")}
			g.rec.Header.Data = o.Remainder()
		}
		g.each(messages, "messages", g.skip, func(o *wire.Object) { g.message(o, nil) })
	default:
		g.message(o, nil)
	}
}

// cut leaves the path before the message with an id, or empty without one.
func (g *geminiReader) cut(id string) {
	if i := slices.IndexFunc(g.path, func(m *geminiMessage) bool { return m.id == id }); i >= 0 {
		g.path = g.path[:i:i]
	} else {
		g.path = nil
	}
}

// message takes a message, or a new version of one. before is the path that a list of all messages replaces.
func (g *geminiReader) message(o *wire.Object, before []*geminiMessage) {
	id := o.Text("id")
	if o.Err() != nil {
		return
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
		same.Object = o
		if before != nil {
			g.path = append(g.path, same)
		}
		return
	}
	m := &geminiMessage{id: id, item: item{number: g.at, Object: o}}
	if n := len(g.path); n > 0 {
		m.after = g.path[n-1]
	}
	g.path, g.latest[id], g.messages = append(g.path, m), m, append(g.messages, m)
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

func (g *geminiReader) finish() {
	for _, m := range g.messages {
		if m.after != nil {
			m.last = m.after.last
		}
		if err := g.take(m.item, g.skip, func() { g.record(m) }); err != nil {
			g.fail(err)
			return
		}
	}
	if n := len(g.path); n > 0 {
		g.rec.Leaf = g.path[n-1].last
	}
}

// record adds the records of a message.
func (g *geminiReader) record(m *geminiMessage) {
	o := m.Object
	r := Record{Recorded: o.Text("type"), Entry: entry.Entry{Parent: m.last, Time: o.Time("timestamp")}}
	if !g.has(m.id) {
		r.ID = m.id
	}
	said := chat.Message{Role: chat.RoleUser}
	switch r.Recorded {
	case "user":
	case "gemini":
		said.Role = chat.RoleAssistant
	default:
		if !slices.Contains([]string{"info", "warning", "error"}, r.Recorded) { // for the user only
			g.note(noteUnknown, r.Recorded)
		}
		g.keep(r, o.Source())
		return
	}
	optional(o, "thoughts", func(t *wire.Object) {
		text := strings.TrimSpace(t.OptionalText("subject") + "\n" + t.OptionalText("description"))
		t.Time("timestamp")
		g.thought(&said, chat.Thinking{Text: text}, "thoughts")
		g.rest("thoughts", t)
	})
	d := g.parts(o, "content", said.Role == chat.RoleAssistant)
	results := d.Results
	for i := range results {
		if results[i].Name = ""; results[i].ToolCallID == "" { // the call has the name
			o.Fail(errors.New("content: functionResponse: id is missing"))
		}
	}
	said.Content, said.ToolCalls = append(said.Content, d.Content...), d.ToolCalls
	optional(o, "toolCalls", func(call *wire.Object) {
		if result, given := g.call(&said, call); given {
			results = append(results, result)
		}
	})
	model := o.OptionalText("model")
	if o.Given("tokens") {
		t := o.Object("tokens")
		r.Usage = geminiUsage.read(t)
		r.Usage.Input += t.Count("tool")
		g.rest("tokens", t)
	}
	if o.Err() != nil {
		return
	}
	r = g.answeredBy(r, "google", model)
	if len(said.Content) > 0 || len(said.ToolCalls) > 0 || len(results) == 0 {
		g.say(r, said, o.Remainder())
		m.last = g.tip
	}
	r.Parent = m.last
	results = slices.DeleteFunc(results, func(result chat.Message) bool {
		twice := slices.ContainsFunc(g.answered[result.ToolCallID], m.behind)
		if g.answered[result.ToolCallID] = append(g.answered[result.ToolCallID], m); twice {
			g.note(noteRepeated, "functionResponse")
		}
		return twice
	})
	m.last = g.sayAll(r, results).Parent
}

// call adds a call to an answer, and returns its result, if it is given.
func (g *geminiReader) call(said *chat.Message, call *wire.Object) (result chat.Message, given bool) {
	c := chat.ToolCall{ID: call.Text("id"), Name: call.Text("name"), Arguments: cmp.Or(call.Compact("args"), "{}")}
	status := call.OptionalText("status")
	result = chat.Message{Role: chat.RoleTool, ToolCallID: c.ID, IsError: status == "error" || status == "cancelled"}
	call.Time("timestamp")
	given = call.Given("result")
	answer := g.parts(call, "result", false)
	own := slices.ContainsFunc(answer.Results, func(m chat.Message) bool { return m.ToolCallID == c.ID })
	for _, m := range answer.Results {
		if own && m.ToolCallID != c.ID { // the recorder stores the results of all calls with each
			g.note(noteRepeated, "functionResponse")
			continue
		}
		if m.ToolCallID != "" && m.ToolCallID != c.ID {
			g.note(noteNoPlace, "functionResponse.id")
		}
		result.IsError, result.Content = result.IsError || m.IsError, append(result.Content, m.Content...)
	}
	result.Content = append(result.Content, answer.Content...)
	if i := slices.IndexFunc(said.ToolCalls, func(other chat.ToolCall) bool { return other.ID == c.ID }); i >= 0 { // the content has it too
		c.Signature = said.ToolCalls[i].Signature
		said.ToolCalls = slices.Delete(said.ToolCalls, i, i+1)
	}
	said.ToolCalls = append(said.ToolCalls, c)
	g.rest("toolCalls", call)
	return result, given
}

// parts reads a field of parts: a text, a part, or a list of both.
func (g *geminiReader) parts(o *wire.Object, field string, model bool) *contents.Decoder {
	d := &contents.Decoder{Model: model}
	raw := o.Raw(field)
	if raw == nil {
		return d
	}
	list := []json.RawMessage{raw}
	if wire.KindOf(raw) == wire.KindList {
		var err error
		if list, err = wire.Values(raw); err != nil {
			o.Fail(fmt.Errorf("%s: %w", field, err))
		}
	}
	for i, raw := range list {
		if wire.KindOf(raw) == wire.KindText {
			d.Text(wire.Of("text", raw).Text("text"))
		} else if p, err := wire.Parse(raw); err != nil {
			d.Malformed = err
		} else {
			d.Part(p)
		}
		if d.Malformed != nil {
			o.Fail(fmt.Errorf("%s: part %d: %w", field, i, d.Malformed))
			break
		}
	}
	g.left(d.Left)
	return d
}
