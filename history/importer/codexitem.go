package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire"
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
func codexItem(what string, o *wire.Object, raw json.RawMessage, notes *pending) (codexPart, error) {
	p := codexPart{role: chat.RoleAssistant}
	o.Skip("type")
	switch what {
	case "message":
		p.role = chat.Role(o.Text("role"))
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
		p.call(o, o.Text("name"), o.Text("arguments"))
	case "custom_tool_call":
		p.call(o, o.Text("name"), inputJSON(o.Text("input")))
	case "local_shell_call":
		p.call(o, "local_shell", o.Compact("action"))
	case "tool_search_call":
		if !o.Given("call_id") {
			return opaqueItem(raw), nil
		}
		p.call(o, "tool_search", o.Compact("arguments"))
	case "function_call_output", "custom_tool_call_output":
		p.role, p.callID = chat.RoleTool, o.Text("call_id")
		p.output(o, notes)
	case "tool_search_output":
		if !o.Given("call_id") {
			return opaqueItem(raw), nil
		}
		p.role, p.callID = chat.RoleTool, o.Text("call_id")
		p.content = chat.Parts{chat.Opaque{Value: bytes.Clone(raw)}}
		return p, o.Err()
	case "web_search_call", "image_generation_call", "compaction", "compaction_summary", "context_compaction":
		return opaqueItem(raw), nil
	default:
		return codexPart{}, nil
	}
	notes.rest(what, o)
	return p, o.Err()
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

func (p *codexPart) call(o *wire.Object, name, arguments string) {
	id := o.OptionalText("call_id")
	if id == "" {
		id = o.Text("id") // for a local shell called through chat completions
	}
	p.calls = append(p.calls, chat.ToolCall{ID: id, Name: name, Arguments: arguments})
}

// reasoning reads a thought: its summary and, from open models, the thought itself; the encrypted form; and its id, by
// which the provider recognises it.
func (p *codexPart) reasoning(o *wire.Object, notes *pending) {
	for _, field := range []string{"summary", "content"} {
		if !o.Given(field) {
			continue
		}
		o.Each(field, func(part *wire.Object) error {
			part.Raw("type")
			p.texts = append(p.texts, part.Text("text"))
			notes.rest("reasoning."+field, part)
			return part.Err()
		})
	}
	t := chat.Thinking{
		Text: strings.Join(p.texts, "\n\n"), Signature: o.OptionalText("id"), Encrypted: o.OptionalText("encrypted_content"),
	}
	if t.Text == "" && t.Encrypted == "" {
		notes.add(Empty, "reasoning")
		return
	}
	p.content = chat.Parts{t}
}

// isPart reports whether an object is a part of a list.
func isPart(raw json.RawMessage) bool {
	o, err := wire.Parse(raw)
	return err == nil && o.Is("type", wire.KindText)
}

// output reads a result: a text, a part, a list of parts or, in older versions, an object that says whether the call
// succeeded.
func (p *codexPart) output(o *wire.Object, notes *pending) {
	switch {
	case o.Is("output", wire.KindObject) && isPart(o.Look("output")):
		o.Put("output", slices.Concat([]byte("["), o.Raw("output"), []byte("]")))
		p.read(o, "output", notes)
	case o.Is("output", wire.KindText):
		p.text(o.Text("output"), "output", notes)
	case o.Is("output", wire.KindObject):
		out := o.Object("output")
		if out.Is("success", wire.KindBoolean) {
			p.isError = !out.Flag("success")
		}
		p.text(out.Text("content"), "output", notes)
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
func (p *codexPart) read(o *wire.Object, field string, notes *pending) {
	o.Each(field, func(part *wire.Object) error {
		raw := part.Source()
		switch typ := part.Text("type"); {
		case part.Err() != nil:
			return part.Err()
		case (typ == "input_text" || typ == "output_text" || typ == "text") && part.Is("text", wire.KindText):
			p.text(part.Text("text"), field+"."+typ, notes)
		case typ == "input_image" && part.Is("image_url", wire.KindText):
			p.content = append(p.content, chat.Image{
				URL: part.Text("image_url"), Detail: chat.ImageDetail(part.OptionalText("detail")),
			})
		default:
			p.content = append(p.content, chat.Opaque{Value: raw})
			return nil
		}
		notes.rest(field, part)
		return part.Err()
	})
}
