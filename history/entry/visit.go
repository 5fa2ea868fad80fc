package entry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// visitor walks through the texts of an entry, or of a header, and replaces them. It changes a copy.
type visitor struct {
	// show returns the replacement for a text. It may be nil.
	show func(Passage) string
	// value returns the replacement for a JSON value. By default, show is called with each string, number and key in
	// it.
	value func(path string, value []byte) []byte
	// changed is called with the path of each field that was changed. It may be nil.
	changed func(path string)
	kind    Type
	role    chat.Role
}

// header returns the visited header of a session.
func (v *visitor) header(h Header) Header {
	h.From = v.text("from", h.From)
	h.Data = v.json("data", h.Data)
	return h
}

// body returns the visited body.
func (v *visitor) body(body Body) Body {
	switch b := body.(type) {
	case Message:
		v.message("message", &b.Message)
		b.Data = v.json("message.data", b.Data)
		return b
	case Shell:
		b.Command = v.text("shell.command", b.Command)
		b.Output = v.text("shell.output", b.Output)
		b.Data = v.json("shell.data", b.Data)
		return b
	case CustomMessage:
		b.Content = v.parts("customMessage.content", b.Content)
		b.Data = v.json("customMessage.data", b.Data)
		return b
	case Compaction:
		b.Messages = each(b.Messages, "compaction.messages", v.message)
		b.Thinking = v.thinking("compaction.thinking", b.Thinking)
		b.Title, b.Doubt = v.text("compaction.title", b.Title), v.text("compaction.doubt", b.Doubt)
		b.Summary = v.summary("compaction", b.Summary)
		return b
	case BranchSummary:
		b.Summary = v.summary("branchSummary", b.Summary)
		return b
	case Custom:
		b.Name = v.text("custom.name", b.Name)
		b.Data = v.json("custom.data", b.Data)
		return b
	case Label:
		b.Text = v.text("label.text", b.Text)
		return b
	case Todos:
		b.Text = v.text("todos.text", b.Text)
		b.Items = each(b.Items, "todos.items", func(path string, t *Todo) {
			t.Text = v.text(path+".text", t.Text)
		})
		return b
	case Clearing:
		b.Results = each(b.Results, "clearing.results", func(path string, c *Cleared) {
			c.Text = v.text(path+".text", c.Text)
		})
		b.Arguments = each(b.Arguments, "clearing.arguments", func(path string, c *Cleared) {
			c.Text = v.arguments(path+".text", c.Text)
		})
		return b
	case Preamble:
		b.System = each(b.System, "preamble.system", v.message)
		b.Tools = each(b.Tools, "preamble.tools", func(path string, t *chat.Tool) {
			t.Description = v.text(path+".description", t.Description)
			t.Parameters = v.json(path+".parameters", t.Parameters)
		})
		return b
	case Plan:
		b.Instructions = v.text("plan.instructions", b.Instructions)
		b.Thinking = v.thinking("plan.thinking", b.Thinking)
		return b
	case PlanEnd:
		b.Error = v.text("planEnd.error", b.Error)
		b.Finished = each(b.Finished, "planEnd.finished", func(path string, a *SummaryAnswer) {
			a.Doubt, a.Text = v.text(path+".doubt", a.Doubt), v.text(path+".text", a.Text)
		})
		return b
	case Unknown:
		b.Line = v.unknown(b.Line)
		return b
	}
	return body // it holds only identifiers and counts
}

// each returns a copy of a list whose elements were visited, each with its path.
func each[T any](list []T, path string, visit func(path string, element *T)) []T {
	list = slices.Clone(list)
	for i := range list {
		visit(path+"["+strconv.Itoa(i)+"]", &list[i])
	}
	return list
}

func (v *visitor) message(path string, m *chat.Message) {
	v.role = m.Role
	m.Name = v.text(path+".name", m.Name)
	m.Content = v.parts(path+".content", m.Content)
	m.ToolCalls = each(m.ToolCalls, path+".toolCalls", func(path string, c *chat.ToolCall) {
		c.Arguments = v.arguments(path+".arguments", c.Arguments)
		if strings.HasPrefix(c.Signature, "{") { // a server's fields
			c.Signature = string(v.json(path+".signature", []byte(c.Signature)))
		}
	})
	v.role = ""
}

