package mirror_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/growth"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize/mirror"
)

func TestAResultAnswersItsCallAcrossAnAnswer(t *testing.T) {
	s := numbered.Session()
	list := script("u1 c1 a1 r1 u2")
	sent, err := mirror.New(compactorOn(t, s, plenty)).Fit(t.Context(), mirror.Request[chat.Message]{Messages: list})
	require.NoError(t, err)
	joined := list[1]
	joined.Content = chat.Parts{chat.Text("c1\na1")} // no list may have a text between a call and its result
	require.Empty(t, cmp.Diff([]chat.Message{list[0], joined, list[3], list[4]}, sent.Messages))

	appended := numbered.Session()
	require.NoError(t, appended.Append(t.Context(), list...))
	v := sessiontest.View(t, appended)
	require.Empty(t, cmp.Diff(v.Messages(), sessiontest.View(t, s).Messages()))
}

func TestCallsAndResultsOfAListArePairedAlikeInTheSession(t *testing.T) {
	t.Parallel()
	for seed := range uint64(extremes.Cases(2000)) {
		r := rand.New(rand.NewPCG(seed, 7))
		list := providertest.Calls(r)
		s := numbered.Session()
		m := mirror.New(compactorOn(t, s, plenty))
		for n := 1; n < len(list); n += 1 + r.IntN(5) { // in steps
			fit(t, m, list[:n])
			if r.IntN(4) == 0 { // the process starts again
				m = mirror.New(compactorOn(t, s, plenty))
			}
		}
		fit(t, m, list)

		var had []chat.Message
		for e, err := range s.PathTo(t.Context(), "") {
			require.NoError(t, err)
			switch e.Body.(type) {
			case entry.Message, entry.CustomMessage:
				had = append(had, e.Message())
			}
		}
		require.Len(t, had, len(list), "seed %d", seed)
		want, got := chat.Pair(list), chat.Pair(had)
		for i := range list {
			a, b := want[i], got[i]
			require.Equal(t, a.Message, b.Message, "seed %d: message %d", seed, i)
			require.Equal(t, a.Call, b.Call, "seed %d: message %d", seed, i)
		}
	}
}

func TestManyParallelCallsAreMirroredInLinearTime(t *testing.T) {
	growth.Check(t, extremes.All(), func(calls int) {
		list := script("u1 c1")
		call := list[1].ToolCalls[0]
		call.ID = ""
		list[1].ToolCalls = nil
		for range calls {
			list[1].ToolCalls = append(list[1].ToolCalls, call)
			list = append(list, chat.ToolResult("", "text"))
		}
		s := numbered.Session()
		_, err := mirror.New(compactorOn(t, s, 1<<40)).Fit(t.Context(), mirror.Request[chat.Message]{Messages: list})
		require.NoError(t, err)
		require.Empty(t, sessiontest.View(t, s).Turns[0].Rounds[0].Aborted())
	})
}
