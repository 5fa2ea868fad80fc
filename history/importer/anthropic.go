package importer

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// anthropic reads a message of Anthropic's messages API, version 2023-06-01: a message of a request, or an answer with
// its id, model and usage.
func (b *builder) anthropic(r Record, o *wire.Object) {
	role := chat.Role(o.Peek("role"))
	switch role {
	case chat.RoleSystem:
		b.custom(r, "system", o)
		return
	case chat.RoleUser, chat.RoleAssistant:
		o.Skip("role")
	default:
		b.unknownRole(r, string(role), o)
		return
	}
	d := b.blocks(role, o)
	r.Usage = b.chatUsage(o)
	d.Message.Origin.Model = o.Peek("model")
	if o.Is("metrics", wire.KindObject) || o.Is("modelInfo", wire.KindObject) {
		r, d.Message.Origin.Model = b.cline(r, o)
	}
	if last := len(d.Results) - 1; last >= 0 && len(d.Message.Content) == 0 {
		b.say(b.sayAll(r, d.Results[:last]), d.Results[last], o.Remainder())
		return
	}
	b.say(b.sayAll(r, d.Results), d.Message, o.Remainder())
}

// cline reads the model and the usage that Cline stores with an answer. Its prompt tokens are all, and the cached ones
// those of them that were read.
func (b *builder) cline(r Record, o *wire.Object) (_ Record, model string) {
	provider := ""
	b.inside(o, "", "modelInfo", func(info *wire.Object) {
		model, provider = info.OptionalText("modelId"), info.OptionalText("providerId")
	})
	b.inside(o, "", "metrics", func(metrics *wire.Object) {
		r.Cost = metrics.Amount("cost")
		b.inside(metrics, "metrics.", "tokens", func(u *wire.Object) { r.Usage = clineUsage.read(u) })
	})
	return b.answeredBy(r, provider, model), model
}
