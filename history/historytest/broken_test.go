package historytest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/historytest"
)

// brokenEnv names the broken store that a child process runs the tests on.
const brokenEnv = "PROMPTREE_HISTORYTEST_BROKEN"

type (
	storedLines = iter.Seq2[history.Stored, error]
	ends        = []history.Position
)

// fault is what a store does wrong. What is nil it does right.
type fault struct {
	read   func(lines storedLines) storedLines
	back   func(lines storedLines) storedLines
	append func(ctx context.Context, s *history.MemoryStore, at history.Position, lines []history.Line) (ends, error)
	close  func(s *history.MemoryStore) error
}

// broken is a store with a fault.
type broken struct {
	history.MemoryStore
	fault fault
}

func (b *broken) Read(ctx context.Context, from history.Position) storedLines {
	if b.fault.read != nil {
		return b.fault.read(b.MemoryStore.Read(ctx, from))
	}
	return b.MemoryStore.Read(ctx, from)
}

func (b *broken) Back(ctx context.Context, before history.Position, id string) storedLines {
	if b.fault.back != nil {
		return b.fault.back(b.MemoryStore.Back(ctx, before, id))
	}
	return b.MemoryStore.Back(ctx, before, id)
}

func (b *broken) Append(ctx context.Context, at history.Position, lines ...history.Line) ([]history.Position, error) {
	if b.fault.append != nil {
		return b.fault.append(ctx, &b.MemoryStore, at, lines)
	}
	return b.MemoryStore.Append(ctx, at, lines...)
}

func (b *broken) Close() error {
	if b.fault.close != nil {
		return b.fault.close(&b.MemoryStore)
	}
	return b.MemoryStore.Close()
}

var faults = map[string]fault{
	"it says that it took what it did not": {append: func(_ context.Context, _ *history.MemoryStore, at history.Position, lines []history.Line) (ends, error) {
		ends := make([]history.Position, len(lines))
		for i := range lines {
			ends[i] = at + history.Position(i) + 1
		}
		return ends, nil
	}},
	"it takes a part of what it refuses": {append: func(ctx context.Context, s *history.MemoryStore, at history.Position, lines []history.Line) (ends, error) {
		var all ends
		for _, l := range lines {
			end, err := s.Append(ctx, at, l)
			if err != nil {
				return nil, err
			}
			at = end[0]
			all = append(all, at)
		}
		return all, nil
	}},
	"it turns lines round": {append: func(ctx context.Context, s *history.MemoryStore, at history.Position, lines []history.Line) (ends, error) {
		if len(lines) > 1 {
			lines[0], lines[1] = lines[1], lines[0]
		}
		return s.Append(ctx, at, lines...)
	}},
	"it appends wherever it is told to": {append: func(ctx context.Context, s *history.MemoryStore, at history.Position, lines []history.Line) (ends, error) {
		for {
			all, err := s.Append(ctx, at, lines...)
			conflict, ok := errors.AsType[*history.ConflictError](err)
			if !ok {
				return all, err
			}
			at = conflict.End
		}
	}},
	"it forgets who follows whom": {append: func(ctx context.Context, s *history.MemoryStore, at history.Position, lines []history.Line) (ends, error) {
		for i := range lines {
			lines[i].Parent = ""
		}
		return s.Append(ctx, at, lines...)
	}},
	"it returns lines twice": {read: func(lines storedLines) storedLines {
		return func(yield func(history.Stored, error) bool) {
			for l, err := range lines {
				if !yield(l, err) || err == nil && !yield(l, err) {
					return
				}
			}
		}
	}},
	"it passes over what is not there": {read: withoutErrors, back: withoutErrors},
	"it mends text": {read: func(lines storedLines) storedLines {
		return func(yield func(history.Stored, error) bool) {
			for l, err := range lines {
				l.Data = []byte(string([]rune(string(l.Data))))
				if !yield(l, err) {
					return
				}
			}
		}
	}},
	"it reads back no further than the first": {back: func(lines storedLines) storedLines {
		return func(yield func(history.Stored, error) bool) {
			for l, err := range lines {
				yield(l, err)
				return
			}
		}
	}},
	"it goes on after it was closed": {close: func(*history.MemoryStore) error { return nil }},
}

func withoutErrors(lines storedLines) storedLines {
	return func(yield func(history.Stored, error) bool) {
		for l, err := range lines {
			if err != nil || !yield(l, nil) {
				return
			}
		}
	}
}

// Each fault is found. The tests run in a child process, for they are to fail.
func TestTheSuiteFindsEachFault(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(brokenEnv); name != "" {
		fault := faults[name]
		historytest.Run(t, historytest.Suite{
			New: func(*testing.T) func() (history.Store, error) {
				return func() (history.Store, error) {
					return &broken{fault: fault}, nil
				}
			},
			Volatile: true,
		})
		return
	}
	names := []string{"none"}
	for name := range faults {
		names = append(names, name)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestTheSuiteFindsEachFault$")
			child.Env = append(os.Environ(), brokenEnv+"="+name)
			out, err := child.CombinedOutput()
			if name == "none" {
				require.NoError(t, err, string(out))
				return
			}
			require.Error(t, err)
			require.Contains(t, string(out), "--- FAIL")
			require.NotContains(t, string(out), "panic")
		})
	}
}
