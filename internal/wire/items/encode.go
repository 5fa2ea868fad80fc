package items

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// Place is what an opaque part of a message is in the API.
type Place int

// The places.
const (
	Nowhere Place = iota // it is not the API's, or not valid for the role
	Content              // a part of the message's content
	Whole                // an item of its own
	Head                 // the fields of the message item to which the following texts belong
	Mark                 // the place of a call that is among the message's calls
)

// contents are the types of parts of the content that each role has.
var contents = map[chat.Role][]string{
	chat.RoleSystem:    {"input_text", "input_image", "input_file"},
	chat.RoleUser:      {"input_text", "input_image", "input_file", "input_audio"},
	chat.RoleAssistant: {"output_text", "refusal"},
	chat.RoleTool:      {"input_text", "input_image", "input_file"},
}

// PlaceOf returns the place of an opaque part in a message of that role, and the part as an object, nil if it is none.
func PlaceOf(role chat.Role, p chat.Opaque) (Place, *wire.Object) {
	o := wire.ObjectOf(p.Value)
	if o == nil {
		return Nowhere, nil
	}
	kind, assistant := o.Peek("type"), role == chat.RoleAssistant
	switch {
	case slices.Contains(contents[role], kind):
		return Content, o
	case kind == "message" && !o.Has("role") && assistant: // as the API writes it, it has one
		return Head, o
	case IsCall(kind) && !o.Has("name") && o.Peek("call_id") != "" && assistant: // a whole one belongs among the calls
		return Mark, o
	case kind == "reasoning" && assistant, role != chat.RoleTool && isItem(kind, o):
		return Whole, o
	}
	return Nowhere, o
}

// isItem reports whether the API takes an item of a type, other than those that a message holds.
func isItem(kind string, o *wire.Object) bool {
	switch kind {
	case "compaction":
		return o.Peek("encrypted_content") != "" && !o.Has("content") // not another provider's
	case "message":
		return o.Has("role")
	case "compaction_trigger", "item_reference", "additional_tools", "configuration_update", "program", "program_output",
		"tool_search_call", "tool_search_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
		return true
	case "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output":
		return false
	}
	return strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output")
}

// Item is an item of an assistant message. Raw is nil for one that is a text or a call and nothing else.
type Item struct {
	Raw  json.RawMessage
	Text string
	Call *chat.ToolCall
}

// Encode returns the items of an assistant message in the order in which the model made them: its content, and each call
// at the place that a part keeps for it, else after the content. It is the inverse of [Answer].
func Encode(m chat.Message) []Item {
	w := writer{reasoned: map[string]bool{}}
	sent := map[string]bool{}
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			w.text(string(p))
		case chat.Thinking:
			if item := Thought(p); item != nil {
				w.whole(item, item.All())
			}
		case chat.Opaque:
			switch at, o := PlaceOf(m.Role, p); at {
			case Content:
				w.content = append(w.content, p.Value)
			case Head:
				w.flush()
				if w.head = o; o.Is("content", wire.KindList) {
					w.kept, _ = wire.Values(o.Look("content"))
				}
			case Mark:
				w.flush()
				for _, c := range m.ToolCalls {
					if c.ID == o.Peek("call_id") && !sent[c.ID] {
						sent[c.ID] = true
						w.call(c)
					}
				}
			case Whole:
				w.whole(o, p.Value)
			}
		}
	}
	w.flush()
	for _, c := range m.ToolCalls {
		if !sent[c.ID] {
			w.call(c)
		}
	}
	return w.items
}

// writer collects the content of a message item until it is complete.
type writer struct {
	items    []Item
	head     *wire.Object
	kept     []json.RawMessage // the fields that the head keeps for each text
	content  []json.RawMessage
	texts    []string        // those in the content
	reasoned map[string]bool // ids of the reasoning so far
}

// whole adds an item of its own.
func (w *writer) whole(o *wire.Object, raw json.RawMessage) {
	w.flush()
	if o.Peek("type") == "reasoning" {
		w.reasoned[o.Peek("id")] = true
	}
	w.items = append(w.items, Item{Raw: raw})
}

// text adds a text to the message item.
func (w *writer) text(text string) {
	part := &wire.Object{}
	if n := len(w.content); n < len(w.kept) {
		part = cmp.Or(wire.ObjectOf(w.kept[n]), part)
	}
	part.PutText("type", "output_text")
	part.PutText("text", text)
	if !part.Has("annotations") {
		part.Put("annotations", []byte("[]"))
	}
	w.content, w.texts = append(w.content, part.All()), append(w.texts, text)
}

// flush writes the message item.
func (w *writer) flush() {
	switch {
	case len(w.content) == 0:
	case w.head == nil && len(w.texts) == len(w.content):
		w.items = append(w.items, Item{Text: strings.Join(w.texts, "")})
	default:
		item := cmp.Or(w.head, &wire.Object{})
		w.follow(item)
		item.PutText("type", "message")
		item.PutText("role", "assistant")
		if !item.Has("status") {
			item.PutText("status", "completed")
		}
		item.Put("content", wire.Marshal(w.content))
		w.items = append(w.items, Item{Raw: item.All()})
	}
	*w = writer{items: w.items, reasoned: w.reasoned}
}

// follow removes the id of an item if the reasoning is missing to which that belongs.
func (w *writer) follow(item *wire.Object) {
	if item.Has(Follows) && !w.reasoned[item.Peek(Follows)] {
		item.Skip("id")
	}
	item.Skip(Follows)
}

func (w *writer) call(c chat.ToolCall) {
	item := wire.ObjectOf([]byte(c.Signature))
	if item == nil || item.Peek("type") == dialect.Fields { // of Chat Completions
		w.items = append(w.items, Item{Call: &c})
		return
	}
	w.follow(item)
	item.Skip(dialect.Fields)
	item.PutText("call_id", c.ID)
	item.PutText("name", c.Name)
	if item.Peek("type") != parts.CustomCall {
		item.PutText("type", "function_call")
	}
	item.PutText(argumentsOf(item.Peek("type")), c.Arguments)
	w.items = append(w.items, Item{Raw: item.All()})
}

// Thought returns the original item of a thought, nil if it did not come from this API. The signature is the rest of the
// item, or in sessions that were imported by earlier versions its id alone.
func Thought(t chat.Thinking) *wire.Object {
	item := wire.ObjectOf([]byte(t.Signature))
	if item == nil && t.Encrypted != "" && strings.HasPrefix(t.Signature, "rs_") {
		item = wire.Of("id", wire.Marshal(t.Signature))
	}
	if item == nil {
		return nil
	}
	item.PutText("type", "reasoning")
	if !item.Has("summary") {
		summary := "[]"
		if t.Text != "" {
			summary = `[{"type":"summary_text","text":` + string(wire.Marshal(t.Text)) + "}]"
		}
		item.Put("summary", json.RawMessage(summary))
	}
	if t.Encrypted != "" {
		item.PutText("encrypted_content", t.Encrypted)
	}
	return item
}
