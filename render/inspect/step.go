package inspect

import (
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Step is one request of an agent, with the events since the previous one.
type Step struct {
	Rendered
	// At is the time of the request. Not shown if it is zero.
	At time.Time
	// Did describes the model's answer in a few words.
	Did string
	// Usage is what the provider reported, zero if it is not known.
	Usage chat.Usage
	// Dollars is the cost of the request in US dollars, 0 if it is not known.
	Dollars float64
	// Explain is the decision on compaction, with its reasons.
	Explain string
	// Compactions since the previous step. The prompt shows them.
	Compactions []StepCompaction
	// Cleared is the number of tokens of old tool output that were cleared since the previous step.
	Cleared int
	// ClearedWhy is the decision to clear it, in words.
	ClearedWhy string
	// Lost says that the provider had dropped the previous request from its cache, nil if it had not. The prompt is not to
	// blame.
	Lost *StepCacheBreak
	// LookBack says what the answer needed that the prompt no longer showed, nil if nothing or if it is not known.
	LookBack *LookBack
	// Break is the break of the provider's cache by this prompt, nil if there was none.
	Break *StepCacheBreak
	// Notes are other events since the previous step, such as a summary that failed.
	Notes []string
}

// StepCompaction is a replacement of history by a summary.
type StepCompaction struct {
	// Before and After are the tokens of the prompt before and after it.
	Before int `json:"before"`
	After  int `json:"after"`
	// Reason names the trigger, Why is the decision in words.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	// Mode is the way in which the summary was made, Model the name of the model that wrote it.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	// Dollars is the cost of the summary, 0 if it is not known.
	Dollars float64 `json:"dollars,omitempty"`
	// Shown are the messages in place of the covered ones.
	Shown []chat.Message `json:"-"`
	// Covered are the messages that were replaced, in order.
	Covered []chat.Message `json:"-"`
}

// LookBack is an answer that needed what its prompt no longer showed.
type LookBack struct {
	// Facts are the names, paths, numbers and lines that it needed.
	Facts []string `json:"facts,omitempty"`
	// Dollars is the cost of looking them up, which was not spent.
	Dollars float64 `json:"dollars,omitempty"`
}

// StepCacheBreak is a request whose prefix differs from what the provider has cached.
type StepCacheBreak struct {
	// Why says what changed, and the usual reasons.
	Why string `json:"why,omitempty"`
	// Tokens is the number of tokens that the cache would have served, Dollars their additional cost.
	Tokens  int     `json:"tokens"`
	Dollars float64 `json:"dollars,omitempty"`
}
