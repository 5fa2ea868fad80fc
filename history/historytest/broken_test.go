package historytest_test

import (
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

// fault is what a store does wrong. What is nil it does right.
type fault struct {
	lines  func(from, to int, lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error]
	append func(s *history.MemoryStore, lines [][]byte) error
	close  func(s *history.MemoryStore) error
}

// broken is a store with a fault.
type broken struct {
	history.MemoryStore
	fault fault
}

func (b *broken) Lines(from, to int) iter.Seq2[[]byte, error] {
	if b.fault.lines != nil {
		return b.fault.lines(from, to, b.MemoryStore.Lines(from, to))
	}
	return b.MemoryStore.Lines(from, to)
}

func (b *broken) Append(lines ...[]byte) error {
	if b.fault.append != nil {
		return b.fault.append(&b.MemoryStore, lines)
	}
	return b.MemoryStore.Append(lines...)
}

func (b *broken) Close() error {
	if b.fault.close != nil {
		return b.fault.close(&b.MemoryStore)
	}
	return b.MemoryStore.Close()
}

var faults = map[string]fault{
	"it says that it took what it did not": {append: func(*history.MemoryStore, [][]byte) error { return nil }},
	"it takes a part of what it refuses": {append: func(s *history.MemoryStore, lines [][]byte) error {
		for _, l := range lines {
			if err := s.Append(l); err != nil {
				return err
			}
		}
		return nil
	}},
	"it turns lines round": {append: func(s *history.MemoryStore, lines [][]byte) error {
		if len(lines) > 1 {
			lines[0], lines[1] = lines[1], lines[0]
		}
		return s.Append(lines...)
	}},
	"it gives lines twice": {lines: func(_, _ int, lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for l, err := range lines {
				if !yield(l, err) || err == nil && !yield(l, err) {
					return
				}
			}
		}
	}},
	"it passes over what is not there": {lines: func(_, _ int, lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for l, err := range lines {
				if err != nil || !yield(l, nil) {
					return
				}
			}
		}
	}},
	"it mends text": {lines: func(_, _ int, lines iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for l, err := range lines {
				if !yield([]byte(string([]rune(string(l)))), err) {
					return
				}
			}
		}
	}},
	"it goes on after it was closed": {close: func(*history.MemoryStore) error { return nil }},
}

// Each fault is found. The tests run in a child process, for they are to fail.
func TestFaultsAreFound(t *testing.T) {
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
			child := exec.Command(os.Args[0], "-test.run=^TestFaultsAreFound$")
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
