package summarize

import (
	"errors"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// failure remembers what could not be compacted, so that it is not tried again before something has changed.
type failure struct {
	needed int // what the prompt took, which is another where another prompt is rendered
	until  time.Time
	err    error
}

// settled is what a compaction left that is still over its limit.
type settled struct{ used int }

// maxFailures that are remembered, one a place in the tree of the session.
const maxFailures = 32

// place is the newest entry on the path to the leaf that a model sees, or that changes what it sees. Labels and the like,
// and a walk to another branch and back, do not move it.
func (c *Compactor) place() string {
	last := ""
	for e, err := range c.Session.PathTo("") {
		if err != nil {
			return "" // which the next render tells of
		}
		if _, shown := e.Shown(); shown || e.Type() == history.TypeCompaction {
			last = e.ID
		}
	}
	return last
}

// remember notes a failure, unless it may be gone the next time.
func (c *Compactor) remember(o order, why error) {
	var until time.Time
	if after := c.Policy.RetryAfter; after > 0 {
		until = time.Now().Add(after)
	}
	if passing(why) {
		transient, ok := errors.AsType[*chat.TransientError](why)
		if !ok || transient.RetryAfter <= 0 {
			return
		}
		until = time.Now().Add(transient.RetryAfter)
	}
	place := c.place()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) >= maxFailures {
		clear(c.failures)
	}
	c.failures[place] = failure{needed: o.at.needed(), until: until, err: why}
}

// remembered is the failure that the same would end in again, nil where there is none.
func (c *Compactor) remembered(o order) error {
	c.mu.Lock()
	none := len(c.failures) == 0
	c.mu.Unlock()
	if none {
		return nil
	}
	place := c.place()
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.failures[place]
	if !ok || f.needed != o.at.needed() {
		return nil
	}
	if !f.until.IsZero() && !time.Now().Before(f.until) {
		delete(c.failures, place)
		return nil
	}
	return f.err
}

// settle notes what a compaction left.
func (c *Compactor) settle(o order, m history.Compaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.failures)
	c.jitter, c.settled = nil, nil
	used := m.TokensAfter + c.Tokenizer.CountTools(c.Tools)
	if o.limit > 0 && used >= o.limit {
		c.settled = &settled{used}
	}
}

// blocked says why nothing is done although a condition holds, "" where nothing is in the way.
func (c *Compactor) blocked(s sight, background bool) string {
	if state := c.State(); state == StateInProgress {
		return "a summary is being made in the background"
	}
	if err := c.remembered(order{at: s}); err != nil {
		return fmt.Sprintf("it failed here, and nothing was said since: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled != nil {
		if s.moment.Used < c.settled.used {
			c.settled = nil
		} else if more := c.settled.used + max(1, s.moment.Window/20); s.moment.Used < more {
			return fmt.Sprintf("the last compaction could not come below: it left %d tokens, and is not tried again before %d are used", c.settled.used, more)
		}
	}
	return ""
}

// news tells whether an error was not told before.
func (c *Compactor) news(e *FixedPartsError) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed != nil && *c.fixed == *e {
		return false
	}
	c.fixed = e
	return true
}
