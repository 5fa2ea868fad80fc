package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// vscodeReader reads chats of VS Code: what "Chat: Export Chat…" writes, and the files of its folder chatSessions, one document
// or a log of changes to it. A request holds what the user said, and the rounds that the agent made to answer it.
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
	var ok bool
	if v.document, ok = change.apply(v.document, change.K); !ok {
		o.Fail(fmt.Errorf("k: nothing is at %v", change.K))
	}
}

// vscodeChange is a line of a log.
type vscodeChange struct {
	Kind int   // 0 the whole document; 1 a value is set; 2 values are added to a list, behind its first I; 3 a value is deleted
	K    []any // the path of the value: names and indexes
	V    any
	I    *int
}

// apply returns a value with the change at a path in it, and false if the path leads nowhere.
func (c vscodeChange) apply(value any, at []any) (any, bool) {
	if len(at) == 0 {
		list, isList := value.([]any)
		added, some := c.V.([]any)
		switch {
		case c.Kind != 2:
			return c.V, true
		case !isList && value != nil, !some && c.V != nil, c.I != nil && (*c.I < 0 || *c.I > len(list)):
			return value, false
		case c.I != nil:
			list = list[:*c.I]
		}
		return append(list[:len(list):len(list)], added...), true
	}
	var ok bool
	switch key := at[0].(type) {
	case string:
		if object, is := value.(map[string]any); is {
			object[key], ok = c.apply(object[key], at[1:])
		}
	case json.Number:
		i, err := key.Int64()
		if list, is := value.([]any); is && err == nil && i >= 0 && i < int64(len(list)) {
			list[i], ok = c.apply(list[i], at[1:])
		}
	}
	return value, ok
}

func (v *vscodeReader) finish() {
	if v.document != nil {
		raw, _ := json.Marshal(v.document) // it was JSON
		if o, err := wire.Parse(raw); err != nil {
			v.fail(err)
		} else if err := v.take(item{Object: o, number: 1}, false, func() { v.chat(o) }); err != nil {
			v.fail(err)
		}
		v.settle()
	}
	v.builder.finish()
}

// chat reads a whole chat.
func (v *vscodeReader) chat(o *wire.Object) {
	requests := o.Field("requests", wire.KindList)
	v.rec.Header = entry.Header{From: o.Peek("sessionId"), Time: o.Time("creationDate"), Data: o.Remainder()}
	if requests != nil {
		v.each(requests, "requests", v.skip, v.request)
	}
}

func (v *vscodeReader) request(o *wire.Object) {
	r := Record{Recorded: "request", Entry: entry.Entry{Parent: v.tip, Time: o.Time("timestamp")}}
	said := ""
	if o.Is("message", wire.KindText) { // of the first versions
		said = o.Text("message")
	} else {
		message := o.Object("message")
		said = message.Text("text")
		v.rest("message", message)
	}
	rounds, results := wire.Of("toolCallRounds", []byte("[]")), &wire.Object{}
	if result := o.Inside("result"); result != nil {
		if metadata := result.Inside("metadata"); metadata != nil && metadata.Is("toolCallRounds", wire.KindList) {
			rounds = metadata
			if all := metadata.Inside("toolCallResults"); all != nil {
				results = all
			}
		}
	}
	_, model, _ := strings.Cut(o.Peek("modelId"), "/")
	v.say(r, chat.UserMessage(said), o.Remainder())
	r.Parent = v.tip
	r = v.answeredBy(r, "", cmp.Or(model, o.Peek("modelId")))
	open := true // the rounds so far end without an answer
	parts(rounds, "toolCallRounds", func(round *wire.Object) {
		m := chat.Message{Role: chat.RoleAssistant}
		if thinking := round.Inside("thinking"); thinking != nil {
			v.thought(&m, chat.Thinking{Text: thinking.Peek("text"), Encrypted: thinking.Peek("encrypted")}, "thinking")
		}
		v.text(&m, round.OptionalText("response"), "response")
		var answers []chat.Message
		if round.Given("toolCalls") {
			parts(round, "toolCalls", func(c *wire.Object) {
				call := chat.ToolCall{ID: c.Text("id"), Name: c.Text("name"), Arguments: cmp.Or(c.OptionalText("arguments"), "{}")}
				m.ToolCalls = append(m.ToolCalls, call)
				if result := results.Inside(call.ID); result != nil {
					answers = append(answers, v.result(call.ID, result))
				}
			})
		}
		if open = len(m.ToolCalls) > 0; open || len(m.Content) > 0 {
			v.say(r, m, nil)
			r.Parent = v.tip
			r = v.sayAll(r, answers)
		}
	})
	if open {
		v.response(r, o)
	}
	if rounds.Err() != nil {
		o.Fail(rounds.Err())
	}
}

// result reads what a tool returned: texts, and prompts of @vscode/prompt-tsx, which stay as they are.
func (v *vscodeReader) result(call string, o *wire.Object) chat.Message {
	m := chat.Message{Role: chat.RoleTool, ToolCallID: call}
	if o.Given("content") {
		parts(o, "content", func(p *wire.Object) {
			if p.Is("value", wire.KindText) {
				v.text(&m, p.Text("value"), "toolCallResults.content")
			} else {
				m.Content = append(m.Content, chat.Opaque{Value: p.Source()})
			}
		})
	}
	return m
}

// response reads the answer as the user saw it, of which that behind the last call is in no round. Calls are only named there.
func (v *vscodeReader) response(r Record, o *wire.Object) {
	m := chat.Message{Role: chat.RoleAssistant}
	var said strings.Builder
	if o.Given("response") {
		parts(o, "response", func(p *wire.Object) {
			switch kind := p.Peek("kind"); kind {
			case "", "markdownContent":
				content := p
				if inner := p.Inside("content"); inner != nil {
					content = inner
				}
				said.WriteString(content.Peek("value"))
			case "thinking":
				v.thought(&m, chat.Thinking{Text: p.Peek("value")}, "thinking")
			case "inlineReference":
				if place := p.Inside("inlineReference"); place != nil {
					said.WriteString(cmp.Or(p.Peek("name"), place.Peek("name"), path.Base(place.Peek("path"))))
				}
			case "toolInvocationSerialized":
				said.Reset()
				m.Content = nil
			}
		})
	}
	if v.text(&m, said.String(), "response"); len(m.Content) > 0 {
		v.say(r, m, nil)
	}
}
