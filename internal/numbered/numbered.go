// Package numbered numbers the entries of sessions, so that tests and replays of the same do the same.
package numbered

import (
	"context"
	"strconv"

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
func Session() *history.Session {
	s, err := history.New(context.Background(), &history.MemoryStore{}, history.Options{IDs: IDs()})
	if err != nil {
		panic(err) // a store in memory takes a header
	}
	return s
}
