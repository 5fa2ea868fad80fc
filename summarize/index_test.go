package summarize_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

const indexOpen = "<history-index>"

// compactedWith returns a fixture whose session was compacted once, with an index of at most the given tokens.
func compactedWith(t *testing.T, s *history.Session, index int) compacttest.Fixture {
	t.Helper()
	d := compacttest.Of(t, s, compacttest.Overflowing()...)
	d.Policy.Replace.Index = index
	d.Always(models.SaySummary("The build failed in file-2.go."))
	d.Rendered(prompt(d.Session))
	return d
}

func TestAnIndexStandsBesideTheSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	d := compactedWith(t, opened(t, path), 100)
	c := compacttest.Compactions(d.Session)[0]
	require.Len(t, c.Messages, 2)
	text := c.Messages[1].Text()
	require.True(t, strings.HasPrefix(text, indexOpen), text)
	require.Contains(t, text, "file-1.go")
	require.NotContains(t, text, "file-2.go", "the summary shows it")
	require.NotContains(t, text, "file-6.go", "the tail shows it")
	require.LessOrEqual(t, quarter{}.CountMessage(c.Messages[1]), 100)
	require.NotContains(t, c.Text, "file-1.go")

	shown := compacttest.ViewOf(t, d.Session).Messages()
	require.NoError(t, d.Session.Close())
	require.Equal(t, shown, compacttest.ViewOf(t, opened(t, path)).Messages(), "a session that is opened again shows the same bytes")
}

func TestAnIndexTakesNothingFromTheSummary(t *testing.T) {
	plan := func(index int) (p entry.Plan) {
		for _, e := range entries(t, compactedWith(t, &history.Session{}, index).Session) {
			if found, ok := e.Body.(entry.Plan); ok {
				p = found
			}
		}
		return p
	}
	without, with := plan(0), plan(100)
	require.Zero(t, without.Index)
	require.Equal(t, 100, with.Index)
	require.Equal(t, []int{without.Room, without.Words}, []int{with.Room, with.Words})
	require.Greater(t, plan(600).Index, with.Room/4, "it has tokens of its own")
	require.Equal(t, compacttest.Budget/8, plan(100_000).Index, "at most an eighth of the budget")
}

func TestWithoutRoomForAnIndexThereIsNone(t *testing.T) {
	for rule, room := range map[string]policy.Replace{
		"the summary may take all that is left": {Index: 100, Share: 1, Max: compacttest.Budget},
		"it fits no name":                       {Index: 10, Max: 100},
	} {
		t.Run(rule, func(t *testing.T) {
			d := compacttest.New(t, compacttest.Overflowing()...)
			d.Policy.Replace.Index, d.Policy.Replace.Share, d.Policy.Replace.Max = room.Index, room.Share, room.Max
			d.Always(models.SaySummary("The build failed."))
			d.Rendered(prompt(d.Session))
			require.Len(t, compacttest.Compactions(d.Session)[0].Messages, 1)
		})
	}
}

func TestTheNextSummaryIsNotAskedForWithTheIndex(t *testing.T) {
	d := compactedWith(t, &history.Session{}, 100)
	d.Say(compacttest.Rounds(11, 16, compacttest.RoundTokens)...)
	d.Rendered(prompt(d.Session))
	all := compacttest.Compactions(d.Session)
	require.Len(t, all, 2)
	require.Contains(t, compacttest.Text(all[1].Messages), "file-11.go")
	for _, r := range d.Requests() {
		require.NotContains(t, compacttest.Text(r.Messages), indexOpen)
	}
	require.Equal(t, 1, strings.Count(compacttest.Text(d.Messages()), indexOpen), "the prompt has one index")
	require.NoError(t, chat.Validate(d.Messages()))
}

// Whatever is said, only a compaction or a clearing changes what was sent before: the index and the names of placeholders
// are written once.
func TestAPromptWithAnIndexOnlyGrowsBetweenCompactionsAndClearings(t *testing.T) {
	t.Parallel()
	indexed, named := 0, 0
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 69))
		d := compacttest.New(t)
		d.Policy = frugal.Policy()
		d.Policy.Clear.Rule.Keep, d.Policy.Clear.Rule.KeepStale, d.Policy.Cut.Tokens = 1_000, 500, 2_000
		d.Target.Budget, d.Target.ContextWindow = 16_000, 16_000
		d.Always(models.SaySummary("The build failed in file-2.go, and the others were read."))
		sent := []chat.Message{}
		changes := 0
		for step := range 40 {
			id := fmt.Sprint("c", step)
			read := chat.AssistantMessage("I read on.")
			read.ToolCalls = []chat.ToolCall{{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/part_%d.go"}`, r.IntN(99))}}
			text := ""
			for range r.IntN(400) {
				text += fmt.Sprintf("name_%d of file-%d.go, ", r.IntN(5_000), r.IntN(99))
			}
			require.NoError(t, d.Session.Append(t.Context(), chat.UserMessage(compacttest.Words(r.IntN(60)+1)), read, chat.ToolResult(id, text)))
			rendered := d.Rendered(prompt(d.Session))
			before := changes
			changes = 0
			for _, e := range entries(t, d.Session) {
				if e.Type() == entry.TypeCompaction || e.Type() == entry.TypeClearing {
					changes++
				}
			}
			if changes == before {
				require.GreaterOrEqual(t, len(rendered.Messages), len(sent))
				require.Equal(t, sent, rendered.Messages[:len(sent)], "seed %d, step %d", seed, step)
			}
			sent = rendered.Messages
			require.NoError(t, d.Wait(t.Context()))
		}
		for _, m := range sent {
			indexed += strings.Count(m.Text(), indexOpen)
		}
		for _, e := range entries(t, d.Session) {
			if c, ok := e.Body.(entry.Clearing); ok {
				for _, cleared := range c.Results {
					named += strings.Count(cleared.Text, "name_")
				}
			}
		}
	}
	require.Positive(t, indexed)
	require.Positive(t, named)
}
