package inspect

import (
	"context"
	"fmt"
	"sync"
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

// Log collects the steps of a session. The zero value is empty. It is safe for concurrent use. What steps have in common it holds once.
type Log struct {
	mu sync.Mutex

	texts    table[string]
	nodes    table[node]
	messages table[message]
	prompts  []prompt
	steps    []step
}

// Add adds a step.
func (l *Log) Add(ctx context.Context, s Step) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Name == "" {
		s.Name = fmt.Sprint("step ", len(l.steps)+1)
	}
	n, err := l.prompt(ctx, s.Request)
	if err != nil {
		return err
	}
	to := step{
		Prompt: n, Did: l.text(s.Did), Dollars: s.Dollars, Explain: s.Explain, Cleared: s.Cleared, Break: s.Break,
	}
	if !s.At.IsZero() {
		to.At = s.At.UnixMilli()
	}
	if s.Usage != (chat.Usage{}) {
		to.Usage = &s.Usage
	}
	for _, note := range s.Notes {
		to.Notes = append(to.Notes, l.text(note))
	}
	for _, c := range s.Compactions {
		to.Compactions = append(to.Compactions, compaction{c, l.counted(c.Shown, s.Tokenizer), l.counted(c.Covered, s.Tokenizer)})
	}
	l.steps = append(l.steps, to)
	return nil
}

// counted adds messages, with their counts if there is a tokenizer.
func (l *Log) counted(messages []chat.Message, t chat.Tokenizer) []int {
	indexes := make([]int, len(messages))
	for i, m := range messages {
		tokens := 0
		if t != nil {
			tokens = t.CountMessage(m)
		}
		indexes[i] = l.message(m, tokens)
	}
	return indexes
}

// step is a step as the page has it.
type step struct {
	Prompt      int          `json:"prompt"`
	At          int64        `json:"at,omitempty"` // in milliseconds
	Did         int          `json:"did,omitempty"`
	Usage       *chat.Usage  `json:"usage,omitempty"`
	Dollars     float64      `json:"dollars,omitempty"`
	Explain     string       `json:"explain,omitempty"`
	Compactions []compaction `json:"compactions,omitempty"`
	Cleared     int          `json:"cleared,omitempty"`
	Break       *CacheBreak  `json:"break,omitempty"`
	Notes       []int        `json:"notes,omitempty"`
}

type compaction struct {
	Compaction
	Shown   []int `json:"shown,omitempty"`
	Covered []int `json:"covered,omitempty"`
}
