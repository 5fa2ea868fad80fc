package importer

import (
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// openAI reads a message of OpenAI's chat completions. Calls of functions and custom tools are read, and those of the
// form before tools: the results of those name a function and not a call, and belong to its last call. A refusal, audio
// and a file given by id are kept as they are. The fields reasoning_content and reasoning, which other makers
// add, are thinking with the name of the field as its signature, as render/openai sends it back.
func (c *chatReader) openAI(r Record, o *wire.Object, raw json.RawMessage, notes *pending) error {
	role := o.Text("role")
	m := chat.Message{Role: chat.Role(role)}
	switch {
	case o.Err() != nil:
		return o.Err()
	case role == "system", role == "developer":
		r.Body = entry.Custom{Name: "system", Data: clone(raw)}
		return c.add(r)
	case role == "assistant":
		found, err := thinkingBlocks(&m, o, notes)
		if err != nil {
			return err
		}
		for _, field := range []string{"reasoning_content", "reasoning"} {
			if found {
				break
			}
			if text := o.OptionalText(field); text != "" {
				m.Content = append(m.Content, chat.Thinking{Text: text, Signature: field})
				break
			}
		}
	case role == "tool":
		m.ToolCallID = o.Text("tool_call_id")
	case role == "function":
		m.Role, m.ToolCallID = chat.RoleTool, legacyCall(r.Parent)
	case role != "user":
		return fmt.Errorf("unknown role %q", clip(role))
	}
	if role != "function" {
		m.Name = o.OptionalText("name")
	}
	if err := openAIContent(&m, o, notes); err != nil {
		return err
	}
	if role == "assistant" {
		if err := openAICalls(&m, o, notes); err != nil {
			return err
		}
		if o.Given("function_call") {
			if r.ID == "" {
				r.ID = c.madeUp()
			}
			call := o.Object("function_call")
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
				ID: legacyCall(r.ID), Name: call.Text("name"), Arguments: call.Text("arguments"),
			})
			notes.rest("function_call", call)
		}
	}
	if o.Is("usage", wire.KindObject) {
		r.Usage, _ = chatUsage(o, notes) // its error is that of the message
	}
	if o.Err() != nil {
		return o.Err()
	}
	r.Body = entry.Message{Message: m, Data: o.Remainder()}
	return c.add(r)
}

// legacyCall returns an id for a call without one, from that of its message. The call's result comes right after the
// message.
func legacyCall(record string) string { return "call-" + record }

// openAIContent reads a text, a list of parts, or nothing.
func openAIContent(m *chat.Message, o *wire.Object, notes *pending) error {
	switch {
	case o.Is("content", wire.KindText):
		appendText(m, o.Text("content"), "content", notes)
	case o.Given("content"):
		o.Each("content", func(part *wire.Object) error { return openAIPart(m, part, part.Source(), notes) })
	}
	for _, field := range []string{"refusal", "audio", "reasoning_details"} {
		if value := o.Raw(field); value != nil {
			whole := wire.Of(field, value)
			m.Content = append(m.Content, chat.Opaque{Value: whole.Remainder()})
		}
	}
	return o.Err()
}

func openAIPart(m *chat.Message, o *wire.Object, raw json.RawMessage, notes *pending) error {
	typ := o.Text("type")
	switch {
	case o.Err() != nil:
		return o.Err()
	case typ == "text":
		appendText(m, o.Text("text"), "content.text", notes)
	case typ == "image_url" && o.Is("image_url", wire.KindObject):
		image := o.Object("image_url")
		m.Content = append(m.Content, chat.Image{
			URL: image.Text("url"), Detail: chat.ImageDetail(image.OptionalText("detail")),
		})
		notes.rest("content.image_url", image)
	case m.Role == chat.RoleTool && o.Is("text", wire.KindText): // tool_output and others, as exports name it
		appendText(m, o.Text("text"), "content."+typ, notes)
	case m.Role == chat.RoleTool && o.Is("output", wire.KindText):
		appendText(m, o.Text("output"), "content."+typ, notes)
	case m.Role == chat.RoleTool && o.Is("content", wire.KindText):
		appendText(m, o.Text("content"), "content."+typ, notes)
	default:
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	notes.rest("content."+typ, o)
	return o.Err()
}

func openAICalls(m *chat.Message, o *wire.Object, notes *pending) error {
	if !o.Given("tool_calls") {
		return nil
	}
	o.Each("tool_calls", func(call *wire.Object) error {
		c := chat.ToolCall{ID: call.Text("id")}
		typ := call.OptionalText("type")
		if typ == "" {
			typ = "function"
		}
		var f *wire.Object
		switch typ {
		case "function":
			f = call.Object("function")
			c.Name, c.Arguments = f.Text("name"), f.Text("arguments")
		case "custom":
			f = call.Object("custom")
			c.Name, c.Arguments = f.Text("name"), inputJSON(f.Text("input"))
		default:
			return fmt.Errorf("unknown type %q", clip(typ))
		}
		m.ToolCalls = append(m.ToolCalls, c)
		notes.rest("tool_calls."+typ, f)
		notes.rest("tool_calls", call)
		return nil
	})
	return o.Err()
}
