package inspect

import (
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Step is one request of an agent, and what happened since the one before.
type Step struct {
	Request
	// At is when the request was made. Not shown by default.
	At time.Time
	// Did says in a few words what the model answered.
	Did string
	// Usage that the provider reported, and what the request cost in US dollars. Not known by default.
	Usage   chat.Usage
	Dollars float64
	// Explain says what was decided on compaction, and why.
	Explain string
	// Compactions since the step before, which the prompt shows.
	Compactions []Compaction
	// Cleared is how many tokens of old tool output were left out since the step before.
	Cleared int
	// Break of the provider's cache by this prompt, nil if there was none.
	Break *CacheBreak
	// Notes of what else happened since the step before, such as a summary that failed.
	Notes []string
}

// Compaction is a history that was replaced.
type Compaction struct {
	// Before and After are the tokens that the prompt took.
	Before int `json:"before"`
	After  int `json:"after"`
	// Reason is its occasion, Why the decision in words, Mode the way in which the summary was made, Model who made it.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	Mode   string `json:"mode,omitempty"`
	Model  string `json:"model,omitempty"`
	// Dollars that the summary cost, 0 if that is not known.
	Dollars float64 `json:"dollars,omitempty"`
	// Shown are the messages in place of what is covered.
	Shown []chat.Message `json:"-"`
	// Covered are the messages that were replaced, in order.
	Covered []chat.Message `json:"-"`
}

// CacheBreak is what a prompt changed of what the provider had cached.
type CacheBreak struct {
	// Why says what changed, and the usual reasons.
	Why string `json:"why,omitempty"`
	// Tokens that the cache would have had, and the US dollars that they cost.
	Tokens  int     `json:"tokens"`
	Dollars float64 `json:"dollars,omitempty"`
}
