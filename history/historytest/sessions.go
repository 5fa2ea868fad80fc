package historytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
)

func sessionIn(t *testing.T, store storage.Store, o history.Options) *history.Session {
	t.Helper()
	s, err := history.New(t.Context(), store, o)
	require.NoError(t, err)
	return s
}

// talk makes a session with entries of many types, two branches and a compaction on each.
func talk(t *testing.T, store storage.Store) *history.Session {
	t.Helper()
	ctx, s := t.Context(), sessionIn(t, store, history.Options{IDs: numbered.IDs()})
	call := chat.ToolCall{ID: "c1", Name: "run", Arguments: `{"cmd":"make <all>"}`}
	require.NoError(t, s.Append(ctx,
		chat.UserMessage("one \xff"),
		chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{
			chat.Thinking{Text: "hm", Signature: "sig"}, chat.Opaque{Value: []byte("{ \"spaced\" : 1 }\n")},
		}, ToolCalls: []chat.ToolCall{call}},
		chat.ToolResult("c1", "fine"),
	))
	_, err := s.Add(ctx,
		entry.Entry{Body: entry.ModelChange{Model: "m"}},
		entry.Entry{Body: entry.Shell{Command: "ls", Output: "a\xff\n", ExitCode: 1}},
		entry.Entry{Body: entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look")}}},
		entry.Entry{Body: entry.Todos{Items: []entry.Todo{{Text: "that"}}}},
		entry.Entry{Body: entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"x","parent":"e7","later": 1.0}`)}},
		entry.Entry{Body: entry.Message{Message: chat.AssistantMessage("two")}},
	)
	require.NoError(t, err)
	require.NoError(t, s.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage(" S \n")}, FirstKept: "e5"}))
	oldLeaf := s.Leaf()
	_, err = s.Add(ctx, entry.Entry{Parent: "e3", Body: entry.BranchSummary{From: oldLeaf, Summary: entry.Summary{Text: "tried"}}})
	require.NoError(t, err)
	require.NoError(t, s.Append(ctx, chat.AssistantMessage("three"), chat.UserMessage("four")))
	require.NoError(t, s.Branch(ctx, "e2"))
	require.NoError(t, s.Append(ctx, chat.ToolResult("c1", "the call is open again"), chat.AssistantMessage("five"), chat.UserMessage("six")))
	require.NoError(t, s.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("T")}, LastCovered: "e2"}))
	require.NoError(t, s.Append(ctx, chat.UserMessage("seven")))
	return s
}

// sent returns what a model sees at each entry of a session.
func sent(t *testing.T, s *history.Session) map[string][]chat.Message {
	t.Helper()
	all := map[string][]chat.Message{}
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		v, err := s.ViewAt(t.Context(), e.ID)
		require.NoError(t, err)
		all[e.ID] = v.Messages()
		require.NotEmpty(t, all[e.ID], "at %s", e.ID)
		if last := all[e.ID][len(all[e.ID])-1]; last.Role != chat.RoleAssistant {
			require.NoError(t, chat.Validate(all[e.ID]), "at %s", e.ID)
		}
	}
	return all
}

func session(t *testing.T, opener opener) {
	store := open(t, opener)
	s := talk(t, store)
	memory := talk(t, &storage.Memory{})
	require.Empty(t, cmp.Diff(sent(t, memory), sent(t, s)), "the views are those of a session in memory")
	require.Equal(t, memory.Leaf(), s.Leaf())
	want, err := memory.Leaves(t.Context())
	require.NoError(t, err)
	got, err := s.Leaves(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
	wrong, err := history.Verify(t.Context(), store)
	require.NoError(t, err)
	require.Empty(t, wrong)
	end, err := store.End(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = store.Append(t.Context(), end, line(99, 1, ""))
	require.ErrorIs(t, err, storage.ErrClosed, "a session closes its store")
}

func sessionReopened(t *testing.T, opener opener) {
	store, err := opener()
	require.NoError(t, err)
	s := talk(t, store)
	want, leaf, head := sent(t, s), s.Leaf(), s.Header()
	kept := read(t, store.Read(t.Context(), 0))
	require.NoError(t, s.Close())

	store = open(t, opener)
	s = sessionIn(t, store, history.Options{})
	require.Empty(t, cmp.Diff(want, sent(t, s)))
	require.Equal(t, leaf, s.Leaf())
	require.Equal(t, head, s.Header())
	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("on")))
	got := read(t, store.Read(t.Context(), 0))
	require.Len(t, got, len(kept)+1)
	require.Empty(t, cmp.Diff(kept, got[:len(kept)]))
}

// pair returns two sessions on one store that holds a user message.
func pair(t *testing.T, opener opener) (a, b *history.Session) {
	t.Helper()
	store := open(t, opener)
	a = sessionIn(t, store, history.Options{})
	require.NoError(t, a.Append(t.Context(), chat.UserMessage("one"), chat.AssistantMessage("two"), chat.UserMessage("three")))
	return a, sessionIn(t, store, history.Options{})
}

func isConflict(err error) bool {
	_, ok := errors.AsType[*storage.ConflictError](err)
	return ok
}

func sayConflict(t *testing.T, opener opener) {
	ctx := t.Context()
	a, b := pair(t, opener)
	require.NoError(t, a.Append(ctx, chat.AssistantMessage("four")))
	for range 2 {
		require.True(t, isConflict(b.Append(ctx, chat.AssistantMessage("another four"))), "every attempt fails until Refresh")
		require.True(t, isConflict(b.Branch(ctx, "")))
	}
	require.NoError(t, b.Refresh(ctx))
	require.Equal(t, a.Leaf(), b.Leaf())
	v, err := b.View(ctx)
	require.NoError(t, err)
	require.Len(t, v.Messages(), 4)
	require.NoError(t, b.Append(ctx, chat.UserMessage("five")))
	require.NoError(t, a.Refresh(ctx))
	require.Equal(t, sent(t, a), sent(t, b))
}

func addsAfterOthers(t *testing.T, opener opener) {
	ctx := t.Context()
	a, b := pair(t, opener)
	add := func(s *history.Session, body entry.Body) {
		t.Helper()
		_, err := s.Add(ctx, entry.Entry{Body: body})
		require.NoError(t, err)
	}
	asked := a.Leaf()
	add(a, entry.Label{Target: asked, Text: "the third"})
	add(a, entry.Usage{Model: "m"})
	add(a, entry.Plan{Policy: "p"})
	require.NoError(t, b.Append(ctx, chat.AssistantMessage("four")), "labels, usage and plans of others do not conflict with messages")
	add(a, entry.Custom{Name: "note"})
	require.Equal(t, b.Leaf() != "", a.Leaf() != "")
	require.NoError(t, b.Refresh(ctx))
	require.Equal(t, a.Leaf(), b.Leaf())
	require.Equal(t, sent(t, a), sent(t, b))
	var kinds []entry.Type
	for e, err := range b.PathTo(ctx, "") {
		require.NoError(t, err)
		kinds = append(kinds, e.Type())
	}
	require.Equal(t, []entry.Type{"message", "message", "message", "label", "usage", "plan", "message", "custom"}, kinds, "all are on one path")
}

func compactionRefreshes(t *testing.T, opener opener) {
	ctx := t.Context()
	a, b := pair(t, opener)
	kept := b.Leaf()
	compaction := entry.Compaction{Messages: []chat.Message{chat.UserMessage("S")}, FirstKept: kept}
	require.NoError(t, a.Append(ctx, chat.AssistantMessage("four")))
	require.NoError(t, b.Compact(ctx, compaction), "messages that were appended meanwhile are kept")
	v, err := b.View(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"S", "three", "four"}, texts(v))

	require.NoError(t, a.Refresh(ctx))
	require.NoError(t, a.Append(ctx, chat.UserMessage("five")))
	five := a.Leaf()
	require.NoError(t, a.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("T")}, FirstKept: five}))
	boundary, ok := errors.AsType[*entry.BoundaryError](b.Compact(ctx, compaction))
	require.True(t, ok)
	require.Equal(t, log.BoundaryCovered, boundary.Reason)
	require.NoError(t, a.Branch(ctx, ""))
	require.NoError(t, a.Append(ctx, chat.UserMessage("elsewhere")))
	boundary, ok = errors.AsType[*entry.BoundaryError](b.Compact(ctx, entry.Compaction{Messages: compaction.Messages, FirstKept: five}))
	require.True(t, ok)
	require.Equal(t, log.BoundaryLeft, boundary.Reason)
}

func texts(v history.View) []string {
	var list []string
	for _, m := range v.Messages() {
		list = append(list, m.Text())
	}
	return list
}

func twoSessions(t *testing.T, opener opener) {
	store := open(t, opener)
	twoTalk(t, store, store)
}

func twoSessionsApart(t *testing.T, opener opener) {
	twoTalk(t, open(t, opener), open(t, opener))
}

// maxConflicts exceeds the number of appends by others in a test, and so the number of conflicts in a row.
const maxConflicts = 1000

// say appends messages, after what others have appended in the meantime.
func say(ctx context.Context, s *history.Session, messages ...chat.Message) error {
	for attempt := 0; ; attempt++ {
		err := s.Append(ctx, messages...)
		if !isConflict(err) || attempt > maxConflicts {
			return err
		}
		if err := s.Refresh(ctx); err != nil {
			return err
		}
	}
}

// twoTalk lets two sessions append messages, record usage and compact, each refreshing after a conflict. In the end all are on one path, those of
// each session in order.
func twoTalk(t *testing.T, store, other storage.Store) {
	t.Helper()
	const each = 40
	sessions := []*history.Session{sessionIn(t, store, history.Options{}), sessionIn(t, other, history.Options{})}
	ctx := context.Background()
	var all sync.WaitGroup
	for w, s := range sessions {
		all.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "run", Arguments: "{}"}}}
				err := errors.Join(say(ctx, s, chat.UserMessage(id+" \xff"), call), say(ctx, s, chat.ToolResult(id, "fine")))
				if _, addErr := s.Add(ctx, entry.Entry{Body: entry.Usage{Model: id}}); err == nil {
					err = addErr
				}
				if i%10 == 9 {
					compactErr := s.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}})
					if _, dropped := errors.AsType[*entry.BoundaryError](compactErr); !dropped { // the other session's compaction covers the cut
						err = errors.Join(err, compactErr)
					}
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, sessions[0].Refresh(ctx))
	require.NoError(t, sessions[1].Refresh(ctx))
	require.Equal(t, sessions[0].Leaf(), sessions[1].Leaf())
	next, usages := [2]int{}, 0
	for e, err := range sessions[0].PathTo(ctx, "") {
		require.NoError(t, err)
		if e.Type() == entry.TypeUsage {
			usages++
		}
		if m := e.Message(); m.Role == chat.RoleTool {
			var w, i int
			_, err := fmt.Sscanf(m.ToolCallID, "%d-%d", &w, &i)
			require.NoError(t, err)
			require.Equal(t, next[w], i)
			next[w]++
		}
	}
	require.Equal(t, [2]int{each, each}, next, "nothing was lost, and nothing is on another branch")
	require.Equal(t, 2*each, usages)
	wrong, err := history.Verify(ctx, store)
	require.NoError(t, err)
	require.Empty(t, wrong)
	v, err := sessions[1].View(ctx)
	require.NoError(t, err)
	again, err := history.New(ctx, store, history.Options{})
	require.NoError(t, err)
	same, err := again.View(ctx)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(v.Messages(), same.Messages()))
}
