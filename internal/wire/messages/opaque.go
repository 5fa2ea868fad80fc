package messages

import (
	"encoding/json"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire"
)

// PlaceMark returns a part that marks the place of a call in the content, because a [chat.Message] holds its calls apart
// from it.
func PlaceMark(id string) chat.Opaque {
	return encode(struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}{TypeToolUse, id})
}

// LaterThinking returns thinking that does not come first in an answer.
func LaterThinking(t chat.Thinking) chat.Opaque {
	if t.Encrypted != "" {
		return encode(struct {
			Type string `json:"type"`
			Data string `json:"data"`
		}{TypeRedacted, t.Encrypted})
	}
	return encode(struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}{TypeThinking, t.Text, t.Signature})
}

// encode returns a value as an opaque part, encoded without escapes for HTML.
func encode(v any) chat.Opaque {
	value, _ := plainjson.Marshal(v) // texts, and JSON that was parsed before, always encode
	return chat.Opaque{Value: value}
}

// Caller holds the fields of a call besides its id, name and arguments. It is the call's signature.
type Caller struct {
	// Caller as the API wrote it, if it is not the model itself.
	Caller json.RawMessage `json:"caller,omitempty"`
	// Toolset of the tool.
	Toolset string `json:"toolset_name,omitempty"`
}

// callerOf returns the signature that stores a call's caller, "" if the model itself called a tool of the request.
func callerOf(b *wire.Object) string {
	var c Caller
	if caller := b.Inside("caller"); caller != nil {
		if by := caller.Peek("type"); by != "" && by != "direct" {
			c.Caller = b.Look("caller")
		}
		b.Skip("caller")
	}
	if b.Is("toolset_name", wire.KindText) {
		c.Toolset = b.Text("toolset_name")
	}
	if c.Caller == nil && c.Toolset == "" {
		return ""
	}
	return string(encode(c).Value)
}

// ParseCaller reads a signature that a [Decoder] wrote, and returns false for the signature of another provider.
func ParseCaller(signature string) (Caller, bool) {
	var c Caller
	if len(signature) == 0 || signature[0] != '{' || json.Unmarshal([]byte(signature), &c) != nil {
		return Caller{}, false
	}
	return c, len(c.Caller) > 0 || c.Toolset != ""
}
