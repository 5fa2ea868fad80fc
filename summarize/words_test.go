package summarize_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// hearing is a model that summarises, and records which of the user's messages it was shown.
type hearing struct {
	mu    sync.Mutex
	heard map[string]bool
	long  bool // its summaries are too long
}

func (h *hearing) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	h.mu.Lock()
	for _, m := range req.Messages {
		for _, mark := range saidMark.FindAllString(m.Text(), -1) {
			h.heard[mark] = true
		}
	}
	h.mu.Unlock()
	summary := "## Goal\nWhat the user wants, and what was done."
	if h.long {
		summary = strings.Repeat("## More\n"+words(60)+"\n", 40)
	}
	if !strings.Contains(req.Messages[len(req.Messages)-1].Text(), "<summary> block") {
		return models.Say(summary)(ctx, req)
	}
	return models.SaySummary(summary)(ctx, req)
}

// After a compaction each user message is shown, or copied, or covered by a summary whose model was shown it.
func TestNoWordOfTheUsersIsLost(t *testing.T) {
	cuts := []history.Cut{{}, {Messages: 3}, {Messages: 20, First: 2}, {Tokens: 900}, {Rounds: 2}, {ToolBoundary: true}, {Tokens: 1200, SinceCompaction: true}}
	t.Parallel()
	seeds := extremes.Cases(48)
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		t.Parallel()
		made := 0
		for seed := range seeds {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			model := &hearing{heard: map[string]bool{}, long: seed%4 == 0}
			d := newFixture(t)
			d.Policy, d.Target.Model = p, model
			d.Policy.Overflow.LastResort, d.Policy.Ask.Names = policy.ResortError, nil
			d.Policy.Trigger = append(d.Policy.Trigger, policy.Condition{On: policy.OnBudgetExceeded})
			if seed%2 == 1 {
				d.Policy.Cut = cuts[r.IntN(len(cuts))]
			}
			d.Policy.Clear.Rule.Keep = min(d.Policy.Clear.Rule.Keep, 800)
			d.Policy.Clear.Rule.Saves = 0
			if seed%3 == 0 {
				d.Policy.Ask.Mode = "" // any mode
			} else if seed%3 == 1 && p.Name == "copilot-chat" {
				d.Policy.Ask.Mode = policy.ModeSimple
			}
			said, calls := 0, 0
			d.Say(chat.UserMessage("[said 0] Begin."))
			var leaves []string
			for step := range 60 {
				switch k := r.IntN(14); {
				case k < 2:
					said++
					size := 5 + r.IntN(40)
					if r.IntN(8) == 0 {
						size = 700
					}
					d.Say(chat.UserMessage(fmt.Sprintf("[said %d] %s", said, words(size))))
				case k < 3:
					_, err := d.Session.Add(t.Context(), entry.Entry{Body: entry.Shell{Command: "go test", Output: words(20)}})
					require.NoError(t, err)
				case k < 4:
					_, err := d.Session.Add(t.Context(), entry.Entry{Body: entry.CustomMessage{Name: "continue", Content: chat.Parts{chat.Text("Continue.")}}})
					require.NoError(t, err)
				case k < 5 && len(leaves) > 0:
					require.NoError(t, d.Session.Branch(t.Context(), leaves[r.IntN(len(leaves))]))
				default:
					calls++
					d.Say(round(calls, 100+r.IntN(400))...)
				}
				if r.IntN(3) == 0 {
					leaves = append(leaves, d.Session.Leaf())
				}
				result, err := d.Render(t.Context(), prompt(d.Session))
				if err != nil {
					continue // a message alone may be larger than the window
				}
				require.NoError(t, chat.Validate(result.Messages), "seed %d step %d", seed, step)
				require.LessOrEqual(t, result.Tokens, budget)
				require.NoError(t, d.Wait(t.Context()))
				shown := map[string]bool{}
				for _, m := range viewOf(t, d.Session).Messages() {
					for _, mark := range saidMark.FindAllString(m.Text(), -1) {
						shown[mark] = true
					}
				}
				for e, err := range d.Session.PathTo(t.Context(), "") {
					require.NoError(t, err)
					if mark := saidMark.FindString(e.Message().Text()); mark != "" && e.Message().Role == chat.RoleUser {
						require.True(t, shown[mark] || model.heard[mark], "seed %d step %d: %s is lost", seed, step, mark)
					}
				}
			}
			made += len(compactions(d.Session))
			require.NoError(t, d.Close())
		}
		require.Greater(t, made, seeds/6)
	})
}

func TestTheTailShrinksByRoundsUntilTheRestFits(t *testing.T) {
	last := 0
	for size := 500; size < 1100; size += 20 {
		d := fixtureOf(t, numbered.Session(), chat.UserMessage(task))
		d.Target.Budget, d.Policy = 10_000, a3s.Policy()
		d.Policy.Clear = policy.Clear{}
		d.Target.Model = saying("Done.")
		d.Say(rounds(1, 25, size)...) // the newest 20 messages are 10 rounds
		d.Messages()
		n := len(kept(d.Session))
		if last > 0 {
			require.LessOrEqual(t, last-n, 1, "at %d tokens a round %d are kept, and %d before", size, n, last)
			require.LessOrEqual(t, n, last)
		}
		last = n
	}
	require.Less(t, last, 10)
	require.Greater(t, last, 4)
}

func TestNothingIsCompactedIfTheCutKeepsEverything(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Policy = a3s.Policy()
	d.Policy.Clear = policy.Clear{}
	d.Say(rounds(1, 5, 690)...) // 11 messages, of which 20 are kept
	d.Messages()
	require.Empty(t, d.Requests())
	require.Contains(t, d.Explain(t.Context()).String(), "there is nothing to relieve: 0 tokens of history would be covered")
	_, err := d.Compact(t.Context(), "")
	require.ErrorIs(t, err, summarize.ErrNothingToCompact)

	d.Answers(models.Say("What was done, in short, for who goes on."))
	d.Say(round(6, 690)...) // now the prompt does not fit
	require.Contains(t, text(d.Messages()), "What was done, in short")
}
