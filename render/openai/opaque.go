package openai

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// asFields is the place of the fields of an assistant message of Chat Completions.
const asFields = items.Mark + 1

// chatContent are the types of parts that Chat Completions accepts from each role.
var chatContent = map[chat.Role][]string{
	chat.RoleSystem:    {"text"},
	chat.RoleUser:      {"text", "image_url", "input_audio", "file"},
	chat.RoleAssistant: {"text", "refusal"},
	chat.RoleTool:      {"text"},
}

// placeOf returns the place of an opaque part in a message of that role, and the part as an object, nil if it is none.
// Chat Completions leaves out the reasoning of Responses, the fields of its items and the places of its calls.
func (a API) placeOf(role chat.Role, p chat.Opaque) (items.Place, *wire.Object) {
	at, o := items.PlaceOf(role, p)
	if a == Responses || o == nil {
		return at, o
	}
	switch kind := o.Peek("type"); {
	case slices.Contains(chatContent[role], kind):
		return items.Content, o
	case kind == dialect.Fields && role == chat.RoleAssistant:
		return asFields, o
	case at == items.Head, at == items.Mark, at == items.Whole && kind == "reasoning":
		return at, o
	}
	return items.Nowhere, o
}
