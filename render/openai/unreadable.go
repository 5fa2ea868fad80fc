package openai

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/openai/openai-go/v3"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// unreadable are the encrypted items that the server could not read, by hash: reasoning and compactions of another
// organisation, region or model. Items that the server makes later are not among them.
type unreadable struct {
	mu    sync.Mutex
	items map[[sha256.Size]byte]bool
}

// refusesEncrypted reports whether a server refused a request because it could not read an encrypted item. A gateway
// may have OpenAI's error in the text of its own.
func refusesEncrypted(err error) bool {
	api, ok := errors.AsType[*sdk.Error](err)
	if !ok || api.StatusCode != http.StatusBadRequest {
		return false
	}
	return strings.Contains(api.Code+api.Message, "invalid_encrypted_content") ||
		strings.Contains(api.Message, "encrypted content") && strings.Contains(api.Message, "could not be verified")
}

// learns reports whether an error refuses encrypted items in messages, and adds all of them: OpenAI does not say which.
func (u *unreadable) learns(err error, messages []chat.Message) bool {
	if !refusesEncrypted(err) {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	found := false
	for _, m := range messages {
		for _, p := range m.Content {
			if sum, ok := encrypted(m.Role, p); ok {
				if u.items == nil {
					u.items = map[[sha256.Size]byte]bool{}
				}
				u.items[sum], found = true, true
			}
		}
	}
	return found
}

// without returns the messages without the items that the server could not read.
func (u *unreadable) without(messages []chat.Message) []chat.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.items) == 0 {
		return messages
	}
	return provider.Without(messages, func(m chat.Message, p chat.Part) bool {
		sum, ok := encrypted(m.Role, p)
		return ok && u.items[sum]
	})
}

// readable returns the messages without the encrypted items that another server made, which this one cannot read. One
// that is not known to be another's is sent: the server refuses it if it cannot read it.
func (m *Model) readable(messages []chat.Message) []chat.Message {
	own := chat.Origin{Provider: "openai", Server: m.origin().Server} // its models read each other's
	return provider.Without(messages, func(said chat.Message, p chat.Part) bool {
		_, is := encrypted(said.Role, p)
		return is && !said.Origin.Matches(own)
	})
}

// encrypted returns the hash of what is encrypted in a part, false if nothing is.
func encrypted(role chat.Role, p chat.Part) (sum [sha256.Size]byte, ok bool) {
	content := ""
	switch p := p.(type) {
	case chat.Thinking:
		if item, _ := reasoningItem(p); item != nil {
			content = p.Encrypted
		}
	case chat.Opaque:
		if at, o := Responses.placeOf(role, p); at == asItem {
			content = o.text("encrypted_content")
		}
	}
	return sha256.Sum256([]byte(content)), content != ""
}
