package importer

import (
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// openAI reads a message of OpenAI's chat completions. Calls of functions and custom tools are read, and those of the
// form before tools: the results of those name a function and not a call, and belong to its last call. A refusal, audio
// and a file given by id are kept as they are. The fields reasoning_content and reasoning, which other makers
// add, are thinking with the name of the field as its signature, as render/openai sends it back.
func (c *chatReader) openAI(r Record, o *object, raw json.RawMessage, notes *pending) error {
	role := o.text("role")
	m := chat.Message{Role: chat.Role(role)}
	switch {
	case o.err != nil:
		return o.err
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
			if text := o.optionalText(field); text != "" {
				m.Content = append(m.Content, chat.Thinking{Text: text, Signature: field})
				break
			}
		}
	case role == "tool":
		m.ToolCallID = o.text("tool_call_id")
	case role == "function":
		m.Role, m.ToolCallID = chat.RoleTool, legacyCall(r.Parent)
	case role != "user":
		return fmt.Errorf("unknown role %q", clip(role))
	}
	if role != "function" {
		m.Name = o.optionalText("name")
	}
	if err := openAIContent(&m, o, notes); err != nil {
		return err
	}
	if role == "assistant" {
		if err := openAICalls(&m, o, notes); err != nil {
			return err
		}
		if o.given("function_call") {
			if r.ID == "" {
				r.ID = c.madeUp()
			}
			call := o.object("function_call")
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
				ID: legacyCall(r.ID), Name: call.text("name"), Arguments: call.text("arguments"),
			})
			notes.rest("function_call", call)
		}
	}
	if o.is("usage", kindObject) {
		r.Usage, _ = chatUsage(o, notes) // its error is that of the message
	}
	if o.err != nil {
		return o.err
	}
	r.Body = entry.Message{Message: m, Data: o.remainder()}
	return c.add(r)
}

// legacyCall returns an id for a call without one, from that of its message. The call's result comes right after the
// message.
func legacyCall(record string) string { return "call-" + record }

// openAIContent reads a text, a list of parts, or nothing.
func openAIContent(m *chat.Message, o *object, notes *pending) error {
	switch {
	case o.is("content", kindText):
		appendText(m, o.text("content"), "content", notes)
	case o.given("content"):
		o.each("content", func(part *object, raw json.RawMessage) error { return openAIPart(m, part, raw, notes) })
	}
	for _, field := range []string{"refusal", "audio", "reasoning_details"} {
		if value := o.raw(field); value != nil {
			whole := &object{fields: map[string]json.RawMessage{field: value}}
			m.Content = append(m.Content, chat.Opaque{Value: whole.remainder()})
		}
	}
	return o.err
}

func openAIPart(m *chat.Message, o *object, raw json.RawMessage, notes *pending) error {
	typ := o.text("type")
	switch {
	case o.err != nil:
		return o.err
	case typ == "text":
		appendText(m, o.text("text"), "content.text", notes)
	case typ == "image_url" && o.is("image_url", kindObject):
		image := o.object("image_url")
		m.Content = append(m.Content, chat.Image{
			URL: image.text("url"), Detail: chat.ImageDetail(image.optionalText("detail")),
		})
		notes.rest("content.image_url", image)
	case m.Role == chat.RoleTool && o.is("text", kindText): // tool_output and others, as exports name it
		appendText(m, o.text("text"), "content."+typ, notes)
	case m.Role == chat.RoleTool && o.is("output", kindText):
		appendText(m, o.text("output"), "content."+typ, notes)
	case m.Role == chat.RoleTool && o.is("content", kindText):
		appendText(m, o.text("content"), "content."+typ, notes)
	default:
		m.Content = append(m.Content, chat.Opaque{Value: raw})
		return nil
	}
	notes.rest("content."+typ, o)
	return o.err
}

func openAICalls(m *chat.Message, o *object, notes *pending) error {
	if !o.given("tool_calls") {
		return nil
	}
	o.each("tool_calls", func(call *object, _ json.RawMessage) error {
		c := chat.ToolCall{ID: call.text("id")}
		typ := call.optionalText("type")
		if typ == "" {
			typ = "function"
		}
		var f *object
		switch typ {
		case "function":
			f = call.object("function")
			c.Name, c.Arguments = f.text("name"), f.text("arguments")
		case "custom":
			f = call.object("custom")
			c.Name, c.Arguments = f.text("name"), inputJSON(f.text("input"))
		default:
			return fmt.Errorf("unknown type %q", clip(typ))
		}
		m.ToolCalls = append(m.ToolCalls, c)
		notes.rest("tool_calls."+typ, f)
		notes.rest("tool_calls", call)
		return nil
	})
	return o.err
}
