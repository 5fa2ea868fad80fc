// Package items reads the items of OpenAI's Responses API, the input of a request and the output of an answer, and writes
// those of an answer back.
package items

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// Follows is the field in which a stored item names the reasoning item that it followed.
const Follows = "follows"

// IsCall reports whether items of a type are calls that are answered by the caller.
func IsCall(typ string) bool { return typ == "function_call" || typ == parts.CustomCall }

// Input reads a message of the system or the user, or an output, into a message of its own.
func Input(o *wire.Object, left *wire.Leftovers) (chat.Message, error) {
	typ, content := o.OptionalText("type"), "content"
	var m chat.Message
	switch {
	case typ == "function_call_output", typ == parts.CustomCall+"_output":
		m.Role, m.ToolCallID, content = chat.RoleTool, o.Text("call_id"), "output"
	case typ == "message", typ == "":
		if m.Role, typ = chat.Role(o.Text("role")), "message"; m.Role == "developer" {
			m.Role = chat.RoleSystem
		}
		if m.Role != chat.RoleSystem && m.Role != chat.RoleUser {
			o.Fail(fmt.Errorf("its role is %q: use system, developer, user or assistant", m.Role))
		}
	default:
		o.Fail(fmt.Errorf("it is neither a message nor an output, but of type %q", typ))
	}
	m.Content = parts.Content(o, content, left, part)
	left.Rest(typ, o)
	return m, o.Err()
}

// part reads a part of an input.
func part(typ string, o *wire.Object) (chat.Part, bool) {
	switch {
	case (typ == "input_text" || typ == "text" || typ == "output_text") && o.Is("text", wire.KindText):
		return chat.Text(o.Text("text")), true
	case typ == "input_image" && o.Is("image_url", wire.KindText):
		p := chat.Image{URL: o.Text("image_url"), Detail: chat.ImageDetail(o.Peek("detail"))}
		o.Skip("detail")
		if p.Detail == chat.DetailAuto { // the API's default, which is always written
			p.Detail = ""
		}
		return p, true
	case typ == "input_file":
		d, ok := parts.Document(o)
		return d, ok
	}
	return nil, false
}

// Answer collects the items of an answer, in their order, into one message.
//
//   - Reasoning that comes first is a [chat.Thinking]: its summary as the text, its encrypted content, and the rest of the
//     item as the signature. Reasoning after other items is a [chat.Opaque].
//   - A message's texts are [chat.Text]. If the item has more than text, a [chat.Opaque] with the other fields precedes it.
//   - A call has the rest of its item as the signature. Its place is marked by a [chat.Opaque] if other items follow.
//   - Any other item is a [chat.Opaque].
//
// The id of a message or call that did not follow reasoning is left over, because nothing refers to it.
type Answer struct {
	Message chat.Message
	Left    *wire.Leftovers

	follows string      // the id of the reasoning before
	begun   bool        // an item other than reasoning was read
	places  []chat.Part // of the calls that no other item follows yet
}

// Add reads the next item. What cannot be read of it is an error, and the item is in the message all the same.
func (a *Answer) Add(o *wire.Object) error {
	a.Message.Role = chat.RoleAssistant
	typ := o.Peek("type")
	if IsCall(typ) {
		return a.call(typ, o)
	}
	a.Message.Content, a.places = append(a.Message.Content, a.places...), nil
	switch typ {
	case "reasoning":
		return a.reasoning(o)
	case "message":
		return a.message(o)
	}
	a.opaque(o.Source())
	return o.Err()
}

func (a *Answer) opaque(value json.RawMessage) {
	a.begun = true
	a.Message.Content = append(a.Message.Content, chat.Opaque{Value: value})
}

func (a *Answer) reasoning(o *wire.Object) error {
	a.follows = o.Peek("id")
	if a.begun {
		a.opaque(o.Source())
		return nil
	}
	t := chat.Thinking{Text: joined(o, "summary", "summary_text"), Encrypted: o.Peek("encrypted_content")}
	if t.Encrypted != "" || !o.Given("encrypted_content") {
		o.Skip("encrypted_content")
	}
	o.Skip("type")
	drop(o, "status", `"completed"`)
	drop(o, "content", "[]")
	if o.Look("content") == nil && oneText(o) {
		o.Skip("summary") // the text holds it
	} else if t.Text == "" {
		t.Text = joined(o, "content", "reasoning_text")
	}
	t.Signature = written(o)
	a.Message.Content = append(a.Message.Content, t)
	return o.Err()
}

// joined returns the texts in a list of parts, separated as paragraphs.
func joined(o *wire.Object, field, typ string) string {
	var texts []string
	_ = eachPart(o, field, func(p *wire.Object) { // a list that cannot be read holds no texts
		if p.Peek("type") == typ {
			texts = append(texts, p.OptionalText("text"))
		}
	})
	return strings.Join(texts, "\n\n")
}

// oneText reports whether a summary can be rebuilt from its text: it is empty, or one part with only text.
func oneText(o *wire.Object) bool {
	n, plain := 0, true
	err := eachPart(o, "summary", func(p *wire.Object) {
		n++
		plain = len(p.Names()) == 2 && p.Peek("type") == "summary_text" && p.Peek("text") != ""
	})
	return err == nil && plain && n <= 1
}

