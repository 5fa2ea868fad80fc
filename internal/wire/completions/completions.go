// Package completions reads the messages of OpenAI's Chat Completions.
package completions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// Decode reads a message, of a request, an answer or a recording, and removes what it read from the object. What is there
// afterwards has no place in the message, and what of parts and calls has none is left over. With left nil nothing may be
// lost: a part is kept as it is instead, the assistant's other fields are kept, and those of others are an error. An error
// is the object's too.
//
//   - Thinking in a server's own field is a [chat.Thinking] with the name of the field as the signature.
//   - A refusal beside the content, as an answer has it, is an opaque part of type refusal.
//   - What an answer says besides (audio, the details of reasoning) is an opaque part of type [dialect.Fields]. Fields of a
//     call are its signature.
//   - A custom call has its kind as the signature, and its text as the arguments.
//   - A call among the parts of the content, as exports repeat it there, is read once.
func Decode(o *wire.Object, left *wire.Leftovers) (chat.Message, error) {
	m := chat.Message{Role: chat.Role(o.Text("role")), Name: o.OptionalText("name")}
	switch m.Role {
	case "developer":
		m.Role = chat.RoleSystem
	case chat.RoleTool:
		m.ToolCallID = o.Text("tool_call_id")
	case chat.RoleAssistant:
		m.Content = thinking(o, left)
		if o.Given("tool_calls") {
			o.Each("tool_calls", func(item *wire.Object) { m.ToolCalls = append(m.ToolCalls, call(item, left)) })
		}
		o.Skip("tool_calls")
	case chat.RoleSystem, chat.RoleUser:
	default:
		o.Fail(fmt.Errorf("its role is %q: use system, developer, user, assistant or tool", m.Role))
	}
	m.Content = append(m.Content, parts.Content(o, "content", left, func(typ string, item *wire.Object) (chat.Part, bool) {
		if m.Role == chat.RoleAssistant && typ == "tool_call" {
			return nil, repeats(&m, item, left)
		}
		p := part(m.Role, typ, item, left)
		return p, p != nil
	})...)
	switch {
	case m.Role == chat.RoleAssistant:
		if said, ok := text(o, "refusal"); ok {
			m.Content = append(m.Content, refusal(said))
		}
		keep(&m, o, left)
	case left == nil && len(o.Names()) > 0:
		o.Fail(fmt.Errorf("its fields %s are not known", strings.Join(o.Names(), ", ")))
	}
	return m, o.Err()
}

// part reads a part of a message of some role, nil if package chat has none like it.
func part(role chat.Role, typ string, o *wire.Object, left *wire.Leftovers) chat.Part {
	switch {
	case typ == "text" && o.Is("text", wire.KindText):
		return chat.Text(o.Text("text"))
	case role == chat.RoleAssistant && typ == dialect.ThinkingChunk:
		if said, ok := thoughts(o, typ); ok {
			return chat.Thinking{Text: said, Signature: dialect.ThinkingChunk}
		}
	case typ == "image_url" && o.Is("image_url", wire.KindObject):
		image := o.Inside("image_url")
		p := chat.Image{URL: image.Text("url"), Detail: chat.ImageDetail(image.OptionalText("detail"))}
		if image.Err() != nil || left == nil && len(image.Names()) > 0 {
			return nil
		}
		left.Rest("content.image_url", image)
		o.Skip("image_url")
		return p
	case typ == "file" && o.Is("file", wire.KindObject):
		file := o.Inside("file")
		if d, ok := parts.Document(file); ok && len(file.Names()) == 0 {
			o.Skip("file")
			return d
		}
	case role == chat.RoleTool: // tool_output and others, as exports name it
		for _, field := range [...]string{"text", "output", "content"} {
			if o.Is(field, wire.KindText) {
				return chat.Text(o.Text(field))
			}
		}
	}
	return nil
}

// thinking reads the thinking that a server showed. Some show it in two fields, of which an answer has the first.
func thinking(o *wire.Object, left *wire.Leftovers) (content chat.Parts) {
	for _, field := range dialect.ThinkingFields {
		if o.Given(field) && !o.Is(field, wire.KindText) {
			continue
		}
		if text := o.OptionalText(field); text != "" && left != nil && len(content) > 0 {
			left.Add(wire.Repeated, field)
		} else if text != "" {
			content = append(content, chat.Thinking{Text: text, Signature: field})
		}
		o.Skip(field)
	}
	return content
}

func call(o *wire.Object, left *wire.Leftovers) chat.ToolCall {
	c := chat.ToolCall{ID: o.Text("id")}
	kind, arguments := o.OptionalText("type"), "arguments"
	switch {
	case kind == "custom":
		arguments = "input"
	case kind == "" || kind == "function" || o.Is("function", wire.KindObject):
		kind = "function"
	default:
		o.Fail(fmt.Errorf("unknown type %q", kind[:min(len(kind), 80)]))
		return c
	}
	inner := o.Object(kind)
	c.Name, c.Arguments = inner.Text("name"), inner.Text(arguments)
	left.Rest("tool_calls."+kind, inner)
	if o.Given("index") {
		left.Add(wire.NoPlace, "tool_calls.index")
	}
	o.Skip("index", "type")
	for _, name := range o.Names() {
		if isEmpty("tool_calls."+name, o.Look(name), left) {
			o.Skip(name)
		}
	}
	var fields json.RawMessage
	if len(o.Names()) > 0 {
		o.PutText("type", dialect.Fields)
		fields = o.All()
	}
	c.Signature = signature(fields, kind == "custom")
	return c
}

// repeats reports whether a part is a call, and adds the call to the message unless the message has it.
func repeats(m *chat.Message, o *wire.Object, left *wire.Leftovers) bool {
	id := "tool_call_id"
	if !o.Given(id) {
		id = "id"
	}
	if !o.Is(id, wire.KindText) || !o.Is("name", wire.KindText) || !o.Is("arguments", wire.KindText) {
		return false
	}
	c := chat.ToolCall{ID: o.Text(id), Name: o.Text("name"), Arguments: o.Text("arguments")}
	at := slices.IndexFunc(m.ToolCalls, func(of chat.ToolCall) bool { return of.ID == c.ID })
	switch {
	case at < 0:
		m.ToolCalls = append(m.ToolCalls, c)
	case m.ToolCalls[at].Name != c.Name || m.ToolCalls[at].Arguments != c.Arguments:
		return false
	default:
		left.Add(wire.Repeated, "content.tool_call")
	}
	return true
}

// isEmpty reports whether a field that may be lost says nothing, and leaves it over.
func isEmpty(what string, raw json.RawMessage, left *wire.Leftovers) bool {
	empty := left != nil && raw != nil && blank(raw)
	if empty {
		left.Add(wire.Empty, what)
	}
	return empty
}

// keep keeps the fields of an answer that go back to its server: with left nil all of them.
func keep(m *chat.Message, o *wire.Object, left *wire.Leftovers) {
	names := o.Names()
	if left != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !dialect.Returned(name) })
	}
	kept := wire.Of("type", []byte(`"`+dialect.Fields+`"`))
	for _, name := range names {
		switch raw := o.Raw(name); {
		case isEmpty(name, raw, left):
		case raw != nil:
			kept.Put(name, raw)
		case left == nil && name != "refusal": // null if the model did not refuse
			kept.Put(name, []byte("null"))
		}
		o.Skip(name)
	}
	if len(kept.Names()) > 1 {
		m.Content = append(m.Content, chat.Opaque{Value: kept.All()})
	}
}
