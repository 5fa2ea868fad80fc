package history_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// Two goroutines append, others read, and there is a compaction in between. What each said is there in its order, and
// at no time less than before.
func TestSessionIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	const writers, each = 2, 40
	for _, where := range []string{"in memory", "in a file"} {
		t.Run(where, func(t *testing.T) {
			s := &history.Session{}
			if where == "in a file" {
				s = opened(t, tempFile(t))
			}
			var writing, reading sync.WaitGroup
			over := make(chan struct{})
			for w := range writers {
				writing.Go(func() {
					for i := range each {
						id := fmt.Sprintf("%d-%d", w, i)
						if err := s.Append(chat.UserMessage(id), calls(id)); err != nil {
							t.Error(err)
						}
						if err := s.Append(chat.ToolResult(id, id)); err != nil {
							t.Error(err)
						}
						if i == each/2 {
							if err := s.Compact(summary("so far", "")); err != nil {
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
						case <-over:
							return
						default:
							f()
						}
					}
				})
			}
			most := 0
			read(func() {
				entries := all(t, s)
				if len(entries) < most || s.Len() < len(entries) {
					t.Errorf("%d entries after %d", len(entries), most)
				}
				most = len(entries)
			})
			read(func() {
				if v := viewOf(t, s); len(v.Turns) > 1+writers*each {
					t.Error(shape(v))
				}
				_, _, _ = s.Lines(), s.Path(), s.Recovered()
			})
			read(func() {
				ctx := history.Preview(t.Context(), s, summary("tried", ""))
				if _, err := render.Render(ctx, prompt(s), render.Options{Budget: 1 << 20, Tokenizer: quarter{}}); err != nil {
					t.Error(err)
				}
			})
			writing.Wait()
			close(over)
			reading.Wait()

			requireChained(t, s)
			require.Equal(t, writers*(3*each+1), s.Len())
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
				again, err := history.Read(s.Path())
				require.NoError(t, err)
				equal(t, all(t, s), all(t, again))
			}
		})
	}
}

// Messages of one Append stay together, whoever else appends.
func TestMessagesOfOneAppendStayTogether(t *testing.T) {
	s := &history.Session{}
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for range 50 {
				name := fmt.Sprint(w)
				if err := s.Append(chat.UserMessage(name), chat.AssistantMessage(name), chat.UserMessage(name)); err != nil {
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

// Many try to open one session, one gets it.
func TestOneOfManyOpens(t *testing.T) {
	path := tempFile(t)
	var opening sync.WaitGroup
	var mu sync.Mutex
	var got []*history.Session
	for range 8 {
		opening.Go(func() {
			s, err := history.Open(path)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				got = append(got, s)
				return
			}
			if !errors.Is(err, history.ErrLocked) {
				t.Error(err)
			}
		})
	}
	opening.Wait()
	require.Len(t, got, 1)
	require.NoError(t, got[0].Close())
}