// parts visits content. A changed image or document becomes a text, because it would be invalid, and changed thinking
// loses its signature, so that it is not sent.
func (v *visitor) parts(path string, parts chat.Parts) chat.Parts {
	return each(parts, path, func(path string, part *chat.Part) {
		switch p := (*part).(type) {
		case chat.Text:
			*part = chat.Text(v.text(path+".text", string(p)))
		case chat.Image:
			url := v.text(path+".url", p.URL)
			p.Original = v.text(path+".original", p.Original)
			if *part = p; url != p.URL {
				*part = chat.Text(url)
			}
		case chat.Document:
			if data := v.text(path+".data", p.Data); data != p.Data {
				*part = chat.Text(data)
			}
		case chat.Thinking:
			if text := v.text(path+".text", p.Text); text != p.Text {
				*part = chat.Thinking{Text: text}
			}
		case chat.Opaque:
			p.Value = []byte(v.arguments(path+".value", string(p.Value)))
			*part = p
		}
	})
}

// thinking visits thinking that is kept to be sent. Changed thinking is left out.
func (v *visitor) thinking(path string, list []chat.Thinking) []chat.Thinking {
	return slices.DeleteFunc(slices.Clone(list), func(t chat.Thinking) bool { return v.text(path, t.Text) != t.Text })
}

func (v *visitor) summary(path string, s Summary) Summary {
	file := func(path string, name *string) { *name = v.text(path, *name) }
	s.Text = v.text(path+".text", s.Text)
	s.Files.Read = each(s.Files.Read, path+".files.read", file)
	s.Files.Modified = each(s.Files.Modified, path+".files.modified", file)
	s.Data = v.json(path+".data", s.Data)
	return s
}

// text visits one text.
func (v *visitor) text(path, text string) string {
	got := v.passage(path, "", text)
	if got != text && v.changed != nil {
		v.changed(path)
	}
	return got
}

func (v *visitor) passage(path, key, text string) string {
	if v.show == nil || text == "" {
		return text
	}
	return v.show(Passage{Text: text, Type: v.kind, Role: v.role, Path: path, Key: key})
}

// arguments visits the arguments of a call, which are JSON unless they were cut off.
func (v *visitor) arguments(path, text string) string {
	if json.Valid([]byte(text)) {
		return string(v.json(path, []byte(text)))
	}
	return v.text(path, text)
}

// json visits a JSON value. An invalid one, which is never written, is left as it is.
func (v *visitor) json(path string, value []byte) []byte {
	if v.value != nil {
		return v.value(path, value)
	}
	if v.show == nil || !json.Valid(value) {
		return value
	}
	got := plainjson.Replace(value, func(t plainjson.Text) string { return v.passage(path, t.Key, t.Text) })
	if v.changed != nil && !bytes.Equal(got, value) {
		v.changed(path)
	}
	return got
}

// unknown visits the line of an entry of an unknown type: all fields but those that every line has.
func (v *visitor) unknown(line []byte) []byte {
	if !json.Valid(line) {
		return line
	}
	var s plainjson.Splice
	var text string               // the last string
	name, from, depth := "", 0, 0 // name of the field, and where its value starts
	for start, end := range plainjson.Tokens(line) {
		switch c := line[start]; {
		case c == '"':
			text = plainjson.Unquote(line[start:end])
		case c == ':' && depth == 1:
			name, from = text, end
		case (c == ',' || c == '}') && depth == 1 && from > 0 && !common(name):
			value := line[from:start]
			if got := v.json(name, value); !bytes.Equal(got, value) {
				s.Put(line, from, start, got)
			}
		}
		switch line[start] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return s.All(line)
}

// common reports whether lines of every type have a field of this name.
func common(name string) bool {
	return slices.ContainsFunc([]string{"type", "id", "parent", "time", "redacted"}, func(field string) bool { return strings.EqualFold(field, name) })
}

// Passage is a text that is about to be written to a session, as passed to history.Options.Redact.
//
// Passages are: the texts, thoughts, participants' names, images (their URLs) and documents (their data) of messages,
// wherever in an entry messages are; commands and their output; summaries, titles, instructions, labels, lists of
// things to do and errors; the paths of files; the names of [Custom] entries, under which they are then found; the descriptions of tools; and the source of a session. In JSON values,
// each string, each number and each key is one: in data, in a call's arguments, in opaque parts, in the parameters of
// tools and in entries of unknown types. Empty texts are not passed.
//
// Values that hold a session together are never passed: ids, types, roles and times; the names of tools, models,
// policies, fields and parts of the application; levels, states and counts; digests, media types and signatures;
// thinking that is encrypted; and the folder of checkpoints.
type Passage struct {
	// Text that is about to be written.
	Text string
	// Type of the entry that contains it; "session" for the header.
	Type Type
	// Role of the message that contains it; "" outside messages.
	Role chat.Role
	// Path of its field in the line's JSON, such as "message.content[0].text", "shell.output" or "custom.data".
	Path string
	// Key of the value within a field that holds JSON, or of the list that contains the value. "" for a key itself.
	Key string
}
