package history

import (
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
)

// memo remembers the element that shows a round, or the start of a turn, for the most recent limits and sizing, so that
// a session holds one of each. If nothing was cut, and would not be with other limits, the element stays the same.
type memo struct {
	last atomic.Pointer[finished]
	unit atomic.Pointer[measured]
}

// measured holds the messages of a unit and their tokens, and what they were made with.
type measured struct {
	by       finishing
	messages []chat.Message // empty if the unit is not sent
	tokens   int
}

// measure returns the messages made for a sizing, and their tokens. If keep is set, the tokenizer's counts do not
// change.
func (m *memo) measure(by finishing, keep bool, make func() []chat.Message) ([]chat.Message, int) {
	if last := m.unit.Load(); keep && last != nil && last.by == by {
		return last.messages, last.tokens
	}
	made := &measured{by: by, messages: make()}
	for _, message := range made.messages {
		made.tokens += by.tokenizer.CountMessage(message)
	}
	if keep {
		m.unit.Store(made)
	}
	return made.messages, made.tokens
}

// finished is an element made of messages, and what it was made with.
type finished struct {
	by       finishing
	keep     bool               // the tokenizer's counts do not change
	whole    bool               // nothing was cut
	messages *elements.Finished // nil if there are none
	rank     int
	ranked   elements.Node // the element with its rank as priority
}

// finishing holds what determines how messages are finished.
type finishing struct {
	limits    RoundLimits
	budget    int
	tokenizer chat.Tokenizer
}
