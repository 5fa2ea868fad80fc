// Package prefix measures the prefix that a request has in common with the request before it, which a provider's prompt
// cache holds.
package prefix

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Prefix holds the request that was sent last. Set the tokenizer before the first use.
type Prefix struct {
	Tokenizer chat.Tokenizer

	last   []chat.Message
	tokens []int // of each message in last
}

// Common returns the tokens of the common prefix of a request and the last one: whole messages, and the beginning of the
// first text that differs, up to the last position at which a tokenizer splits both texts.
func (p *Prefix) Common(request []chat.Message) int {
	n, total := p.Whole(request)
	if n < len(request) && n < len(p.last) {
		total += commonText(p.Tokenizer, p.last[n], request[n])
	}
	return total
}

// Whole returns the number of whole messages in the common prefix of a request and the last one, and their tokens.
func (p *Prefix) Whole(request []chat.Message) (n, tokens int) {
	n = p.commonMessages(request)
	for _, t := range p.tokens[:n] {
		tokens += t
	}
	return n, tokens
}

// Send records a request as the last one, and returns the tokens of its messages.
func (p *Prefix) Send(request []chat.Message) (total int) {
	tokens := make([]int, len(request))
	n := copy(tokens, p.tokens[:p.commonMessages(request)])
	for i := n; i < len(request); i++ {
		tokens[i] = p.Tokenizer.CountMessage(request[i])
	}
	for _, t := range tokens {
		total += t
	}
	p.last, p.tokens = request, tokens
	return total
}

func (p *Prefix) commonMessages(request []chat.Message) int {
	n := 0
	for n < len(request) && n < len(p.last) && same(p.last[n], request[n]) {
		n++
	}
	return n
}

// same reports whether two messages are sent as the same bytes.
func same(a, b chat.Message) bool {
	return a.Role == b.Role && a.Name == b.Name && a.ToolCallID == b.ToolCallID && a.IsError == b.IsError &&
		slices.Equal(a.ToolCalls, b.ToolCalls) && slices.EqualFunc(a.Content, b.Content, samePart)
}

func samePart(a, b chat.Part) bool {
	if a, ok := a.(chat.Opaque); ok {
		b, ok := b.(chat.Opaque)
		return ok && bytes.Equal(a.Value, b.Value)
	}
	return a == b
}

// commonText returns the tokens of the common prefix of two messages' texts.
func commonText(t chat.Tokenizer, a, b chat.Message) int {
	joiner, ok := t.(chat.Joiner)
	if !ok || a.Role != b.Role || a.Name != b.Name || a.ToolCallID != b.ToolCallID || len(a.Content) == 0 || len(b.Content) == 0 {
		return 0
	}
	text, ok := a.Content[0].(chat.Text)
	other, also := b.Content[0].(chat.Text)
	if !ok || !also {
		return 0
	}
	n := 0
	for n < len(text) && n < len(other) && text[n] == other[n] {
		n++
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	for n > 0 {
		before, size := utf8.DecodeLastRuneInString(string(text[:n]))
		if cuts(joiner, before, string(text[n:])) && cuts(joiner, before, string(other[n:])) {
			return t.CountText(string(text[:n]))
		}
		n -= size
	}
	return 0
}

// cuts reports whether a text may be cut between a character and the rest.
func cuts(t chat.Joiner, before rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || t.SafeCut(before, after)
}
