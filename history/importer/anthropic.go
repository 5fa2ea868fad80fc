package importer

import (
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// anthropic reads a message of Anthropic's messages API, version 2023-06-01: a message of a request, or an answer with
// its id, model and usage.
func (c *chatReader) anthropic(r Record, o *wire.Object, raw json.RawMessage, notes *pending) error {
	role := chat.Role(o.Text("role"))
	switch {
	case o.Err() != nil:
		return o.Err()
	case role == chat.RoleSystem:
		r.Body = entry.Custom{Name: "system", Data: clone(raw)}
		return c.add(r)
	case role != chat.RoleUser && role != chat.RoleAssistant:
		return fmt.Errorf("unknown role %q", clip(string(role)))
	}
	b, err := readBlocks(role, o, notes)
	if err != nil {
		return err
	}
	if r.Usage, err = chatUsage(o, notes); err != nil {
		return err
	}
	model, data := o.Peek("model"), o.Remainder()
	for i, result := range b.Results {
		r.Body = entry.Message{Message: result}
		if i == len(b.Results)-1 && len(b.Message.Content) == 0 {
			r.Body = entry.Message{Message: result, Data: data}
		}
		if err := c.add(r); err != nil {
			return err
		}
		r.Parent = c.tip
	}
	if len(b.Results) > 0 && len(b.Message.Content) == 0 {
		return nil
	}
	b.Message.Origin.Model = model
	r.Body = entry.Message{Message: b.Message, Data: data}
	return c.add(r)
}
