package importer

import (
	"encoding/json"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// openAI reads a message of OpenAI's chat completions, also of the form before tools: the results of those name a function
// and not a call, and belong to its last call.
func (b *builder) openAI(r Record, o *wire.Object) {
	var m chat.Message
	var name json.RawMessage // of a function
	switch role := o.Peek("role"); role {
	case "system", "developer":
		b.custom(r, "system", o)
		return
	case "assistant":
		b.thinkingBlocks(&m, o)
	case "function":
		name = o.Raw("name")
		o.PutText("role", "tool")
		o.PutText("tool_call_id", legacyCall(r.Parent))
	case "user", "tool":
	default:
		b.unknownRole(r, role, o)
		return
	}
	var left wire.Leftovers
	said, _ := completions.Decode(o, &left) // an error is recorded in o
	said.Content = append(m.Content, said.Content...)
	b.left(left)
	if said.Role == chat.RoleAssistant && o.Given("function_call") {
		if r.ID == "" {
			r.ID = b.madeUp()
		}
		call := o.Object("function_call")
		said.ToolCalls = append(said.ToolCalls, chat.ToolCall{
			ID: legacyCall(r.ID), Name: call.Text("name"), Arguments: call.Text("arguments"),
		})
		b.rest("function_call", call)
	}
	if o.Is("usage", wire.KindObject) {
		r.Usage = b.chatUsage(o)
	}
	said.Origin.Model = o.Peek("model")
	o.Put("name", name)
	b.say(r, said, o.Remainder())
}

// unknownRole keeps a message of a role that neither API has.
func (b *builder) unknownRole(r Record, role string, o *wire.Object) {
	o.Text("role") // an error if it is none
	b.note(noteUnknown, "role "+role)
	b.custom(r, "role", o)
}

// legacyCall returns an id for a call without one, from that of its message. The call's result comes right after the
// message.
func legacyCall(record string) string { return "call-" + record }
