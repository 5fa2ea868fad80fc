package summarize_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// unusable holds answers that are not usable as a summary.
var unusable = map[string]models.Step{
	"empty":              models.Say(""),
	"cut off":            stopped(chat.StopMaxTokens, "<summary>\nAnd th"),
	"refused by a check": models.SaySummary("bad"),
}

// refuseBad is a check that refuses one summary.
func refuseBad(m policy.Material) error {
	if m.Summary == "bad" {
		return &policy.SummaryError{Reason: "it is bad"}
	}
	return nil
}

// unusableFixture returns a fixture whose model gives the same unusable answer each time, and the model.
func unusableFixture(t *testing.T, step models.Step, messages ...chat.Message) (fixture, *counting) {
	model := &counting{answer: func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) { return step(ctx, r) }}
	d := newFixture(t, messages...)
	d.Target.Model = model
	d.Policy.Ask.Prompts = []policy.Prompt{prompts.FullPrompt()}
	d.Policy.Ask.Checks = append(d.Policy.Ask.Checks, refuseBad)
	return d, model
}

// askedIn returns the steps of the first 40 in which the model was asked.
func askedIn(t *testing.T, d fixture, model *counting) (at []int) {
	for step := range 40 {
		before := model.asked()
		d.Messages()
		d.Messages() // nothing was said in between
		if model.asked() > before {
			at = append(at, step)
		}
		d.Say(round(100+step, 50)...)
	}
	return at
}

func TestAnUnusableAnswerIsAskedForAgainAfterThePauseIfThePromptFits(t *testing.T) {
	for name, step := range unusable {
		t.Run(name, func(t *testing.T) {
			d, model := unusableFixture(t, step, append([]chat.Message{chat.UserMessage(task)}, rounds(0, 3, 400)...)...)
			d.Target.Budget = 1_000_000
			d.Policy.Trigger, d.Policy.Cut, d.Policy.Replace.Max = policy.Trigger{{Cap: 100}}, history.Cut{Rounds: 1}, 200
			require.Equal(t, []int{0, 1, 3, 7, 15, 31}, askedIn(t, d, model))
		})
	}
}

func TestAnUnusableAnswerIsAskedForAgainAfterThePauseIfTheLastResortHelps(t *testing.T) {
	for name, step := range unusable {
		for _, resort := range []policy.LastResort{policy.ResortTruncate, policy.ResortDrop} {
			t.Run(name+", "+string(resort), func(t *testing.T) {
				d, model := unusableFixture(t, step, append([]chat.Message{chat.UserMessage(task)}, rounds(0, 8, 600)...)...)
				d.Policy.Overflow.LastResort = resort
				require.Equal(t, []int{0, 1, 3, 7, 15, 31}, askedIn(t, d, model))
			})
		}
	}
}

func TestAnUnusableAnswerIsAskedForAgainByTheNextRenderIfNothingElseHelps(t *testing.T) {
	for name, step := range unusable {
		t.Run(name, func(t *testing.T) {
			d, model := unusableFixture(t, step, overflowing()...)
			before := 0
			for range 4 {
				d.Fails()
				require.Greater(t, model.asked(), before)
				before = model.asked()
			}
			d.Target.Model = saying("At last.")
			require.Contains(t, text(d.Messages()), "At last.")
		})
	}
}

func TestAfterTwoUnusableAnswersTheHistoryIsAskedForInSmallerPieces(t *testing.T) {
	for name, step := range unusable {
		t.Run(name, func(t *testing.T) {
			d, model := unusableFixture(t, step, overflowing()...)
			var sizes []int // of the first request of each render
			for range 4 {
				first := model.asked()
				d.Fails()
				sizes = append(sizes, count(quarter{}, model.calls[first].Messages))
			}
			require.Equal(t, sizes[0], sizes[1], "the second time the same")
			require.Less(t, sizes[2], sizes[1]*3/4, "the third time a piece")
			require.LessOrEqual(t, sizes[3], sizes[2])
		})
	}
}
