package history_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
)

// The session grows, branches, is compacted and cleared.
func TestASessionAlwaysShowsTheSameAsOneOpenedAtThatMoment(t *testing.T) {
	t.Parallel()
	shows := []struct {
		limits history.RoundLimits
		sizing elements.Sizing
	}{
		{sizing: in(400)},
		{sizing: in(2000)},
		{sizing: in(2000), limits: history.RoundLimits{Results: 0.01, Arguments: 0.01}},
		{sizing: elements.Sizing{PromptBudget: 2000, Tokenizer: words{}}},
	}
	for seed := range uint64(cases(12)) {
		path := tempFile(t)
		s := openedWith(t, path, history.Options{IDs: numbered.IDs(), File: storage.FileOptions{Sync: storage.SyncNever}})
		talker := &sayer{Rand: rand.New(rand.NewPCG(seed, 2)), session: s}
		for range 60 {
			switch {
			case talker.chance(4):
				talker.user(t)
			case talker.chance(8):
				talker.compact(t)
			case talker.chance(8):
				talker.clear(t)
			case talker.chance(10):
				sessiontest.Add(t, s, entry.Entry{Body: entry.Shell{Command: "ls", Output: numberedLines(talker.IntN(90))}})
			case count(t, s) > 0 && talker.chance(10):
				talker.flush(t)
				entries := all(t, s)
				talker.open = nil
				require.NoError(t, s.Branch(t.Context(), entries[talker.IntN(len(entries))].ID))
			case talker.chance(30):
				talker.flush(t)
				talker.open = nil
				require.NoError(t, s.Branch(t.Context(), ""))
			case len(talker.open) > 0 && talker.chance(4):
				talker.result(t)
			default:
				talker.round(t, false)
			}
			if count(t, s) == 0 || talker.chance(3) {
				continue // compare after several steps
			}
			fresh := readOnly(t, path)
			equal(t, viewOf(t, fresh), viewOf(t, s))
			show := shows[talker.IntN(len(shows))]
			equal(t, viewOf(t, fresh).Units(show.limits, show.sizing), viewOf(t, s).Units(show.limits, show.sizing))
			for _, of := range []func(*history.Session) elements.Node{
				func(s *history.Session) elements.Node { return history.Conversation{Session: s, Limits: show.limits} },
				func(s *history.Session) elements.Node { return history.TurnStart{Session: s, Limits: show.limits} },
				func(s *history.Session) elements.Node { return history.TurnRounds{Session: s, Limits: show.limits} },
			} {
				equal(t, nodesOf(t, of(fresh), show.sizing), nodesOf(t, of(s), show.sizing))
			}
			require.NoError(t, fresh.Close())
		}
		require.NoError(t, s.Close())
	}
}

// nodesOf returns the nodes that an element renders to.
func nodesOf(t testing.TB, e elements.Node, s elements.Sizing) elements.Node {
	t.Helper()
	n, err := e.Render(t.Context(), s)
	require.NoError(t, err)
	return n
}

func TestOtherRoundsAreNotFinishedAnewIfTheNewestIsCut(t *testing.T) {
	s := talk(t, user, calls("c1"), chat.ToolResult("c1", numberedLines(10)), calls("c2"), chat.ToolResult("c2", numberedLines(100)))
	shown := func(v history.View) elements.Nodes {
		n, err := history.TurnRounds{Session: s}.Render(s.WithView(t.Context(), v), elements.Sizing{PromptBudget: 4000, Tokenizer: quarter{}})
		require.NoError(t, err)
		return n.(elements.Nodes)
	}
	v := viewOf(t, s)
	whole, cut := shown(v), v.NewestWithin(50, 0)
	before := shown(cut)
	require.True(t, whole[0] == before[0], "the same element")
	require.NotEqual(t, whole[1], before[1])
	require.NotEqual(t, before[1], shown(cut.NewestWithin(30, 0))[1])
	require.Equal(t, []elements.Nodes{whole, before}, []elements.Nodes{shown(v), shown(cut)}, "each view stays as it was")
}

func TestTheCallerMayChangeAView(t *testing.T) {
	s := agenda(t)
	before, shown := viewOf(t, s), renderedIn(t, t.Context(), prompt(s))
	v := viewOf(t, s)
	for i := range v.Turns {
		for k := range v.Turns[i].Rounds {
			r := &v.Turns[i].Rounds[k]
			r.Results = append(r.Results, r.Assistant)
			r.Results[0] = entry.Entry{}
			r.Assistant = entry.Entry{}
		}
		v.Turns[i].Rounds = append(v.Turns[i].Rounds, history.Round{})
	}
	equal(t, before, viewOf(t, s))
	require.Equal(t, shown, renderedIn(t, t.Context(), prompt(s)))
}

// weighted is a tokenizer that is not comparable and whose counts can be changed.
type weighted struct {
	quarter
	weight []int
}

func (w weighted) CountText(text string) int { return w.weight[0] * w.quarter.CountText(text) }

// Rounds that were clipped by its earlier counts are not shown again.
func TestRoundsAreClippedAgainIfTheTokenizerCountsDifferently(t *testing.T) {
	s := talk(t, user, calls("c1"), chat.ToolResult("c1", numberedLines(100)))
	show := func(tokenizer chat.Tokenizer) string {
		data := sure.JSON(t, nodesOf(t, history.TurnRounds{Session: s}, elements.Sizing{PromptBudget: 400, Tokenizer: tokenizer}))
		return string(data)
	}
	t.Run("one that is not comparable", func(t *testing.T) {
		w := weighted{weight: []int{1}}
		before := show(w)
		w.weight[0] = 40
		require.NotEqual(t, before, show(w))
	})
	t.Run("one that learns", func(t *testing.T) {
		c := &sizing.Calibrated{Base: quarter{}}
		text := numberedLines(100)
		before, count := show(c), c.CountText(text)
		var request chat.Request
		for i := range 8 {
			request.Messages = append(request.Messages, chat.UserMessage(text))
			c.Observe(request, chat.Response{Usage: chat.Usage{Input: 2 * (i + 1) * (quarter{}).CountText(text)}})
		}
		require.NotEqual(t, count, c.CountText(text), "the tokenizer has learned")
		require.NotEqual(t, before, show(c))
	})
}
