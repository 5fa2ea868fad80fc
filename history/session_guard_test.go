package history_test

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// strange is a store whose methods can be made to fail or to return nonsense.
type strange struct {
	*storage.Memory
	mu sync.Mutex
	do map[string]func() // called at the start of a method, by its name; guarded by mu
	// These change the results, if set.
	end    func(storage.Position) storage.Position
	ends   func([]storage.Position) []storage.Position
	stored func(storage.Stored) storage.Stored
}

func (s *strange) call(method string) {
	s.mu.Lock()
	do := s.do[method]
	s.mu.Unlock()
	if do != nil {
		do()
	}
}

// set makes a method call do first; nil ends that.
func (s *strange) set(method string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.do[method] = do
}

func (s *strange) End(ctx context.Context) (storage.Position, error) {
	s.call("End")
	at, err := s.Memory.End(ctx)
	if s.end != nil {
		at = s.end(at)
	}
	return at, err
}

func (s *strange) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	s.call("Append")
	ends, err := s.Memory.Append(ctx, at, lines...)
	if s.ends != nil {
		ends = s.ends(ends)
	}
	return ends, err
}

func (s *strange) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	return s.lines("Read", s.Memory.Read(ctx, from))
}

func (s *strange) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	return s.lines("Back", s.Memory.Back(ctx, before, id))
}

func (s *strange) Pick(ctx context.Context, at ...storage.Position) iter.Seq2[storage.Stored, error] {
	return s.lines("Pick", func(yield func(storage.Stored, error) bool) {
		for _, at := range at {
			for line, err := range s.Memory.Read(ctx, at) {
				if !yield(line, err) {
					return
				}
				break
			}
		}
	})
}

func (s *strange) lines(method string, all iter.Seq2[storage.Stored, error]) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		for line, err := range all {
			if s.call(method); s.stored != nil {
				line = s.stored(line)
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

func (s *strange) Count(ctx context.Context, from storage.Position) (int, error) {
	s.call("Count")
	return s.Memory.Count(ctx, from)
}

func (s *strange) Replace(ctx context.Context, lines ...storage.Stored) error {
	s.call("Replace")
	return s.Memory.Replace(ctx, lines...)
}

func (s *strange) Remove(ctx context.Context) error {
	s.call("Remove")
	return s.Memory.Remove(ctx)
}

func (s *strange) Close() error {
	s.call("Close")
	return s.Memory.Close()
}

// strangeSession returns a session with two entries, and its store, which does not fail yet.
func strangeSession(t testing.TB) (*history.Session, *strange) {
	t.Helper()
	store := &strange{Memory: &storage.Memory{}, do: map[string]func(){}}
	s := sessionIn(t, store, history.Options{Cache: history.NewCache(1)})
	require.NoError(t, s.Append(t.Context(), user, answer))
	return s, store
}

// reaching holds, by the name of a store's method, a call of the session that calls it.
var reaching = map[string]func(ctx context.Context, s *history.Session, store *strange) error{
	"End": func(ctx context.Context, s *history.Session, store *strange) error {
		_, err := history.New(ctx, store, history.Options{})
		return err
	},
	"Append": func(ctx context.Context, s *history.Session, _ *strange) error { return s.Append(ctx, user) },
	"Read": func(ctx context.Context, s *history.Session, _ *strange) error {
		for _, err := range s.Entries(ctx) {
			return err
		}
		return nil
	},
	"Back": func(ctx context.Context, s *history.Session, store *strange) error {
		_, err := history.New(ctx, store, history.Options{})
		return err
	},
	"Pick": func(ctx context.Context, s *history.Session, _ *strange) error {
		_, err := s.Resolve(ctx, entry.Ref{ID: s.Leaf(), At: 2})
		return err
	},
	"Count": func(ctx context.Context, s *history.Session, _ *strange) error {
		_, err := s.Lines(ctx)
		return err
	},
	"Replace": func(ctx context.Context, s *history.Session, _ *strange) error {
		_, err := s.Erase(ctx, s.Leaf())
		return err
	},
	"Remove": func(ctx context.Context, s *history.Session, _ *strange) error { return s.Remove(ctx) },
}

// The session works again once the store does.
func TestAStoreThatPanicsIsAnErrorThatNamesTheStoreAndItsMethod(t *testing.T) {
	for does, do := range map[string]func(){"panicked: oh no": func() { panic("oh no") }, "ended its goroutine": runtime.Goexit} {
		for method, reach := range reaching {
			t.Run(method+" "+does, func(t *testing.T) {
				s, store := strangeSession(t)
				store.set(method, do)
				err := reach(t.Context(), s, store)
				failed := errorAs[*storage.StoreError](t, err)
				require.Equal(t, "*history_test.strange", failed.Store)
				require.Equal(t, method, failed.Method)
				require.ErrorContains(t, err, does)
				store.set(method, nil)
				require.NoError(t, s.Append(t.Context(), answer))
				require.Len(t, viewOf(t, s).Turns, 1)
			})
		}
	}
}

// Other calls that wait for the store return when their own context ends.
func TestACallReturnsASecondAfterItsContextIfTheStoreDoesNot(t *testing.T) {
	for method, reach := range reaching {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := strangeSession(t)
				until := make(chan struct{})
				store.set(method, func() { <-until })
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				go func() {
					time.Sleep(time.Second)
					if method != "Append" {
						return
					}
					soon, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					err := s.Append(soon, answer)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorContains(t, err, "another call has not returned from the session's store")
				}()
				err := reach(ctx, s, store)
				require.IsType(t, &storage.StoreError{}, err)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, time.Minute+time.Second, time.Since(began))
				store.set(method, nil)
				close(until)
				synctest.Wait()
				if method == "Remove" {
					return
				}
				require.NoError(t, s.Refresh(t.Context()))
				require.NoError(t, s.Append(t.Context(), answer))
			})
		})
	}
}

func TestCloseReturnsEvenIfTheStoreDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, method := range []string{"Append", "Close"} {
			s, store := strangeSession(t)
			until := make(chan struct{})
			store.set(method, func() { <-until })
			if method == "Append" {
				go func() { _ = s.Append(t.Context(), user) }()
				synctest.Wait()
			}
			began := time.Now()
			require.ErrorIs(t, s.Close(), context.DeadlineExceeded)
			require.LessOrEqual(t, time.Since(began), 6*time.Second)
			require.ErrorIs(t, s.Append(t.Context(), user), storage.ErrClosed)
			close(until)
			synctest.Wait()
			store.set(method, nil)
			require.NoError(t, s.Close(), "the second Close closes the store")
			_, err := store.Memory.End(t.Context())
			require.ErrorIs(t, err, storage.ErrClosed)
		}
	})
}

func TestAnInvalidResultOfAStoreIsAnErrorThatQuotesIt(t *testing.T) {
	for rule, c := range map[string]struct {
		reach string
		odd   func(*strange)
		says  string
	}{
		"an end below 0": {"End", func(s *strange) { s.end = func(storage.Position) storage.Position { return -1 } }, "End of *history_test.strange: it returned -1"},
		"no positions":   {"Append", func(s *strange) { s.ends = func([]storage.Position) []storage.Position { return nil } }, "it returned 0 positions for 1 lines"},
		"a position that is not new": {"Append", func(s *strange) {
			s.ends = func([]storage.Position) []storage.Position { return []storage.Position{1} }
		}, "do not grow"},
		"a line without a length": {"Read", func(s *strange) {
			s.stored = func(l storage.Stored) storage.Stored { l.End = l.At; return l }
		}, "it returned a line from 0 to 0"},
		"a line before the last one": {"Read", func(s *strange) {
			s.stored = func(l storage.Stored) storage.Stored { l.At -= 5; return l }
		}, "it returned a line from -5"},
		"a line that was not asked for": {"Pick", func(s *strange) {
			s.stored = func(l storage.Stored) storage.Stored { l.At--; return l }
		}, "it returned a line from 1 to 3, at none of the positions that are left"},
		"another entry than was asked for": {"Back", func(s *strange) {
			s.stored = func(l storage.Stored) storage.Stored {
				if l.At > 0 && l.Parent == "" {
					l.ID = "other"
				}
				return l
			}
		}, `it returned "other"`},
		"a path that does not end": {"Back", func(s *strange) {
			s.stored = func(l storage.Stored) storage.Stored {
				if l.At > 0 {
					l.At, l.End = 2, 3
				}
				return l
			}
		}, "before 2 it returned a line from 2 to 3"},
	} {
		t.Run(rule, func(t *testing.T) {
			s, store := strangeSession(t)
			c.odd(store)
			err := reaching[c.reach](t.Context(), s, store)
			require.IsType(t, &storage.StoreError{}, err)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestAFailingFunctionOfTheOptionsIsAnErrorThatNamesIt(t *testing.T) {
	for _, name := range []string{"Options.IDs", "Options.Now"} {
		var do func()
		o := history.Options{Header: entry.Header{ID: "S", Time: time.Unix(0, 0)}}
		if name == "Options.IDs" {
			o.IDs = func() string { do(); return "x" }
		} else {
			o.Now = func() time.Time { do(); return time.Now() }
		}
		for does, c := range map[string]struct{ do func() }{
			"it panicked: oh no": {func() { panic("oh no") }}, "it ended its goroutine": {runtime.Goexit},
			"it has not returned": {func() { select {} }},
		} {
			t.Run(name+" "+does, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				do = func() {
					if does == "it has not returned" {
						cancel()
					}
					c.do()
				}
				s, err := history.New(ctx, &storage.Memory{}, o)
				require.NoError(t, err)
				err = s.Append(ctx, chat.UserMessage("hello"))
				require.Equal(t, name, errorAs[*chat.CallbackError](t, err).Name)
				require.ErrorContains(t, err, does)
				do = func() {}
				require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
			})
		}
	}
}
