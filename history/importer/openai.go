package importer

import (
	"encoding/json"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// openAI reads a message of OpenAI's chat completions, also of the form before tools: the results of those name a function
// and not a call, and belong to its last call.
func (c *chatReader) openAI(r Record, o *wire.Object, raw json.RawMessage, notes *pending) error {
	var m chat.Message
	var name json.RawMessage // of a function
	switch role := o.Peek("role"); role {
	case "system", "developer":
		r.Body = entry.Custom{Name: "system", Data: clone(raw)}
		return c.add(r)
	case "assistant":
		if _, err := thinkingBlocks(&m, o, notes); err != nil {
			return err
		}
	case "function":
		name = o.Raw("name")
		o.PutText("role", "tool")
		o.PutText("tool_call_id", legacyCall(r.Parent))
	case "user", "tool":
	default:
		if o.Text("role"); o.Err() != nil {
			return o.Err()
		}
		notes.add(Unknown, "role "+role)
		r.Body = entry.Custom{Name: "role", Data: clone(raw)}
		return c.add(r)
	}
	var left wire.Leftovers
	said, err := completions.Decode(o, &left)
	if err != nil {
		return err
	}
	said.Content = append(m.Content, said.Content...)
	notes.left(left)
	if said.Role == chat.RoleAssistant && o.Given("function_call") {
		if r.ID == "" {
			r.ID = c.madeUp()
		}
		call := o.Object("function_call")
		said.ToolCalls = append(said.ToolCalls, chat.ToolCall{
			ID: legacyCall(r.ID), Name: call.Text("name"), Arguments: call.Text("arguments"),
		})
		notes.rest("function_call", call)
	}
	if o.Is("usage", wire.KindObject) {
		r.Usage, _ = chatUsage(o, notes) // its error is that of the message
	}
	if o.Err() != nil {
		return o.Err()
	}
	said.Origin.Model = o.Peek("model")
	o.Put("name", name)
	r.Body = entry.Message{Message: said, Data: o.Remainder()}
	return c.add(r)
}

// legacyCall returns an id for a call without one, from that of its message. The call's result comes right after the
// message.
func legacyCall(record string) string { return "call-" + record }

// inputJSON returns a text as a JSON argument.
func inputJSON(text string) string {
	input, _ := plainjson.Marshal(map[string]string{"input": text}) // strings always encode
	return string(input)
}
