package importer

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// itemRole returns whose an item of OpenAI's responses API is, as Codex writes it: "" if its type or role is not known.
func itemRole(typ string, o *wire.Object) chat.Role {
	switch typ {
	case "message":
		switch role := chat.Role(o.Peek("role")); role {
		case chat.RoleUser, chat.RoleAssistant, chat.RoleSystem:
			return role
		case "developer":
			return chat.RoleSystem
		}
	case "tool_search_output":
		if o.Given("call_id") {
			return chat.RoleTool
		}
		return chat.RoleAssistant
	case "function_call_output", "custom_tool_call_output":
		return chat.RoleTool
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call", "image_generation_call",
		"compaction", "compaction_summary", "context_compaction":
		return chat.RoleAssistant
	}
	return ""
}

// readItem reads a message of the user, or a result: a text, a part, a list of parts or, in older versions, an object that
// says whether the call succeeded.
func (b *builder) readItem(typ string, o *wire.Object) chat.Message {
	if typ == "tool_search_output" {
		return chat.Message{Role: chat.RoleTool, ToolCallID: o.Text("call_id"), Content: chat.Parts{chat.Opaque{Value: o.Source()}}}
	}
	failed := false
	if out := o.Inside("output"); out != nil && out.Is("type", wire.KindText) {
		o.Put("output", slices.Concat([]byte("["), o.Raw("output"), []byte("]")))
	} else if out != nil {
		out = o.Object("output")
		failed = out.Is("success", wire.KindBoolean) && !out.Flag("success")
		o.PutText("output", out.Text("content"))
		b.rest("output", out)
	}
	var left wire.Leftovers
	o.PutText("type", typ)
	m, _ := items.Input(o, &left) // an error is recorded in o
	m.IsError = failed
	b.left(left)
	return m
}

// addItem adds an item of the assistant to an answer. Calls of the local shell and the tool search become calls of tools of
// that name. If the item cannot be read, the answer is unchanged.
func (b *builder) addItem(a *items.Answer, typ string, o *wire.Object) {
	var left wire.Leftovers
	next := *a
	next.Left = &left
	item := o
	switch {
	case typ == "local_shell_call":
		item = asCall("local_shell", typ, o, "action", &left)
	case typ == "tool_search_call" && o.Given("call_id"):
		item = asCall("tool_search", typ, o, "arguments", &left)
	}
	if o.Fail(next.Add(item)); o.Err() != nil {
		return
	}
	if last := len(next.Message.Content) - 1; typ == "reasoning" && last >= 0 {
		if t, ok := next.Message.Content[last].(chat.Thinking); ok && t.Text == "" && t.Encrypted == "" {
			left.Add(wire.Empty, typ)
			if next.Message.Content = next.Message.Content[:last]; last == 0 {
				next.Message.Content = nil
			}
		}
	}
	b.left(left)
	*a = next
}

// asCall returns the item of a call of a function whose arguments are a field of another item.
func asCall(name, typ string, o *wire.Object, arguments string, left *wire.Leftovers) *wire.Object {
	call := wire.Of("type", []byte(`"function_call"`))
	call.PutText("name", name)
	call.PutText("arguments", o.Compact(arguments))
	id := "call_id"
	if !o.Given(id) {
		id = "id" // for a local shell called through chat completions
	}
	call.PutText("call_id", o.Text(id))
	o.Skip("type")
	left.Rest(typ, o)
	return call
}

// itemTexts returns the texts in an item, which events may repeat.
func itemTexts(o *wire.Object) (texts []string) {
	for _, field := range [...]string{"summary", "content"} {
		if o.Is(field, wire.KindText) {
			texts = append(texts, o.Peek(field))
		}
		_ = wire.Each(o.Look(field), func(part *wire.Object, _ int) error { // errors are reported when the item is read
			texts = append(texts, part.Peek("text"))
			return nil
		})
	}
	return texts
}
