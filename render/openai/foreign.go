package openai

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// readable returns the messages without the encrypted items that another server made, which this one cannot read. One
// that is not known to be another's is sent: the server refuses it if it cannot read it.
func readable(messages []chat.Message, own chat.Origin) []chat.Message {
	own.Model = "" // its models read each other's
	return provider.Without(messages, func(said chat.Message, p chat.Part) bool {
		return encrypted(said.Role, p) && !said.Origin.Matches(own)
	})
}

// encrypted reports whether something in a part is encrypted.
func encrypted(role chat.Role, p chat.Part) bool {
	switch p := p.(type) {
	case chat.Thinking:
		return p.Encrypted != "" && items.Thought(p) != nil
	case chat.Opaque:
		at, o := items.PlaceOf(role, p)
		return at == items.Whole && o.Peek("encrypted_content") != ""
	}
	return false
}

// ownFields returns the messages without the fields, of messages and calls, that another server or model wants back.
func ownFields(messages []chat.Message, own chat.Origin) []chat.Message {
	out := provider.Without(messages, func(m chat.Message, p chat.Part) bool {
		o, is := p.(chat.Opaque)
		if !is || m.Origin.Matches(own) {
			return false
		}
		at, fields := ChatCompletions.placeOf(m.Role, o)
		return at == asFields && !fields.Has("refusal")
	})
	return provider.WithCalls(out, own, completions.WithoutFields)
}
