package openai

import (
	"slices"
	"strings"
	"unicode"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// imageLimits are the limits in the guide to images and vision
// (developers.openai.com/api/docs/guides/images-vision), read on 2026-11-23.
var imageLimits = provider.ImageLimits{Count: 1500, All: 512_000_000}

// plainName is the form of participants' names in Chat Completions.
var plainName = provider.Form{Max: 64, Allowed: func(r rune) bool {
	return !unicode.IsSpace(r) && !strings.ContainsRune("\ufeff<|\\/>", r)
}}

// hasContent reports whether a message holds something that an API sends besides thinking.
func (a API) hasContent(m chat.Message) bool {
	return slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		switch p := p.(type) {
		case chat.Text, chat.Image, chat.Document:
			return true
		case chat.Opaque:
			at, o := a.placeOf(m.Role, p)
			return at == items.Content || at == items.Whole && o.Peek("type") != "reasoning" ||
				at == asFields && (o.Has("refusal") || o.Has("audio"))
		}
		return false
	})
}

// reasoningFaults returns the reasoning items of an assistant message that Responses would refuse.
func (a API) reasoningFaults(m chat.Message) (found []provider.Fault) {
	if a != Responses || m.Role != chat.RoleAssistant {
		return nil
	}
	pending := -1 // the last reasoning part that no item follows so far
	placed := map[string]bool{}
	for k, p := range m.Content {
		var item *wire.Object
		switch p := p.(type) {
		case chat.Text:
			pending = -1
			continue
		case chat.Thinking:
			item = items.Thought(p)
		case chat.Opaque:
			at, o := items.PlaceOf(m.Role, p)
			switch {
			case at == items.Whole && o.Peek("type") == "reasoning":
				item = o
			case at == items.Mark:
				id := o.Peek("call_id")
				if !placed[id] && slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == id }) {
					pending, placed[id] = -1, true
				}
			case at == items.Content, at == items.Whole:
				pending = -1
			}
		}
		if item == nil {
			continue
		}
		if !items.Readable(item) {
			found = append(found, provider.Fault{Part: k, Rule: provider.RuleReadable, Why: "it has neither encrypted content nor plain text"})
		}
		pending = k
	}
	rest := slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return !placed[c.ID] })
	if pending >= 0 && !rest {
		found = append(found, provider.Fault{Part: pending, Rule: provider.RuleReasoning, Why: "it is not followed by an item"})
	}
	return found
}
