package openai

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// readable returns the messages without the encrypted items that another server made, which this one cannot read. One
// that is not known to be another's is sent: the server refuses it if it cannot read it.
func (m *Model) readable(messages []chat.Message) []chat.Message {
	own := chat.Origin{Provider: "openai", Server: m.Origin().Server} // its models read each other's
	return provider.Without(messages, func(said chat.Message, p chat.Part) bool {
		return encrypted(said.Role, p) && !said.Origin.Matches(own)
	})
}

// encrypted reports whether something in a part is encrypted.
func encrypted(role chat.Role, p chat.Part) bool {
	switch p := p.(type) {
	case chat.Thinking:
		item, _ := reasoningItem(p)
		return item != nil && p.Encrypted != ""
	case chat.Opaque:
		at, o := Responses.placeOf(role, p)
		return at == asItem && o.text("encrypted_content") != ""
	}
	return false
}
