package history_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// texts joins the texts of a session's view.
func texts(t testing.TB, s *history.Session) string {
	t.Helper()
	var list []string
	for _, m := range viewOf(t, s).Messages() {
		list = append(list, m.Text())
	}
	return strings.Join(list, "|")
}

// two returns two sessions on one store that holds a question and its answer.
func two(t *testing.T) (a, b *history.Session) {
	t.Helper()
	store := &storage.Memory{}
	a = sessionIn(t, store, history.Options{})
	require.NoError(t, a.Append(t.Context(), chat.UserMessage("one"), chat.AssistantMessage("two")))
	b = sessionIn(t, store, history.Options{})
	return a, b
}

func TestAnotherSessionsBranchIsAConflictForAMessage(t *testing.T) {
	a, b := two(t)
	first := ids(t, a.PathTo(t.Context(), ""))[0]
	sessiontest.Add(t, b, entry.Entry{Parent: first, Body: entry.Usage{Model: "m"}})
	require.ErrorAs(t, a.Append(t.Context(), chat.UserMessage("three")), new(*storage.ConflictError))
	require.Equal(t, "one|two", texts(t, a))
}

func TestACompactionOfEverythingCoversOnlyWhatItsSessionHasRead(t *testing.T) {
	a, b := two(t)
	require.NoError(t, b.Append(t.Context(), chat.UserMessage("three")))
	require.NoError(t, a.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("one and two")}}))
	require.Equal(t, "one and two|three", texts(t, a))

	a, b = two(t)
	require.NoError(t, b.Branch(t.Context(), ""))
	require.NoError(t, b.Append(t.Context(), chat.UserMessage("elsewhere")))
	require.ErrorAs(t, a.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("one and two")}}), new(*entry.BoundaryError))
}

func TestOnlyOneCompactionOfAPlanIsAppended(t *testing.T) {
	a, b := two(t)
	added := sessiontest.Add(t, a, entry.Entry{Body: entry.Plan{FirstKept: a.Leaf()}})
	require.NoError(t, b.Refresh(t.Context()))
	c := entry.Compaction{Plan: added[0].ID, FirstKept: added[0].Parent, Messages: []chat.Message{chat.UserMessage("S")}}
	require.NoError(t, a.Compact(t.Context(), c))
	require.ErrorAs(t, b.Compact(t.Context(), c), new(*entry.BoundaryError))
}

func TestUsageNamesTheLeafThatItsSessionHasRead(t *testing.T) {
	a, b := two(t)
	answer := a.Leaf()
	require.NoError(t, b.Append(t.Context(), chat.UserMessage("three")))
	require.Equal(t, answer, sessiontest.Add(t, a, entry.Entry{Body: entry.Usage{Model: "m"}})[0].Body.(entry.Usage).Of)
}

// Stores that scan the line for its id must find the same as a parser.
func TestALineOfAnUnknownTypeHasOneIDAndOneParent(t *testing.T) {
	for rule, line := range map[string]string{
		"the parent comes after the time": `{"type":"later","id":"x","time":"2026-01-02T03:04:05Z","parent":"e2"}`,
		"two ids":                         `{"type":"later","id":"x","parent":"e2","time":"2026-01-02T03:04:05Z","id":"y"}`,
		"an id in capitals":               `{"type":"later","id":"x","parent":"e2","time":"2026-01-02T03:04:05Z","ID":"y"}`,
		"an id that is not UTF-8":         "{\"type\":\"later\",\"id\":\"x\xff\",\"parent\":\"e2\",\"time\":\"2026-01-02T03:04:05Z\"}",
		"two parents":                     `{"type":"later","id":"x","parent":"e1","time":"2026-01-02T03:04:05Z","parent":"e2"}`,
	} {
		t.Run(rule, func(t *testing.T) {
			path := tempFile(t)
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("one"), chat.AssistantMessage("two")))
			_, err := s.Add(t.Context(), entry.Entry{Body: entry.Unknown{Kind: "later", Line: []byte(line)}})
			if strings.Contains(rule, "after the time") {
				require.NoError(t, err)
			}
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("three")))
			want := texts(t, s)
			require.Equal(t, "one|two|three", want)
			require.NoError(t, s.Close())
			require.Equal(t, want, texts(t, opened(t, path)))
		})
	}
}

func TestACompactionRetainsAMessageOfTheSameAdd(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	compaction := entry.Entry{Body: summary("S", "")}
	sessiontest.Add(t, s, entry.Entry{Body: entry.Message{Message: user}}, compaction, compaction)
	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("one"), user, chat.AssistantMessage("two"), user))
	point, err := history.Cut{First: 1}.Find(t.Context(), viewOf(t, s), in(10_000))
	require.NoError(t, err)
	require.Len(t, point.Head, 1)
	require.Equal(t, lineCount(t, s), strings.Count(content(t, path), "\n"))
	for _, ref := range retained(t, s).Said {
		require.NotZero(t, ref.At, ref.ID)
	}
}

func TestAnUnknownIDIsNotFound(t *testing.T) {
	for _, s := range []*history.Session{{}, talk(t, user)} {
		none, err := s.Resolve(t.Context(), entry.Ref{}, entry.Ref{ID: "x"})
		require.NoError(t, err)
		require.Empty(t, none)
		_, err = s.ViewWith(t.Context(), summary("S", "x"))
		require.ErrorAs(t, err, new(*entry.BoundaryError))
	}
}

func TestViewWithRefusesACompactionThatCompactWouldRefuse(t *testing.T) {
	s := talk(t, user, chat.AssistantMessage("two"), chat.AssistantMessage("three"))
	require.NoError(t, s.Compact(t.Context(), summary("S", "e3")))
	_, err := s.ViewWith(t.Context(), summary("T", "e2"))
	require.Equal(t, log.BoundaryCovered, errorAs[*entry.BoundaryError](t, err).Reason)
}

func TestAReaderRefreshesAfterTheLogWasTruncatedAndExtended(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	size := int64(len(content(t, path)))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("two")))
	require.NoError(t, s.Close())
	reader := readOnly(t, path)
	require.NoError(t, os.Truncate(path, size))
	require.NoError(t, reader.Refresh(t.Context()))
	require.Equal(t, "one", texts(t, reader))
	s = opened(t, path)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("three, which is longer than the message before")))
	require.NoError(t, reader.Refresh(t.Context()))
	require.Equal(t, texts(t, s), texts(t, reader))
}

func TestALineLargerThanTheCacheEvictsNoOther(t *testing.T) {
	store := &countingStore{}
	s := sessionIn(t, store, history.Options{IDs: numbered.IDs(), Cache: history.NewCache(10_000)})
	require.NoError(t, s.Append(t.Context(), user, chat.AssistantMessage(strings.Repeat("x", 20_000))))
	store.read = 0
	_ = sessiontest.Entry(t, s, "e1")
	require.Zero(t, store.read)
}
