// Package numbered numbers the entries of sessions, so that tests and replays of the same do the same.
package numbered

import (
	"context"
	"strconv"
	"time"

	"github.com/promptree-go/promptree/history"
)

// IDs returns a source of the ids e1, e2, and so on.
func IDs() func() string {
	n := 0
	return func() string {
		n++
		return "e" + strconv.Itoa(n)
	}
}

// Session returns an empty session in memory, the entries of which get the ids e1, e2, and so on.
func Session() *history.Session { return session(history.Options{}) }

// Replay returns such a session, whose id is always the same and whose clock goes on by a second with each entry.
func Replay(start time.Time) *history.Session {
	return session(history.Options{Header: history.Header{ID: "replay"}, Now: func() time.Time {
		start = start.Add(time.Second)
		return start
	}})
}

func session(o history.Options) *history.Session {
	o.IDs = IDs()
	s, err := history.New(context.Background(), &history.MemoryStore{}, o)
	if err != nil {
		panic(err) // a store in memory takes a header
	}
	return s
}
