// Package numbered provides sessions with predictable ids and times, so that tests and replays give the same result
// each time.
package numbered

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// IDs returns a source of the ids e1, e2, and so on.
func IDs() func() string {
	n := 0
	return func() string {
		n++
		return "e" + strconv.Itoa(n)
	}
}

// Session returns an empty session in memory whose entries get the ids e1, e2, and so on.
func Session() *history.Session { return session(history.Options{IDs: IDs()}) }

// Clock advances by a second each time it is read, and can be set to a later time. It is safe for concurrent use.
type Clock struct {
	mu   sync.Mutex
	time time.Time
}

// NewClock returns a clock that starts at a time.
func NewClock(start time.Time) *Clock { return &Clock{time: start} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(time.Second)
	return c.time
}

// Set sets the clock, unless it is later already.
func (c *Clock) Set(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to.After(c.time) {
		c.time = to
	}
}

// Replay returns a session with a fixed id and a clock, whose agent has the tools of package recall. The ids of its
// entries are as long as usual ones, because prompts hold them.
func Replay(c *Clock) *history.Session {
	next := IDs()
	ids := func() string {
		id := next()
		return "01m877yn5t1xkfqvq8j4"[:max(0, 20-len(id))] + id
	}
	return session(history.Options{Header: entry.Header{ID: "replay"}, Now: c.Now, Recall: true, IDs: ids})
}

func session(o history.Options) *history.Session {
	s, err := history.New(context.Background(), &storage.Memory{}, o)
	if err != nil {
		panic(err) // an empty store in memory never fails
	}
	return s
}
