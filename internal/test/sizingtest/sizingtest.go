// Package sizingtest provides a tokenizer for tests whose counts are easy to check by hand.
package sizingtest

import (
	"github.com/promptree-go/promptree/elements/chat"
)

// The tokens that a tokenizer for tests counts besides text.
const (
	ImageTokens   = 20 // an image or a document
	MessageTokens = 3  // a message, besides its name, its parts and its calls
)

// Quarter is a tokenizer that counts a token for every four bytes, rounded up.
type Quarter struct{}

var _ chat.Tokenizer = Quarter{}

// CountText counts a text.
func (Quarter) CountText(text string) int { return (len(text) + 3) / 4 }

// CountPart counts a part.
func (q Quarter) CountPart(p chat.Part) int { return CountPart(q, p) }

// CountMessage counts a message.
func (q Quarter) CountMessage(m chat.Message) int { return CountMessage(q, m) }

// CountTools counts definitions of tools.
func (q Quarter) CountTools(tools []chat.Tool) int { return CountTools(q, tools) }

// CountTools counts definitions of tools with t.
func CountTools(t chat.Tokenizer, tools []chat.Tool) int {
	n := 0
	for _, tool := range chat.Undeferred(tools) {
		n += t.CountText(tool.Name + tool.Description + string(tool.Parameters))
	}
	return n
}

// CountPart counts a part with t.
func CountPart(t chat.Tokenizer, p chat.Part) int {
	switch p := p.(type) {
	case chat.Text:
		return t.CountText(string(p))
	case chat.Thinking:
		return t.CountText(p.Text + p.Encrypted)
	case chat.Opaque:
		return p.Tokens
	case chat.Image, chat.Document:
		return ImageTokens
	}
	return 0
}

// CountMessage counts a message with t: its name, its parts and its calls.
func CountMessage(t chat.Tokenizer, m chat.Message) int {
	n := MessageTokens + t.CountText(m.Name)
	for _, p := range m.Content {
		n += t.CountPart(p)
	}
	for _, c := range m.ToolCalls {
		n += t.CountText(c.Name) + t.CountText(c.Arguments)
	}
	return n
}
