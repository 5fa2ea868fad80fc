package history_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
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

// Two goroutines append and compact, others read. The messages of each are in order, and no reader sees fewer entries
// than before.
func TestASessionIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	const writers, each = 2, 40
	for _, where := range []string{"in memory", "in a file"} {
		t.Run(where, func(t *testing.T) {
			s := numbered.Session()
			if where == "in a file" {
				s = opened(t, tempFile(t))
			}
			var writing, reading sync.WaitGroup
			stop := make(chan struct{})
			for w := range writers {
				writing.Go(func() {
					for i := range each {
						id := fmt.Sprintf("%d-%d", w, i)
						if err := s.Append(t.Context(), chat.UserMessage(id), calls(id)); err != nil {
							t.Error(err)
						}
						if err := s.Append(t.Context(), chat.ToolResult(id, id)); err != nil {
							t.Error(err)
						}
						if i == each/2 {
							if err := s.Compact(t.Context(), summary("so far", "")); err != nil {
								t.Error(err)
							}
						}
					}
				})
			}
			read := func(f func()) {
				reading.Go(func() {
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
			newest := 0
			read(func() {
				entries := all(t, s)
				if len(entries) < newest || count(t, s) < len(entries) {
					t.Errorf("%d entries after %d", len(entries), newest)
				}
				newest = len(entries)
			})
			read(func() {
				if v := viewOf(t, s); len(v.Turns) > 1+writers*each {
					t.Error(shape(v))
				}
				_, _, _ = lineCount(t, s), s.Path(), s.Recovered()
			})
			read(func() {
				v, err := s.ViewWith(t.Context(), summary("tried", ""))
				if err != nil {
					t.Error(err)
					return
				}
				ctx := s.WithView(t.Context(), v)
				if _, err := render.Render(ctx, prompt(s), render.Options{Budget: 1 << 20, Tokenizer: quarter{}}); err != nil {
					t.Error(err)
				}
			})
			writing.Wait()
			close(stop)
			reading.Wait()

			requireChained(t, s)
			require.Equal(t, writers*(3*each+1), count(t, s))
			next := make([]int, writers)
			for _, e := range all(t, s) {
				if e.Message().Role != chat.RoleUser {
					continue
				}
				var w, i int
				_, err := fmt.Sscanf(e.Message().Text(), "%d-%d", &w, &i)
				require.NoError(t, err)
				require.Equal(t, next[w], i)
				next[w]++
			}
			if s.Path() != "" {
				again := readOnly(t, s.Path())
				equal(t, all(t, s), all(t, again))
			}
		})
	}
}

func TestMessagesOfOneAppendStayTogether(t *testing.T) {
	s := numbered.Session()
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for range 50 {
				name := fmt.Sprint(w)
				if err := s.Append(t.Context(), chat.UserMessage(name), chat.AssistantMessage(name), chat.UserMessage(name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	entries := all(t, s)
	require.Len(t, entries, 600)
	for i := 0; i < len(entries); i += 3 {
		said := []string{entries[i].Message().Text(), entries[i+1].Message().Text(), entries[i+2].Message().Text()}
		require.Equal(t, strings.Repeat(said[0], 3), strings.Join(said, ""))
	}
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

// Two goroutines append, one of them branches now and then, others read, and one compacts all the time. Each compaction
// is made at the cut that was chosen, or dropped because the cut is gone.
func TestAConcurrentCompactionIsAppliedOrDropped(t *testing.T) {
	t.Parallel()
	s := opened(t, tempFile(t))
	require.NoError(t, s.Append(t.Context(), user, answer))
	const each = 60
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
	for w := range 2 {
		writing.Go(func() {
			for i := range each {
				if err := s.Append(t.Context(), chat.UserMessage(fmt.Sprint(w, " ", i)), answer); err != nil {
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
	made, dropped := 0, 0
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
		for turn, err := range history.Turns(s.PathTo(t.Context(), "")) {
			if err != nil || len(turn.Rounds) > 1 {
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

	said, next := map[string]bool{}, 0
	for _, e := range all(t, s) {
		if e.Message().Role == chat.RoleUser {
			said[e.Message().Text()] = true
		}
		if e.Type() == entry.TypeCompaction {
			next++
			require.Contains(t, ids(t, s.PathTo(t.Context(), e.ID)), e.Compaction().FirstKept)
			v, err := s.ViewAt(t.Context(), e.ID)
			require.NoError(t, err)
			require.Equal(t, "before "+v.Turns[0].Start.ID, v.Compacted[0].Text(), "the summary covers what comes before the cut")
		}
	}
	require.Equal(t, made, next)
	require.Len(t, said, 1+2*each)
}
