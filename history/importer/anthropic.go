package importer

import (
	"encoding/json"

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
		notes.add(Unknown, "role "+string(role))
		r.Body = entry.Custom{Name: "role", Data: clone(raw)}
		return c.add(r)
	}
	b, err := readBlocks(role, o, notes)
	if err != nil {
		return err
	}
	if r.Usage, err = chatUsage(o, notes); err != nil {
		return err
	}
	model := o.Peek("model")
	if o.Is("metrics", wire.KindObject) || o.Is("modelInfo", wire.KindObject) {
		if model, err = c.cline(&r, o, notes); err != nil {
			return err
		}
	}
	data := o.Remainder()
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

// cline reads the model and the usage that Cline stores with an answer. Its prompt tokens are all, and the cached ones
// those of them that were read.
func (c *chatReader) cline(r *Record, o *wire.Object, notes *pending) (model string, err error) {
	provider := ""
	if o.Is("modelInfo", wire.KindObject) {
		info := o.Object("modelInfo")
		model, provider = info.OptionalText("modelId"), info.OptionalText("providerId")
		notes.rest("modelInfo", info)
	}
	if o.Is("metrics", wire.KindObject) {
		metrics := o.Object("metrics")
		if r.Cost = metrics.Amount("cost"); metrics.Is("tokens", wire.KindObject) {
			u := metrics.Object("tokens")
			r.Usage = chat.Usage{Input: u.Count("prompt"), Output: u.Count("completion"), CacheRead: u.Count("cached")}
			notes.rest("metrics.tokens", u)
		}
		notes.rest("metrics", metrics)
	}
	if o.Err() != nil {
		return "", o.Err()
	}
	*r, err = c.answeredBy(*r, provider, model)
	return model, err
}
