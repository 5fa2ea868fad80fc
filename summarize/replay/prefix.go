// Package prefix measures the whole messages with which a request begins as the request before it did, which a provider's
// prompt cache holds.
package prefix

import (
	"bytes"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// Prefix holds the request that was sent last. Set the tokenizer before the first use.
type Prefix struct {
	Tokenizer chat.Tokenizer

	last   []chat.Message
	tokens []int // of each message in last
}

// Common returns the tokens of the whole messages with which a request and the last one begin.
func (p *Prefix) Common(request []chat.Message) (tokens int) {
	for _, t := range p.tokens[:p.commonMessages(request)] {
		tokens += t
	}
	return tokens
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
