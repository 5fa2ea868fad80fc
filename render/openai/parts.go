package openai

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/items"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// position is the place of a part in a list of messages.
type position struct{ message, part int }

// breakpoints returns the parts that carry a breakpoint, each with its lifetime. A breakpoint marks the part before it;
// if that cannot carry one (the assistant's, thinking, opaque parts), it moves to the nearest earlier part that can,
// which makes the prefix slightly shorter.
func (a API) breakpoints(messages []chat.Message) map[position]string {
	marks := map[position]string{}
	var last position
	found := false
	for i, m := range messages {
		for k, p := range m.Content {
			if b, ok := p.(chat.CacheBreakpoint); ok && found {
				marks[last] = parts.TTL(b.Lifetime)
			} else if a.carries(m.Role, p) {
				last, found = position{i, k}, true
			}
		}
	}
	return marks
}

// carries reports whether OpenAI accepts a breakpoint on a part.
func (a API) carries(role chat.Role, p chat.Part) bool {
	switch p.(type) {
	case chat.Text:
		return role != chat.RoleAssistant
	case chat.Image, chat.Document:
		return role == chat.RoleUser || a == Responses && role != chat.RoleAssistant
	}
	return false
}

// checkOpaque accepts the parts of either API: those of the other are left out.
func (a API) checkOpaque(m chat.Message, p chat.Opaque) error {
	if at, _ := a.placeOf(m.Role, p); at == items.Nowhere {
		return fmt.Errorf("%s does not accept this part from the %s", a, m.Role)
	}
	return nil
}

func checkImage(p chat.Image) error {
	if !utf8.ValidString(p.URL) {
		return errors.New("an image's URL is not UTF-8")
	}
	if !strings.HasPrefix(p.URL, "https://") && !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "data:") {
		return errors.New("an image needs an http, https or data URL")
	}
	return nil
}

func checkDocument(p chat.Document) error {
	if !utf8.ValidString(p.MediaType) {
		return errors.New("a document's type is not UTF-8")
	}
	if _, err := base64.StdEncoding.DecodeString(p.Data); p.Data == "" || err != nil {
		return errors.New("a document needs its data, in base64")
	}
	return nil
}

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
