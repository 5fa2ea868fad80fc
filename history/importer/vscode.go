package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// vscodeReader reads chats of VS Code: what "Chat: Export Chat…" writes, and the files of its folder chatSessions, one document
// or a log of changes to it. A request holds what the user said, and the rounds that the agent made to answer it. Its data is
// the whole request, also the answer as the user saw it.
type vscodeReader struct {
	*builder
	document any // as the lines of a log so far made it
}

// isVSCode reports whether an object is a chat, or the first line of a log.
func isVSCode(o *wire.Object) bool {
	if o.Is("kind", wire.KindNumber) && o.Is("v", wire.KindObject) {
		o = o.Inside("v")
	}
	return o.Is("requests", wire.KindList) && (o.Given("responderUsername") || o.Given("requesterUsername") || o.Given("initialLocation"))
}

func (v *vscodeReader) line(o *wire.Object) {
	if !o.Is("kind", wire.KindNumber) {
		v.chat(o)
		return
	}
	var change vscodeChange
	d := json.NewDecoder(bytes.NewReader(o.Source()))
	d.UseNumber()
	if err := d.Decode(&change); err != nil {
		o.Fail(err)
		return
	}
	if change.Kind < 0 || change.Kind > 3 {
		v.note(noteUnknown, fmt.Sprint("kind ", change.Kind))
		return
	}
	document := change.apply(v.document, change.K)
	if _, isObject := document.(map[string]any); !isObject {
		o.Fail(errors.New("the change leaves no object"))
		return
	}
	v.document = document
	if change.lost {
		v.note(noteUnlinked, "k")
	}
}

// vscodeChange is a line of a log.
type vscodeChange struct {
	Kind int   // 0 the whole document; 1 a value is set; 2 values are added to a list, behind its first I; 3 a value is deleted
	K    []any // the path of the value: names and indexes
	V    any
	I    *int
	lost bool // there is nothing at the path
}

// apply returns a value with the change at a path in it.
func (c *vscodeChange) apply(value any, at []any) any {
	list, isList := value.([]any)
	if len(at) == 0 {
		if c.Kind != 2 {
			return c.V
		}
		if c.I != nil && *c.I >= 0 {
			list = list[:min(*c.I, len(list))]
		}
		added, _ := c.V.([]any)
		return append(list, added...)
	}
	key := fmt.Sprint(at[0])
	i, err := strconv.Atoi(key)
	object, isObject := value.(map[string]any)
	switch {
	case isObject:
		object[key] = c.apply(object[key], at[1:])
	case isList && err == nil && i >= 0 && i < len(list):
		list[i] = c.apply(list[i], at[1:])
	default:
		c.lost = true
	}
	return value
}

func (v *vscodeReader) finish() {
	if v.document != nil {
		o, err := wire.From(v.document)
		if err == nil {
			err = v.take(item{Object: o, number: 1}, false, func() { v.chat(o) })
		}
		v.fail(err)
	}
	v.builder.finish()
}

// chat reads a whole chat.
func (v *vscodeReader) chat(o *wire.Object) {
	requests := o.Field("requests", wire.KindList)
	v.rec.Header = entry.Header{From: o.Peek("sessionId"), Time: o.Time("creationDate"), Data: o.Remainder()}
	v.each(requests, "requests", v.skip, v.request)
}

func (v *vscodeReader) request(o *wire.Object) {
	r := Record{Recorded: "request", Entry: entry.Entry{Parent: v.tip, Time: o.Time("timestamp")}}
	said := chat.Message{Role: chat.RoleUser}
	v.text(&said, cmp.Or(within(o, "message").Peek("text"), o.Peek("message")), "message") // a text in the first versions
	v.say(r, said, o.Remainder())
	r.Parent = v.tip
	metadata := within(o, "result", "metadata")
	model := cmp.Or(metadata.Peek("resolvedModel"), o.Peek("modelId")) // of "copilot/auto"
	r = v.answeredBy(r, "", model[strings.IndexByte(model, '/')+1:])
	results, open := within(metadata, "toolCallResults"), true // the rounds so far end without an answer
	if metadata.Is("toolCallRounds", wire.KindList) {
		metadata.Each("toolCallRounds", func(round *wire.Object) {
			m, thinking := chat.Message{Role: chat.RoleAssistant}, within(round, "thinking")
			if t := (chat.Thinking{Text: thinking.Peek("text"), Encrypted: thinking.Peek("encrypted")}); t != (chat.Thinking{}) {
				m.Content = append(m.Content, t)
			}
			v.text(&m, round.OptionalText("response"), "response")
			var answers []chat.Message
			optional(round, "toolCalls", func(c *wire.Object) {
				call := chat.ToolCall{ID: c.Text("id"), Name: c.Text("name"), Arguments: cmp.Or(c.OptionalText("arguments"), "{}")}
				m.ToolCalls = append(m.ToolCalls, call)
				if result := results.Inside(call.ID); result != nil && result.Is("content", wire.KindList) {
					answers = append(answers, v.result(call.ID, result))
				}
			})
			if open = len(m.ToolCalls) > 0; open || len(m.Content) > 0 {
				v.say(r, m, nil)
				r.Parent = v.tip
				r = v.sayAll(r, answers)
			}
		})
	}
	if open && o.Given("response") {
		v.response(r, o)
	}
	o.Fail(metadata.Err())
}

// result reads what a tool returned: texts, and prompts of @vscode/prompt-tsx, which stay as they are.
func (v *vscodeReader) result(call string, o *wire.Object) chat.Message {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: call}
	o.Each("content", func(p *wire.Object) {
		if p.Is("value", wire.KindText) {
			v.text(&m, p.Text("value"), "toolCallResults.content")
		} else {
			m.Content = append(m.Content, chat.Opaque{Value: p.Source()})
		}
	})
	return m
}

// response reads what the user saw of an answer behind its last call.
func (v *vscodeReader) response(r Record, o *wire.Object) {
	var said strings.Builder
	o.Each("response", func(p *wire.Object) {
		switch p.Peek("kind") {
		case "":
			said.WriteString(p.Peek("value"))
		case "markdownContent":
			said.WriteString(within(p, "content").Peek("value"))
		case "inlineReference":
			said.WriteString(cmp.Or(p.Peek("name"), path.Base(within(p, "inlineReference").Peek("path"))))
		case "toolInvocationSerialized":
			said.Reset()
		}
	})
	m := chat.Message{Role: chat.RoleAssistant}
	if v.text(&m, said.String(), "response"); len(m.Content) > 0 {
		v.say(r, m, nil)
	}
}
