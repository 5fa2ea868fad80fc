package replay

import (
	"bytes"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// prefix measures the whole messages with which a request begins as the request before it did, which a provider's prompt
// cache holds.
type prefix struct {
	tokenizer chat.Tokenizer
	last      []chat.Message // the request that was sent last
	tokens    []int          // of each message in last
}

// common returns the tokens of the whole messages with which a request and the last one begin.
func (p *prefix) common(request []chat.Message) (tokens int) {
	for _, t := range p.tokens[:p.commonMessages(request)] {
		tokens += t
	}
	return tokens
}

// send records a request as the last one, and returns the tokens of its messages.
func (p *prefix) send(request []chat.Message) (total int) {
	tokens := make([]int, len(request))
	n := copy(tokens, p.tokens[:p.commonMessages(request)])
	for i := n; i < len(request); i++ {
		tokens[i] = p.tokenizer.CountMessage(request[i])
	}
	for _, t := range tokens {
		total += t
	}
	p.last, p.tokens = request, tokens
	return total
}

func (p *prefix) commonMessages(request []chat.Message) int {
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
