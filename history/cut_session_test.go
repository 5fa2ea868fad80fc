package history_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// recorded reads the entries of a recorded session. The test is skipped if the file is missing.
func recorded(t testing.TB, path string) []entry.Entry {
	t.Helper()
	r := sessiontest.Read(t, path)
	session := numbered.Session()
	notes, err := r.AppendTo(t.Context(), session)
	require.NoError(t, err)
	require.Empty(t, notes)
	return all(t, session)
}

// recording returns the messages of a recorded session.
func recording(t testing.TB, path string) []chat.Message {
	t.Helper()
	return messagesOf(recorded(t, path))
}

// messagesOf returns the messages of the entries that are messages.
func messagesOf(entries []entry.Entry) []chat.Message {
	var messages []chat.Message
	for _, e := range entries {
		if e.Type() == entry.TypeMessage {
			messages = append(messages, e.Message())
		}
	}
	return messages
}

// sent returns the messages of a view that are sent to a model.
func sent(v history.View, limits history.RoundLimits, s elements.Sizing) []chat.Message {
	messages := append([]chat.Message(nil), v.Compacted...)
	for _, turn := range v.Turns {
		if m, ok := turn.Message(); ok {
			messages = append(messages, m)
		}
		for _, r := range turn.Rounds {
			messages = append(messages, within(r, limits, s)...)
		}
	}
	return messages
}

// requireCutShown checks that the view after a cut obeys the providers' rules, and that it shows what is kept and
// nothing that is covered.
func requireCutShown(t testing.TB, session *history.Session, path []entry.Entry, p history.CutPoint, s elements.Sizing) {
	t.Helper()
	v := viewWith(t, session, summary("summary", p.FirstKept))
	messages := sent(v, history.RoundLimits{}, s)
	require.NoError(t, chat.Validate(append(messages, user)), "the leaf is %s, the cut at %s", path[len(path)-1].ID, p.FirstKept)
	require.Greater(t, len(messages), 1, "the tail is empty")

	shown := map[string]bool{}
	for _, turn := range v.Turns {
		shown[turn.Start.ID] = true
		for _, r := range turn.Rounds {
			shown[r.Assistant.ID] = true
			for _, e := range r.Results {
				shown[e.ID] = true
			}
		}
	}
	kept := map[string]bool{}
	for _, u := range p.Kept() {
		kept[u.ID] = true
		if !shown[u.ID] {
			t.Fatalf("%s is kept and not shown", u.ID)
		}
	}
	callers := map[string]string{}
	for _, e := range path {
		for _, c := range e.Message().ToolCalls {
			callers[c.ID] = e.ID
		}
		if e.Message().Role == chat.RoleTool && kept[callers[e.Message().ToolCallID]] && !shown[e.ID] {
			t.Fatalf("%s is a result of a call that is kept, and not shown", e.ID)
		}
	}
	for _, u := range p.Covered() {
		if !u.Start && shown[u.ID] {
			t.Fatalf("%s is covered and shown", u.ID)
		}
	}
	require.Equal(t, p.Messages, len(messages)-1, "p.Messages is the number of messages shown")
}

func TestRepeatedCutsAndCompactionsEndWithANonEmptyView(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(300)) {
		r := rand.New(rand.NewPCG(seed, 5))
		session := talkAtRandom(t, r).session
		said := all(t, session)
		rule := anyRule(r)
		s := elements.Sizing{PromptBudget: 1 + r.IntN(2000), Tokenizer: quarter{}}
		last := 2 * len(said) // messages, which include notes for missing results
		for n := 0; ; n++ {
			require.LessOrEqual(t, n, len(said), "seed %d: the cuts do not end", seed)
			entries := all(t, session)
			p, err := rule.Find(t.Context(), viewOf(t, session), s)
			requireCut(t, rule, entries, p, err)
			if err != nil {
				break
			}
			requireCutShown(t, session, entries, p, s)
			require.NoError(t, session.Compact(t.Context(), summary("again", p.FirstKept)))
			if !rule.SinceCompaction {
				kept := len(messagesIn(p.Kept()))
				require.Less(t, kept, last, "seed %d: no less is kept than before", seed)
				last = kept
			}
		}
		equal(t, said, all(t, session)[:len(said)])
		require.NotEmpty(t, viewOf(t, session).Turns)
	}
}

func TestTheHeadIsTheFirstMessagesOfALongPath(t *testing.T) {
	long := strings.Repeat("u a ", 2000) + "k u a u a"
	for _, tt := range []struct {
		rule, path string
		first      int
		want       string
	}{
		{"the first three messages", long, 3, "u0 a1 u2"},
		{"no messages", long, 0, ""},
		{"a round that is partly among them is left out", "u c r " + long, 2, "u0"},
		{"a round whose late result is not among them is left out", "u c u r:1 " + long, 2, "u0"},
		{"a message between a call and its late result is kept with both", "u c u r:1 " + long, 4, "u0 r3 u2"},
		{"a message between a call and its late result is left out with both", "u c u a r:1 " + long, 4, "u0"},
		{"a call without a result is kept with a note", "u c " + long, 3, "u0 (no result: the call was interrupted)"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			p, err := history.Cut{First: tt.first}.Find(t.Context(), viewOf(t, sessionOf(t, pathOf(tt.path), false)), in(1000))
			require.NoError(t, err)
			var head []string
			for _, m := range p.Head {
				head = append(head, m.Text())
			}
			require.Equal(t, tt.want, strings.Join(strings.Fields(strings.Join(head, " ")), " "))
		})
	}
}

// The head still has the text of the placeholder.
func TestACutCountsAClearedResultByItsPlaceholder(t *testing.T) {
	path := pathOf("u c r u a c r u")
	path[2].Body = entry.Message{Message: chat.ToolResult("1", numberedLines(100))}
	path[6].Body = entry.Message{Message: chat.ToolResult("5", numberedLines(100))}
	s := sessionOf(t, path, false)
	rule := history.Cut{Tokens: 20, First: 3}
	p, err := rule.Find(t.Context(), viewOf(t, s), in(10_000))
	require.Equal(t, "3 + u3 a4 c5-r6 | u7", found(p, err))
	require.Equal(t, numberedLines(100), p.Head[2].Text())
	sessiontest.Add(t, s, entry.Entry{Body: entry.Clearing{Results: []entry.Cleared{{Entry: "r2", Text: "gone"}, {Entry: "r6", Text: "gone"}}}})
	p, err = rule.Find(t.Context(), viewOf(t, s), in(10_000))
	require.Equal(t, "3 + u3 a4 | c5-r6 u7 prefix u3 a4", found(p, err))
	require.Equal(t, "gone", p.Head[2].Text())
}
