package guard

import (
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
)

// mostTokens is the largest count that is accepted, so that the counts of all pieces can be added up.
const mostTokens = 1 << 40

// Check returns a tokenizer that checks each count of another. If a count is below 0 or above 2^40, or the other
// panics, it panics with a [*TokenizerError].
func Check(t chat.Tokenizer) chat.Tokenizer {
	if joiner, ok := t.(chat.Joiner); ok {
		return checkedJoiner{checked{t}, joiner}
	}
	return checked{t}
}

// checked checks the counts of a tokenizer.
type checked struct{ chat.Tokenizer }

// checkedJoiner checks the counts of a [chat.Joiner].
type checkedJoiner struct {
	checked
	joiner chat.Joiner
}

func (c checked) CountText(text string) (tokens int) {
	defer c.check("CountText", &tokens)
	return c.Tokenizer.CountText(text)
}

func (c checked) CountPart(part chat.Part) (tokens int) {
	defer c.check("CountPart", &tokens)
	return c.Tokenizer.CountPart(part)
}

func (c checked) CountMessage(m chat.Message) (tokens int) {
	defer c.check("CountMessage", &tokens)
	return c.Tokenizer.CountMessage(m)
}

func (c checked) CountTools(tools []chat.Tool) (tokens int) {
	defer c.check("CountTools", &tokens)
	return c.Tokenizer.CountTools(tools)
}

func (c checkedJoiner) CountFrame(m chat.Message) (tokens int, joined bool) {
	defer c.check("CountFrame", &tokens)
	return c.joiner.CountFrame(m)
}

func (c checkedJoiner) SafeCut(before, after rune) bool { return c.joiner.SafeCut(before, after) }

// check is deferred by each method: it checks the count that the method returned, or recovers its panic.
func (c checked) check(method string, tokens *int) {
	if p := recover(); p != nil {
		panicked := callback.Panicked(p)
		panic(tokenizerError(c.Tokenizer, fmt.Errorf("%s: %w", method, panicked), panicked.Stack))
	}
	if *tokens < 0 || *tokens > mostTokens {
		panic(tokenizerError(c.Tokenizer, fmt.Errorf("%s returned %d tokens: the range is 0 to %d", method, *tokens, mostTokens), nil))
	}
}

func tokenizerError(t chat.Tokenizer, err error, stack []byte) *TokenizerError {
	return &TokenizerError{Tokenizer: fmt.Sprintf("%T", t), Err: err, Stack: stack}
}