// eachPart calls f for each part of a list, which counts as not read.
func eachPart(o *wire.Object, field string, f func(p *wire.Object)) error {
	return wire.Each(o.Look(field), func(p *wire.Object, _ int) error {
		f(p)
		return nil
	})
}

func (a *Answer) message(o *wire.Object) error {
	whole := written(o)
	if o.Is("content", wire.KindText) { // as a request may have it
		o.Put("content", wire.Marshal([]any{map[string]json.RawMessage{"type": wire.Marshal("output_text"), "text": o.Look("content")}}))
	}
	var content chat.Parts
	var kept []json.RawMessage // of each part
	more := false              // the item has fields besides the text
	err := eachPart(o, "content", func(p *wire.Object) {
		typ := p.Peek("type")
		if typ != "output_text" && typ != "input_text" && typ != "text" || !p.Is("text", wire.KindText) {
			content, kept = append(content, chat.Opaque{Value: json.RawMessage(written(p))}), append(kept, json.RawMessage("{}"))
			return
		}
		content = append(content, chat.Text(p.Text("text")))
		p.Skip("type")
		drop(p, "annotations", "[]")
		drop(p, "logprobs", "[]")
		more = more || len(p.Names()) > 0
		kept = append(kept, json.RawMessage(written(p)))
	})
	if err != nil {
		a.opaque(json.RawMessage(whole))
		return fmt.Errorf("content: %w", err)
	}
	a.begun = true
	o.Skip("role", "content")
	if a.keep("message", o); more || len(o.Names()) > 1 {
		if more {
			o.Put("content", wire.Marshal(kept))
		}
		o.Put("type", wire.Marshal("message"))
		a.opaque(json.RawMessage(written(o)))
	}
	a.Message.Content = append(a.Message.Content, content...)
	return o.Err()
}

func (a *Answer) call(typ string, o *wire.Object) error {
	arguments := argumentsOf(typ)
	c := chat.ToolCall{ID: o.Text("call_id"), Name: o.Text("name"), Arguments: o.Text(arguments)}
	o.Skip("call_id", "name", arguments)
	if typ == "function_call" {
		o.Skip("type")
	}
	if a.keep(typ, o); len(o.Names()) > 0 {
		c.Signature = written(o)
	}
	a.begun = true
	a.Message.ToolCalls = append(a.Message.ToolCalls, c)
	a.places = append(a.places, chat.Opaque{Value: wire.Marshal(map[string]string{"type": typ, "call_id": c.ID})})
	return o.Err()
}

// keep prepares the fields of an item that are kept. Its id is kept only after reasoning, where it is needed.
func (a *Answer) keep(typ string, o *wire.Object) {
	if o.Peek("status") == "completed" {
		a.Left.Add(wire.NoPlace, typ+".status")
	}
	drop(o, "status", `"completed"`)
	drop(o, "phase")
	switch {
	case a.follows != "" && slices.Contains(o.Names(), "id"):
		o.Put(Follows, wire.Marshal(a.follows))
	case o.Given("id"):
		a.Left.Add(wire.NoPlace, typ+".id")
		fallthrough
	default:
		o.Skip("id")
	}
}

// drop removes a field if it is null or has one of these values.
func drop(o *wire.Object, field string, values ...string) {
	if raw := o.Look(field); raw == nil || slices.Contains(values, string(raw)) {
		o.Skip(field)
	}
}

// written returns what of an object was not read.
func written(o *wire.Object) string {
	if all := o.All(); all != nil {
		return wire.Compacted(all)
	}
	return "{}"
}

// Reasoning returns the thought of an item with this id, "" if it is not known, and the paragraphs of its summary.
func Reasoning(id, encrypted string, summary ...string) chat.Thinking {
	item := wire.Of("type", wire.Marshal("reasoning"))
	if id != "" {
		item.PutText("id", id)
	}
	item.PutText("encrypted_content", encrypted)
	list := []map[string]string{}
	for _, text := range summary {
		if text != "" {
			list = append(list, map[string]string{"type": "summary_text", "text": text})
		}
	}
	item.Put("summary", wire.Marshal(list))
	var a Answer
	_ = a.reasoning(item) // it is one
	return a.Message.Content[0].(chat.Thinking)
}

// Readable reports whether a server that stores nothing can read a reasoning item back: it is encrypted, or plain text.
func Readable(item *wire.Object) bool {
	return item.Peek("encrypted_content") != "" || joined(item, "content", "reasoning_text") != ""
}

// CallOf returns the id, name and arguments of the call that an item is, false if it is none.
func CallOf(item json.RawMessage) (c chat.ToolCall, ok bool) {
	o := wire.ObjectOf(item)
	if o == nil || !IsCall(o.Peek("type")) {
		return c, false
	}
	AsText(o)
	return chat.ToolCall{ID: o.Peek("call_id"), Name: o.Peek("name"), Arguments: o.Peek(argumentsOf(o.Peek("type")))}, true
}

// AsText writes the arguments of a call as a text. Some servers send them as an object.
func AsText(o *wire.Object) {
	if o.Is("arguments", wire.KindObject) {
		o.PutText("arguments", o.Compact("arguments"))
	}
}

// argumentsOf returns the field in which a call of a type has its arguments.
func argumentsOf(typ string) string {
	if typ == parts.CustomCall {
		return "input"
	}
	return "arguments"
}
