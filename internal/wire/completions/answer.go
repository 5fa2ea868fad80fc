package completions

import (
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/calls"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// Answer puts an answer together from the pieces in which it comes: the chunks of a stream, or the one of an answer that is
// not streamed. However an answer is cut into pieces, it is the same answer. Set the first fields before the first piece.
type Answer struct {
	// Stream is called with each piece of text, thinking and calls. It may be nil.
	Stream func(chat.Delta)
	// Tools are the names that the request declares.
	Tools map[string]bool
	// MaxTokens of the answer, 0 if the request does not limit it. One as long that ends in calls was cut off, whatever its
	// reason says (vllm#58228).
	MaxTokens int
	// Opened says that the prompt opens the thought, so that the text up to the first closing tag is thinking.
	Opened bool
	// Cumulative says that each piece of text or thinking repeats what came before.
	Cumulative bool

	// Finish is the reason why the answer ended, "" before that, and Failure what the server said about it.
	Finish, Failure string
	// Usage as it was reported so far.
	Usage chat.Usage

	began    bool
	field    string          // in which thinking is shown
	thought  strings.Builder // in it
	thinking bool            // the thought may go on
	sections []*section      // of the content, in order
	content  strings.Builder // all texts of the content, for cumulative pieces
	tagged   tagged
	refusal  strings.Builder
	calls    calls.Stream
	fields   fields          // of the message
	extra    map[int]*fields // of calls
}

// section is a part of the content. Text and thinking may come in pieces.
type section struct {
	part chat.Part // without its text
	said strings.Builder
}

// Add adds a piece, an object with choices. A piece of another form says nothing.
func (a *Answer) Add(raw json.RawMessage) {
	o, err := wire.Parse(raw)
	if err != nil {
		return
	}
	if !a.began {
		a.began, a.extra = true, map[int]*fields{}
		a.calls.Stream, a.calls.Tools, a.calls.Quoted = a.Stream, a.Tools, true
		if a.Opened {
			a.tagged = tagged{state: inTag, tag: dialect.Tags[0]}
		}
	}
	addUsage(&a.Usage, o)
	for _, choice := range choices(o) {
		addUsage(&a.Usage, choice)
		if delta := choice.Inside("delta"); delta != nil {
			a.message(delta, false)
		} else if message := choice.Inside("message"); message != nil {
			a.message(message, true)
		}
		if reason := choice.Peek("finish_reason"); reason != "" && reason != null {
			a.Finish, a.thinking = reason, false
			if failure := choice.Inside("error"); failure != nil {
				a.Failure = failure.Peek("message")
			}
		}
	}
}

// null is a text that some servers write for it: Mistral as the id of a later piece of a call (zed#53605), DashScope as the
// reason before the end.
const null = "null"

// choices returns the choices of index 0, or without one: GitHub Copilot writes the text of an answer and each call as a
// choice (gptel#1284). Others were not asked for.
func choices(o *wire.Object) (list []*wire.Object) {
	values, _ := wire.Values(o.Look("choices"))
	for _, raw := range values {
		if choice, err := wire.Parse(raw); err == nil {
			if index := choice.Look("index"); index == nil || string(index) == "0" {
				list = append(list, choice)
			}
		}
	}
	return list
}

// message adds a piece of the message, or all of it.
func (a *Answer) message(o *wire.Object, whole bool) {
	o.Skip("role")
	for _, name := range dialect.ThinkingFields {
		if said, ok := thoughts(o, name); ok && (a.field == "" || a.field == name) {
			if said = a.next(&a.thought, said); said != "" {
				a.field, a.thinking = name, true
				a.send(chat.Thinking{Text: said})
			}
		}
	}
	thought := a.thought.Len()
	if said, ok := text(o, "content"); ok {
		a.say(a.next(&a.content, said))
	} else if o.Is("content", wire.KindList) {
		chunks, _ := wire.Values(o.Raw("content"))
		for _, chunk := range chunks {
			a.chunk(chunk)
		}
	}
	if said, ok := text(o, "refusal"); ok {
		a.refusal.WriteString(said)
	}
	a.called(o, whole)
	a.thinking = a.thinking && thought == a.thought.Len() && a.content.Len()+a.refusal.Len() == 0 && len(a.extra) == 0
	a.fields.add(o)
}

// text reads a field that is a text that says something. Half a surrogate pair is U+FFFD.
func text(o *wire.Object, name string) (string, bool) {
	if !o.Is(name, wire.KindText) {
		return "", false
	}
	said := o.Text(name)
	return said, said != ""
}

// next adds a piece to what was said, and returns what is new in it.
func (a *Answer) next(so *strings.Builder, said string) string {
	if a.Cumulative {
		said = strings.TrimPrefix(said, so.String())
	}
	so.WriteString(said)
	return said
}

func (a *Answer) send(d chat.Delta) {
	if a.Stream != nil {
		a.Stream(d)
	}
}

// say adds a piece of text, some of which may be thinking.
func (a *Answer) say(said string) {
	piece, thought, said := a.tagged.read(said)
	if piece != "" {
		a.send(chat.Thinking{Text: piece})
	}
	a.told(thought, said)
}

// told adds thinking that has ended, and the text behind it.
func (a *Answer) told(thought, said string) {
	a.add(chat.Thinking{}, thought)
	if said != "" {
		a.add(chat.Text(""), said)
		a.send(chat.Text(said))
	}
}

// add adds a piece of text or thinking to the last section, or starts one.
func (a *Answer) add(kind chat.Part, said string) {
	if said == "" {
		return
	}
	n := len(a.sections)
	if n == 0 || a.sections[n-1].part != kind {
		a.sections = append(a.sections, &section{part: kind})
		n++
	}
	a.sections[n-1].said.WriteString(said)
}

// chunk adds a part of a content that is a list.
func (a *Answer) chunk(raw json.RawMessage) {
	o, err := wire.Parse(raw)
	if err != nil { // a text, as if it were the whole content
		if o = wire.Of("content", raw); !o.Is("content", wire.KindText) {
			a.sections = append(a.sections, &section{part: chat.Opaque{Value: o.Raw("content")}})
		}
		said, _ := text(o, "content")
		a.say(a.next(&a.content, said))
		return
	}
	typ := o.Peek("type")
	switch {
	case typ == "text" && o.Is("text", wire.KindText):
		said, _ := text(o, "text")
		a.say(a.next(&a.content, said))
	case typ == "refusal" && o.Is("refusal", wire.KindText):
		said, _ := text(o, "refusal")
		a.refusal.WriteString(said)
	case typ == dialect.ThinkingChunk:
		a.chunkThought(o, typ, typ)
	case typ == dialect.ReasoningChunk:
		a.chunkThought(o, "summary", "")
	default:
		a.sections = append(a.sections, &section{part: chat.Opaque{Value: o.Source()}})
	}
}

// chunkThought adds the thinking in a field of a part of the content.
func (a *Answer) chunkThought(o *wire.Object, field, signature string) {
	if said, ok := thoughts(o, field); ok {
		a.add(chat.Thinking{Signature: signature}, said)
		a.send(chat.Thinking{Text: said})
	}
}

// thoughts reads a field that holds thinking: a text, an object with a text, or a list of these. A field of another form
// stays unread.
func thoughts(o *wire.Object, field string) (said string, ok bool) {
	switch {
	case o.Is(field, wire.KindObject):
		said, _ = text(o.Inside(field), "text")
	case o.Is(field, wire.KindList):
		_ = wire.Each(o.Look(field), func(item *wire.Object, _ int) error { // what is no object says nothing
			more, _ := text(item, "text")
			said += more
			return nil
		})
	default:
		return text(o, field)
	}
	if said != "" {
		o.Skip(field)
	}
	return said, said != ""
}

// called adds calls, or pieces of calls. In a whole message each is one, whatever its id.
func (a *Answer) called(o *wire.Object, whole bool) {
	if o.Is("tool_calls", wire.KindList) {
		n := int64(0)
		_ = wire.Each(o.Raw("tool_calls"), func(item *wire.Object, _ int) error {
			index := int64(calls.NoIndex)
			if raw := item.Look("index"); whole {
				index = n
			} else if raw != nil && json.Unmarshal(raw, &index) != nil {
				index = calls.NoIndex
			}
			a.call(item, index)
			n++
			return nil
		})
	}
	if f := o.Inside("function_call"); f != nil { // before there were tools
		o.Skip("function_call")
		name, _ := text(f, "name")
		a.calls.Add(calls.NoIndex, "", name, arguments(f, "arguments"))
	}
}

func (a *Answer) call(o *wire.Object, index int64) {
	id, _ := text(o, "id")
	if id == null {
		id = ""
	}
	inner, given, custom := o.Inside("function"), "arguments", o.Inside("custom")
	if custom != nil {
		inner, given = custom, "input"
	}
	if inner == nil {
		inner = o // some gateways write the function's fields beside the id
	}
	o.Skip("index", "type", "function", "custom")
	name, _ := text(inner, "name")
	i := a.calls.Add(index, id, name, arguments(inner, given))
	if a.extra[i] == nil {
		a.extra[i] = &fields{}
	}
	if custom != nil {
		a.extra[i].custom = true
		a.calls.Free(i)
	}
	a.extra[i].add(o)
}

// arguments reads the arguments of a call. Some servers send them as an object.
func arguments(o *wire.Object, name string) string {
	if said, _ := text(o, name); said != "" || o.Is(name, wire.KindText) {
		return said
	}
	return o.Compact(name)
}

// Whole returns the answer, which has ended. If it was cut off, thinking at the start of the text may be unfinished.
func (a *Answer) Whole(cut bool) chat.Message {
	a.end(cut)
	a.calls.Flush()
	return a.made(func(int, chat.ToolCall) bool { return true })
}

// Partial returns the part of an answer that broke off, or failed: what is whole of it. Chat Completions does not mark the
// end of a call: arguments that are not JSON, such as none or a custom tool's, end with the next call, or with the
// answer if that ended.
func (a *Answer) Partial(ended bool) chat.Message {
	if a.thinking {
		a.thought.Reset()
	}
	if a.tagged.state != inTag {
		a.end(false)
	}
	last := len(a.calls.Calls()) - 1
	return a.made(func(i int, c chat.ToolCall) bool {
		object := strings.HasPrefix(c.Arguments, "{")
		return c.Name != "" && (ended || calls.Whole(c.Arguments) || !object && i < last)
	})
}

// end adds what was held back of the text.
func (a *Answer) end(cut bool) { a.told(a.tagged.end(cut)) }

// made returns the message, with the calls that f accepts.
func (a *Answer) made(f func(int, chat.ToolCall) bool) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	if a.thought.Len() > 0 {
		m.Content = append(m.Content, chat.Thinking{Text: a.thought.String(), Signature: a.field})
	}
	for _, s := range a.sections {
		switch p := s.part.(type) {
		case chat.Text:
			m.Content = append(m.Content, chat.Text(s.said.String()))
		case chat.Thinking:
			p.Text = s.said.String()
			m.Content = append(m.Content, p)
		default:
			m.Content = append(m.Content, p)
		}
	}
	if a.refusal.Len() > 0 {
		m.Content = append(m.Content, refusal(a.refusal.String()))
	}
	if fields := a.fields.json(); fields != nil {
		m.Content = append(m.Content, chat.Opaque{Value: fields})
	}
	for i, c := range a.calls.Calls() {
		if f(i, c) {
			if extra := a.extra[i]; extra != nil {
				c.Signature = signature(extra.json(), extra.custom)
			}
			m.ToolCalls = append(m.ToolCalls, c)
		}
	}
	return m
}

// refusal returns the part that holds why the model did not answer.
func refusal(said string) chat.Opaque {
	o := wire.Of("type", []byte(`"refusal"`))
	o.PutText("refusal", said)
	return chat.Opaque{Value: o.All()}
}
