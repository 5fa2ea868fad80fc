package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// codexPart holds what an item of OpenAI's responses API adds to a message.
type codexPart struct {
	role    chat.Role // "" for an unknown item
	content chat.Parts
	calls   []chat.ToolCall
	callID  string // of a result
	isError bool
	texts   []string // the texts in the content
}

// codexItem reads an item of OpenAI's responses API as Codex writes it. Messages, reasoning, calls and results of
// functions, custom tools, the local shell and the tool search become their equivalents. An item that the provider
// handled itself, such as a web search, and the encrypted summary of a compaction are kept as they are, in an assistant
// message.
func codexItem(what string, o *object, raw json.RawMessage, notes *pending) (codexPart, error) {
	p := codexPart{role: chat.RoleAssistant}
	delete(o.fields, "type")
	switch what {
	case "message":
		p.role = chat.Role(o.text("role"))
		switch p.role {
		case chat.RoleUser, chat.RoleAssistant:
		case "developer":
			p.role = chat.RoleSystem
		case chat.RoleSystem:
		default:
			return p, fmt.Errorf("unknown role %q", clip(string(p.role)))
		}
		p.read(o, "content", notes)
	case "reasoning":
		p.reasoning(o, notes)
	case "function_call":
		// The arguments are JSON in a text, as the model wrote it.
		p.call(o, o.text("name"), o.text("arguments"))
	case "custom_tool_call":
		p.call(o, o.text("name"), inputJSON(o.text("input")))
	case "local_shell_call":
		p.call(o, "local_shell", o.compact("action"))
	case "tool_search_call":
		if !o.given("call_id") {
			return opaqueItem(raw), nil
		}
		p.call(o, "tool_search", o.compact("arguments"))
	case "function_call_output", "custom_tool_call_output":
		p.role, p.callID = chat.RoleTool, o.text("call_id")
		p.output(o, notes)
	case "tool_search_output":
		if !o.given("call_id") {
			return opaqueItem(raw), nil
		}
		p.role, p.callID = chat.RoleTool, o.text("call_id")
		p.content = chat.Parts{chat.Opaque{Value: bytes.Clone(raw)}}
		return p, o.err
	case "web_search_call", "image_generation_call", "compaction", "compaction_summary", "context_compaction":
		return opaqueItem(raw), nil
	default:
		return codexPart{}, nil
	}
	notes.rest(what, o)
	return p, o.err
}

// opaqueItem keeps an item as it is.
func opaqueItem(raw json.RawMessage) codexPart {
	return codexPart{role: chat.RoleAssistant, content: chat.Parts{chat.Opaque{Value: bytes.Clone(raw)}}}
}

// inputJSON returns the text input of a tool without JSON arguments as a JSON argument.
func inputJSON(text string) string {
	input, _ := plainjson.Marshal(map[string]string{"input": text}) // strings always encode
	return string(input)
}

func (p *codexPart) call(o *object, name, arguments string) {
	id := o.optionalText("call_id")
	if id == "" {
		id = o.text("id") // for a local shell called through chat completions
	}
	p.calls = append(p.calls, chat.ToolCall{ID: id, Name: name, Arguments: arguments})
}

// reasoning reads a thought: its summary and, from open models, the thought itself; the encrypted form; and its id, by
// which the provider recognises it.
func (p *codexPart) reasoning(o *object, notes *pending) {
	for _, field := range []string{"summary", "content"} {
		if !o.given(field) {
			continue
		}
		o.each(field, func(part *object, _ json.RawMessage) error {
			part.raw("type")
			p.texts = append(p.texts, part.text("text"))
			notes.rest("reasoning."+field, part)
			return part.err
		})
	}
	t := chat.Thinking{
		Text: strings.Join(p.texts, "\n\n"), Signature: o.optionalText("id"), Encrypted: o.optionalText("encrypted_content"),
	}
	if t.Text == "" && t.Encrypted == "" {
		notes.add(Empty, "reasoning")
		return
	}
	p.content = chat.Parts{t}
}

// isPart reports whether an object is a part of a list.
func isPart(raw json.RawMessage) bool {
	o, err := parseObject(raw)
	return err == nil && o.is("type", kindText)
}

// output reads a result: a text, a part, a list of parts or, in older versions, an object that says whether the call
// succeeded.
func (p *codexPart) output(o *object, notes *pending) {
	switch {
	case o.is("output", kindObject) && isPart(o.fields["output"]):
		o.put("output", slices.Concat([]byte("["), o.raw("output"), []byte("]")))
		p.read(o, "output", notes)
	case o.is("output", kindText):
		p.text(o.text("output"), "output", notes)
	case o.is("output", kindObject):
		out := o.object("output")
		if out.is("success", kindBoolean) {
			p.isError = !out.flag("success")
		}
		p.text(out.text("content"), "output", notes)
		notes.rest("output", out)
	default:
		p.read(o, "output", notes)
	}
}

func (p *codexPart) text(text, what string, notes *pending) {
	if text == "" {
		notes.add(Empty, what)
		return
	}
	p.texts = append(p.texts, text)
	p.content = append(p.content, chat.Text(text))
}

// read reads a list of parts.
func (p *codexPart) read(o *object, field string, notes *pending) {
	o.each(field, func(part *object, raw json.RawMessage) error {
		switch typ := part.text("type"); {
		case part.err != nil:
			return part.err
		case (typ == "input_text" || typ == "output_text" || typ == "text") && part.is("text", kindText):
			p.text(part.text("text"), field+"."+typ, notes)
		case typ == "input_image" && part.is("image_url", kindText):
			p.content = append(p.content, chat.Image{
				URL: part.text("image_url"), Detail: chat.ImageDetail(part.optionalText("detail")),
			})
		default:
			p.content = append(p.content, chat.Opaque{Value: raw})
			return nil
		}
		notes.rest(field, part)
		return part.err
	})
}
