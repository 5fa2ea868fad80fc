// Package sendable says what of a message's content providers accept.
package sendable

import (
	"slices"
	"strings"
	"unicode"

	"github.com/promptree-go/promptree/elements/chat"
)

// NoOutput is the text of a result that is blank. Providers require a text.
const NoOutput = "(no output)"

// Parts removes what providers refuse: blank text, and thinking that is unsigned or follows other content.
func Parts(parts chat.Parts) chat.Parts {
	kept := make(chat.Parts, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case nil:
			continue
		case chat.Text:
			if Blank(string(p)) {
				continue
			}
		case chat.Thinking:
			if !Whole(p) || HasAnswer(kept) {
				continue // it was cut off, or providers refuse it in this place
			}
		}
		kept = append(kept, p)
	}
	return kept
}

// Whole reports whether thinking is signed or encrypted, and so was not cut off.
func Whole(t chat.Thinking) bool { return t.Signature != "" || t.Encrypted != "" }

// Thinks reports whether a message is sent with thinking, which then comes first.
func Thinks(m chat.Message) bool {
	return slices.ContainsFunc(Parts(m.Content), func(p chat.Part) bool {
		_, ok := p.(chat.Thinking)
		return ok
	})
}

// Answers reports whether an assistant's message is sent: it holds text, or a call with a tool name.
func Answers(m chat.Message) bool {
	return slices.ContainsFunc(m.ToolCalls, Call) || HasAnswer(Parts(m.Content))
}

// Call reports whether a call is sent. One without a tool name was cut off.
func Call(c chat.ToolCall) bool { return c.ID != "" && c.Name != "" }

// WithThinking returns a message with thinking put first.
func WithThinking(m chat.Message, thinking []chat.Thinking) chat.Message {
	if len(thinking) == 0 {
		return m
	}
	parts := make(chat.Parts, 0, len(thinking)+len(m.Content))
	for _, t := range thinking {
		parts = append(parts, t)
	}
	m.Content = append(parts, m.Content...)
	return m
}

// Blank reports whether a text is only white space, for a provider or for the renderer.
func Blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }) == ""
}

// HasAnswer reports whether there is something besides thinking and cache breakpoints.
func HasAnswer(parts chat.Parts) bool {
	for _, p := range parts {
		switch p.(type) {
		case chat.Thinking, chat.CacheBreakpoint:
		default:
			return true
		}
	}
	return false
}
