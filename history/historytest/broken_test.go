package historytest_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
)

// brokenEnv names the broken store that a child process runs the tests on.
const brokenEnv = "PROMPTREE_HISTORYTEST_BROKEN"

type (
	storedLines = iter.Seq2[storage.Stored, error]
	ends        = []storage.Position
)

// fault replaces methods of a store by wrong ones. A nil function leaves the method as it is.
type fault struct {
	read   func(lines storedLines) storedLines
	back   func(lines storedLines) storedLines
	append func(ctx context.Context, s *storage.Memory, at storage.Position, lines []storage.Line) (ends, error)
	close  func(s *storage.Memory) error
}

// broken is a store with a fault.
type broken struct {
	storage.Memory
	fault fault
}

func (b *broken) Read(ctx context.Context, from storage.Position) storedLines {
	if b.fault.read != nil {
		return b.fault.read(b.Memory.Read(ctx, from))
	}
	return b.Memory.Read(ctx, from)
}

func (b *broken) Back(ctx context.Context, before storage.Position, id string) storedLines {
	if b.fault.back != nil {
		return b.fault.back(b.Memory.Back(ctx, before, id))
	}
	return b.Memory.Back(ctx, before, id)
}

func (b *broken) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if b.fault.append != nil {
		return b.fault.append(ctx, &b.Memory, at, lines)
	}
	return b.Memory.Append(ctx, at, lines...)
}

func (b *broken) Close() error {
	if b.fault.close != nil {
		return b.fault.close(&b.Memory)
	}
	return b.Memory.Close()
}

var faults = map[string]fault{
	"Append returns positions and writes nothing": {append: func(_ context.Context, _ *storage.Memory, at storage.Position, lines []storage.Line) (ends, error) {
		ends := make([]storage.Position, len(lines))
		for i := range lines {
			ends[i] = at + storage.Position(i) + 1
		}
		return ends, nil
	}},
	"Append writes the lines before an invalid one": {append: func(ctx context.Context, s *storage.Memory, at storage.Position, lines []storage.Line) (ends, error) {
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
	"Append swaps the first two lines": {append: func(ctx context.Context, s *storage.Memory, at storage.Position, lines []storage.Line) (ends, error) {
		if len(lines) > 1 {
			lines[0], lines[1] = lines[1], lines[0]
		}
		return s.Append(ctx, at, lines...)
	}},
	"Append appends at the end whatever the position": {append: func(ctx context.Context, s *storage.Memory, at storage.Position, lines []storage.Line) (ends, error) {
		for {
			all, err := s.Append(ctx, at, lines...)
			conflict, ok := errors.AsType[*storage.ConflictError](err)
			if !ok {
				return all, err
			}
			at = conflict.End
		}
	}},
	"Append drops the parents": {append: func(ctx context.Context, s *storage.Memory, at storage.Position, lines []storage.Line) (ends, error) {
		for i := range lines {
			lines[i].Parent = ""
		}
		return s.Append(ctx, at, lines...)
	}},
	"Read returns each line twice": {read: func(lines storedLines) storedLines {
		return func(yield func(storage.Stored, error) bool) {
			for l, err := range lines {
				if !yield(l, err) || err == nil && !yield(l, err) {
					return
				}
			}
		}
	}},
	"Read and Back end without their error": {read: withoutErrors, back: withoutErrors},
	"Read replaces invalid UTF-8": {read: func(lines storedLines) storedLines {
		return func(yield func(storage.Stored, error) bool) {
			for l, err := range lines {
				l.Data = []byte(string([]rune(string(l.Data))))
				if !yield(l, err) {
					return
				}
			}
		}
	}},
	"Back returns only the first line": {back: func(lines storedLines) storedLines {
		return func(yield func(storage.Stored, error) bool) {
			for l, err := range lines {
				yield(l, err)
				return
			}
		}
	}},
	"Close does nothing": {close: func(*storage.Memory) error { return nil }},
}

func withoutErrors(lines storedLines) storedLines {
	return func(yield func(storage.Stored, error) bool) {
		for l, err := range lines {
			if err != nil || !yield(l, nil) {
				return
			}
		}
	}
}

// The tests run in a child process, because they must fail.
func TestTheSuiteFindsEachFault(t *testing.T) {
	t.Parallel()
	if name := os.Getenv(brokenEnv); name != "" {
		fault := faults[name]
		historytest.Run(t, historytest.Suite{
			New: func(*testing.T) func() (storage.Store, error) {
				return func() (storage.Store, error) {
					return &broken{fault: fault}, nil
				}
			},
			Volatile: true,
		})
		return
	}
	findsEach(t, brokenEnv, slices.Collect(maps.Keys(faults)))
}

// findsEach runs the calling test in a child process for each name of a fault, which it puts into the environment, and
// for "none". The test must fail except for "none".
func findsEach(t *testing.T, env string, faults []string) {
	for _, name := range append(faults, "none") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test, _, _ := strings.Cut(t.Name(), "/")
			child := exec.Command(os.Args[0], "-test.run=^"+test+"$")
			child.Env = append(os.Environ(), env+"="+name)
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
