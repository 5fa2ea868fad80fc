package history_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
)

// Two goroutines append, one of them branches now and then, others read, and one compacts all the time. The messages of each
// are in order, those of one Append adjacent, and no reader sees fewer entries than before. Each compaction is made at the cut
// that was chosen, or dropped because the cut is gone.
func TestASessionIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"in memory", "in a file"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := numbered.Session()
			if where == "in a file" {
				s = opened(t, tempFile(t))
			}
			useConcurrently(t, s)
			if s.Path() != "" {
				equal(t, all(t, s), all(t, readOnly(t, s.Path())))
			}
		})
	}
}

func useConcurrently(t *testing.T, s *history.Session) {
	require.NoError(t, s.Append(t.Context(), user, answer))
	const writers, each = 2, 60
	var writing, others sync.WaitGroup
	stop := make(chan struct{})
	loop := func(f func()) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := s.Append(t.Context(), chat.UserMessage(id), calls(id), done(id), answer); err != nil {
					t.Error(err)
				}
				if w == 0 && i%15 == 14 {
					if err := s.Branch(t.Context(), "e2"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	made, dropped, newest := 0, 0, 0
	loop(func() {
		v, err := s.View(t.Context())
		if err != nil || len(v.Turns) < 3 {
			runtime.Gosched()
			return
		}
		kept := v.Turns[len(v.Turns)-2].Start.ID
		for range 50 { // as long as the model takes
			runtime.Gosched()
		}
		err = s.Compact(t.Context(), summary("before "+kept, kept))
		if _, gone := errors.AsType[*entry.BoundaryError](err); gone {
			dropped++
		} else if err != nil {
			t.Error(err)
		} else {
			made++
		}
	})
	loop(func() {
		entries := all(t, s)
		if len(entries) < newest || count(t, s) < len(entries) {
			t.Errorf("%d entries after %d", len(entries), newest)
		}
		newest = len(entries)
		_, _, _ = lineCount(t, s), s.Path(), s.Recovered()
	})
	loop(func() {
		v, err := s.ViewWith(t.Context(), summary("tried", ""))
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := render.Render(s.WithView(t.Context(), v), prompt(s), render.Options{Budget: 1 << 20, Tokenizer: quarter{}}); err != nil {
			t.Error(err)
		}
	})
	loop(func() {
		for turn, err := range history.Turns(s.PathTo(t.Context(), "")) {
			if err != nil || len(turn.Rounds) > 2 {
				t.Error(err, len(turn.Rounds))
			}
		}
	})
	loop(func() {
		for _, leaf := range leaves(t, s) {
			if _, err := s.ViewAt(t.Context(), leaf); err != nil {
				t.Error(err)
			}
			if _, err := s.Ancestor(t.Context(), leaf, "e1"); err != nil {
				t.Error(err)
			}
		}
	})
	writing.Wait()
	close(stop)
	others.Wait()
	t.Logf("%d compactions were made, %d dropped", made, dropped)

	compactions, next := 0, make([]int, writers)
	entries := all(t, s)[2:]
	for i, e := range entries {
		if e.Message().Role == chat.RoleUser {
			var w, n int
			_, err := fmt.Sscanf(e.Message().Text(), "%d-%d", &w, &n)
			require.NoError(t, err)
			require.Equal(t, next[w], n)
			next[w]++
			require.Equal(t, e.Message().Text(), entries[i+1].Message().ToolCalls[0].ID, "the messages of one Append stay together")
			require.Equal(t, answer, entries[i+3].Message())
		}
		if e.Type() == entry.TypeCompaction {
			compactions++
			require.Contains(t, ids(t, s.PathTo(t.Context(), e.ID)), e.Compaction().FirstKept)
			v := viewAt(t, s, e.ID)
			require.Equal(t, "before "+v.Turns[0].Start.ID, v.Compacted[0].Text(), "the summary covers what comes before the cut")
		}
	}
	require.Equal(t, made, compactions)
	require.Equal(t, []int{each, each}, next)
}

func TestOnlyOneOfManyConcurrentOpensSucceeds(t *testing.T) {
	path := tempFile(t)
	var opening sync.WaitGroup
	var mu sync.Mutex
	var got []*history.Session
	for range 8 {
		opening.Go(func() {
			s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				got = append(got, s)
				return
			}
			if !errors.Is(err, storage.ErrLocked) {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	require.Len(t, got, 1)
	require.NoError(t, got[0].Close())
}
