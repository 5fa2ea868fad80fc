package history_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/golden"
)

// turnsOf writes the turns of a path as [shape] does, with late results as "+e5".
func turnsOf(t testing.TB, path iter.Seq2[entry.Entry, error]) string {
	t.Helper()
	var turns []string
	for turn, err := range history.Turns(path) {
		require.NoError(t, err)
		text := shape(history.View{Turns: []history.Turn{turn}})
		for _, e := range turn.Late {
			text += " +" + e.ID
		}
		turns = append(turns, text)
	}
	return strings.Join(turns, " | ")
}

func TestAPathIsSplitIntoTurns(t *testing.T) {
	said := func(messages ...chat.Message) []entry.Body {
		var bodies []entry.Body
		for _, m := range messages {
			bodies = append(bodies, entry.Message{Message: m})
		}
		return bodies
	}
	shell := entry.Shell{Command: "ls", Output: "a"}
	hidden := entry.Shell{Command: "ls", Output: "a", Hidden: true}
	custom := entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look")}}
	branch := entry.BranchSummary{From: "x", Summary: entry.Summary{Text: "tried"}}
	for _, tt := range []struct {
		rule   string
		bodies []entry.Body
		want   string
	}{
		{"an empty path has no turns", nil, ""},
		{"a user message starts a turn", said(user, answer, user), "e1: e2() | e3:"},
		{"each assistant message is a round", said(user, calls("a"), done("a"), answer), "e1: e2(e3) e4()"},
		{"a shell command starts a turn", append(said(user, answer), shell, said(answer)[0]), "e1: e2() | e3: e4()"},
		{"a hidden shell command does not start a turn", append(said(user, answer), hidden, said(answer)[0]), "e1: e2() e4()"},
		{"a custom message starts a turn", append(said(user, answer), custom, said(answer)[0]), "e1: e2() | e3: e4()"},
		{"a branch summary starts a turn", append(said(user, answer), branch, said(answer)[0]), "e1: e2() | e3: e4()"},
		{
			"entries that the model does not see start none",
			[]entry.Body{
				said(user)[0], entry.ModelChange{}, said(answer)[0], entry.Label{}, entry.Custom{}, entry.Todos{}, entry.Usage{},
				entry.ThinkingChange{}, said(answer)[0],
			},
			"e1: e3() e9()",
		},
		{"a path may start with the assistant", said(answer, user), ": e1() | e2:"},
		{"parallel calls are one round, whatever the order of their results", said(user, calls("a", "b"), done("b"), done("a")), "e1: e2(e3 e4)"},
		{"a late result belongs to the round of its call", said(user, calls("a"), calls("b"), done("b"), done("a")), "e1: e2(e5) e3(e4)"},
		{"a call may have no result", said(user, calls("a", "b"), done("a"), user), "e1: e2(e3) | e4:"},
		{"an id that is used again means the newer call", said(user, calls("a"), done("a"), user, calls("a"), done("a")), "e1: e2(e3) | e4: e5(e6)"},
		{"the newer call is meant even if the older has no result", said(user, calls("a"), calls("a"), done("a")), "e1: e2() e3(e4)"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := numbered.Session()
			add(t, s, tt.bodies...)
			require.Equal(t, tt.want, turnsOf(t, s.PathTo(t.Context(), "")))
			require.Equal(t, tt.want, shape(viewOf(t, s)), "the view has the same turns")
			require.Empty(t, viewOf(t, s).Compacted)
		})
	}
}

// Turns reads a path once, so a result that comes after its turn is in Late. The view has it in its round.
func TestAResultOfAnEarlierTurnIsLateInItsTurn(t *testing.T) {
	s := talk(t, user, calls("a", "b"), done("a"), user, answer, done("b"))
	require.Equal(t, "e1: e2(e3) | e4: e5() +e6", turnsOf(t, s.PathTo(t.Context(), "")))
	require.Equal(t, "e1: e2(e3 e6) | e4: e5()", shape(viewOf(t, s)))
}

func TestAbortedReturnsTheCallsWithoutAResult(t *testing.T) {
	s := talk(t, user, calls("a", "b", "c"), done("b"), user, calls("d"), done("d"), answer)
	var aborted []string
	for turn, err := range history.Turns(s.PathTo(t.Context(), "")) {
		require.NoError(t, err)
		for _, r := range turn.Rounds {
			var names []string
			for _, c := range r.Aborted() {
				names = append(names, c.ID)
			}
			aborted = append(aborted, fmt.Sprint(names))
		}
	}
	require.Equal(t, []string{"[a c]", "[]", "[]"}, aborted)
}

func TestTurnsStopAtABreakOrAnError(t *testing.T) {
	s := talk(t, said3()...)
	for range history.Turns(s.PathTo(t.Context(), "")) {
		break
	}
	failed := errors.New("the disk")
	path := func(yield func(entry.Entry, error) bool) {
		_ = yield(all(t, s)[0], nil) && yield(entry.Entry{}, failed)
	}
	for turn, err := range history.Turns(path) {
		require.ErrorIs(t, err, failed)
		require.Empty(t, turn)
	}
}

// Paths with compactions or late results are left out.
func TestTurnsOfAPathAreThoseOfItsView(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range uint64(cases(300)) {
		s := talkAtRandom(t, rand.New(rand.NewPCG(seed, 4))).session
		got := turnsOf(t, s.PathTo(t.Context(), ""))
		if v := viewOf(t, s); len(v.Compacted) == 0 && !strings.Contains(got, "+") {
			require.Equal(t, shape(v), got, "seed %d", seed)
			compared++
		}
	}
	require.Greater(t, compared, cases(100))
}

func TestEntriesInTheUsersPlaceAreShownAsUserMessagesWithTags(t *testing.T) {
	s := talk(t, user, answer)
	add(
		t, s,
		entry.Shell{Command: "make", Output: "fine\n"},
		entry.Shell{Command: "make test", Output: "a </output> that closes nothing", ExitCode: 2},
		entry.Shell{Command: "sleep 9", Cancelled: true},
		entry.Shell{Command: "pass", Output: "secret", Hidden: true},
		entry.CustomMessage{Name: `a "hook"`, Content: chat.Parts{chat.Text("Mind the </custom-message> gap."), chat.Image{URL: "https://u"}}},
		entry.CustomMessage{Name: "blank", Content: chat.Parts{chat.Text(" \n")}},
		entry.Custom{Name: "own", Data: []byte(`{"secret":1}`)},
		entry.BranchSummary{From: "e2", Summary: entry.Summary{Text: "The cache was tried.</branch-summary>"}},
		entry.BranchSummary{From: "e2"},
	)
	messages := viewOf(t, s).Messages()
	golden.Equal(t, "shown.txt", dump(messages))
	require.NoError(t, chat.Validate(messages))
	for _, m := range messages[2:] {
		require.Equal(t, chat.RoleUser, m.Role)
	}
	equal(t, messages, rendered(t, prompt(s), 1<<20)[1:])
}
