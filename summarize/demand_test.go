package summarize_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// roomy returns a fixture with a few rounds, which fit.
func roomy(t testing.TB) fixture {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 4, 400)...)
	return d
}

func TestCompactInterruptsBackgroundWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := backgroundFixture(t, 3400)
		interrupted := 0
		d.Hooks.Interrupt = func(context.Context) error { interrupted++; return nil }
		d.Answers(slowly(time.Hour, models.SaySummary("too slow")), models.SaySummary("as asked"))
		d.Messages()
		synctest.Wait()
		d.Compacted()
		require.Equal(t, 1, interrupted)
		require.Len(t, compactions(d.Session), 1)
		require.Contains(t, d.Messages()[1].Text(), "as asked")
		require.Equal(t, policy.PendingNone, d.PendingNow())
	})
}

func TestASwitchOfModelsChangesNothingIfTheCompactionFails(t *testing.T) {
	d := roomy(t)
	d.Policy.Trigger = policy.Trigger{{On: policy.OnModelSwitch, Ratio: 1, Above: true}}
	d.Messages()
	d.Answers(models.Say("no"), models.Say("no"))
	was := d.Current()
	smaller := d.Target
	smaller.Name, smaller.Budget, smaller.ContextWindow = "smaller", 1000, 0
	_, err := d.SwitchModel(t.Context(), prompt(d.Session), smaller)
	require.NotNil(t, errtest.As[*summarize.FailedError](t, err).Budget)
	equal(t, was, d.Current())
	equal(t, said(d.Session), d.Messages()[1:])
}

func TestAPromptOnDemandIsUsedForNothingElse(t *testing.T) {
	asked := func(demand bool, mode policy.Mode) string {
		d := roomy(t)
		full := prompts.FullPrompt()
		full.OnDemand = true
		d.Policy.Ask.Prompts, d.Policy.Ask.Mode = []policy.Prompt{full, prompts.SimplePrompt()}, mode
		d.Always(models.SaySummary("Done."))
		if !demand {
			d.Say(rounds(20, 26, roundTokens)...)
		}
		d.Messages()
		if demand {
			d.Compacted()
		}
		return kinds(*d.Heard)
	}
	require.Equal(t, "started done/full", asked(true, policy.ModeAuto))
	require.Equal(t, "started done/simple", asked(false, policy.ModeAuto))
	require.Equal(t, "started done/full", asked(false, policy.ModeFull), "it was forced")
}

func TestASummaryMadeForAnotherModelIsThrownAwayIfThePolicySaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		perModel, ready, switches bool
		want                      string
	}{
		"one that is ready":                            {true, true, false, "started ready/full discarded/full"},
		"one that is ready when the model is switched": {true, true, true, "started ready/full discarded/full"},
		"one that is being made":                       {true, false, false, "started cancelled"},
		"by default it is put in place":                {false, true, false, "started ready/full done/full"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := backgroundFixture(t, 3400)
				d.Policy.Background.PerModel = c.perModel
				d.Answers(slowly(time.Minute, models.SaySummary("For the first model.")))
				d.Messages()
				if c.ready {
					require.NoError(t, d.Wait(t.Context()))
				}
				other := d.Target
				other.Name = "other"
				if c.switches {
					_, err := d.SwitchModel(t.Context(), prompt(d.Session), other)
					require.NoError(t, err)
				} else {
					require.NoError(t, d.Retarget(t.Context(), other))
				}
				require.Equal(t, policy.PendingNone == d.PendingNow(), c.perModel)
				d.Policy.Trigger = nil
				require.Equal(t, !c.perModel, strings.Contains(text(d.Messages()), "For the first model."))
				require.Equal(t, c.want, kinds(*d.Heard))
			})
		})
	}
}

func TestASwitchDoesNotWaitForASummaryThatItThrowsAway(t *testing.T) {
	for perModel, want := range map[bool]string{true: "started cancelled started done/full", false: "started waiting ready/full done/full"} {
		synctest.Test(t, func(t *testing.T) {
			d := backgroundFixture(t, 3400)
			d.Policy.Background.PerModel = perModel
			d.Answers(slowly(50*time.Second, models.SaySummary("For the first model.")), models.SaySummary("For the second."))
			d.Messages()
			synctest.Wait() // the model is asked
			smaller, start := d.Target, time.Now()
			smaller.Name, smaller.Budget = "smaller", 2500
			_, err := d.SwitchModel(t.Context(), prompt(d.Session), smaller)
			require.NoError(t, err)
			require.Equal(t, want, kinds(*d.Heard))
			require.Equal(t, !perModel, time.Since(start) > 0)
		})
	}
}

func TestARefusalIsAnsweredUnderAnyPolicy(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, off := range []bool{false, true} {
			d := newFixture(t, chat.UserMessage(task))
			d.Policy, d.Policy.Off = p, off
			d.Say(rounds(1, 5, 600)...)
			d.Target.Model = down(errDown)
			sent := d.Messages()
			r := d.Recovered(&chat.ContextLimitError{Limit: 2000, Tokens: count(quarter{}, sent)}, "")
			require.LessOrEqual(t, r.Tokens, 1800)
			require.NoError(t, chat.Validate(r.Messages))
			require.Empty(t, compactions(d.Session))
		}
	})
}

func TestTruncationLeavesTheSummaryInPlace(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy.Overflow.LastResort = policy.ResortTruncate
	d.Answers(models.SaySummary("What went before."))
	d.Messages()
	d.Say(chat.UserMessage("And " + words(500)))
	d.Say(rounds(7, 12, roundTokens)...)
	d.Answers(models.Say("no"), models.Say("no"))
	got := d.Messages()
	require.Contains(t, kinds(*d.Heard), "truncated")
	require.Contains(t, got[1].Text(), "What went before.")
	require.Equal(t, 12, outputs(text(got))[len(outputs(text(got)))-1])
}

// An earlier summary may be larger than all that another model takes in. It is summarised again, alone if nothing else can
// be covered.
func TestASummaryThatNoLongerFitsIsSummarisedAgain(t *testing.T) {
	for _, name := range policies.Names() {
		for _, c := range []struct{ summary, budget, window, rounds int }{
			{8000, 6000, 8192, 1}, {8000, 6000, 8192, 12}, {50_000, 4000, 5000, 1}, {4500, 6000, 8192, 8},
		} {
			t.Run(fmt.Sprintf("%s, a summary of %d and %d rounds in %d", name, c.summary, c.rounds, c.budget), func(t *testing.T) {
				d := newFixture(t, chat.UserMessage(task))
				said := ""
				for n := range c.summary / 10 {
					said += fmt.Sprintf("## Part %d\nfact-%05d and so on and on.\n\n", n, n)
				}
				at := d.Session.Leaf()
				d.Say(chat.AssistantMessage("Done."))
				d.Note(entry.Compaction{
					Messages: []chat.Message{chat.UserMessage("<conversation-summary>\n" + said + "</conversation-summary>")}, Summary: entry.Summary{Text: said}, LastCovered: at,
				})
				d.Say(chat.UserMessage("And now?"))
				d.Say(rounds(1, c.rounds, 200)...)
				d.Policy = policies.All()[name]
				d.Policy.Ask.Names, d.Policy.Ask.Judge.Off = nil, true
				var mu sync.Mutex // segments are asked for at once
				largest, seen := 0, ""
				model := chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					largest = max(largest, count(quarter{}, r.Messages)+r.MaxTokens)
					seen += text(r.Messages)
					return models.SaySummary("## Goal\nWhat was said, shorter: the facts."+words(50))(ctx, r)
				})
				d.Target = policy.Target{Model: model, Name: "large", Tokenizer: quarter{}, Budget: 150_000, ContextWindow: 200_000}
				d.Messages()
				result, err := d.SwitchModel(t.Context(), prompt(d.Session), policy.Target{Model: model, Name: "small", Tokenizer: quarter{}, Budget: c.budget, ContextWindow: c.window})
				require.NoError(t, err)
				require.LessOrEqual(t, result.Tokens, c.budget)
				require.Contains(t, text(result.Messages), "shorter: the facts", d.Explain(t.Context()))
				require.Contains(t, text(result.Messages), fmt.Sprintf("Step %d.", c.rounds))
				require.NoError(t, d.Close())
				require.Contains(t, seen, "fact-00000")
				require.NotContains(t, kinds(*d.Heard), "let go")
				require.Len(t, compactions(d.Session), 2)
			})
		}
	}
}

func TestASummaryOfABranchLeavesOutWhatItsModelRefuses(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 3, 200)...)
	d.Say(chat.UserMessage(forbidden))
	d.Policy.Branch = ohmypi.Policy().Branch
	d.Note(entry.Refusal{
		Model: d.Target.Name, Unit: entry.UnitHeld, Held: []entry.Held{{Entry: "e8", Part: -1, State: entry.HeldRefused}},
	})
	d.Answers(models.Say("It led nowhere."))
	_, err := d.Navigate(t.Context(), "e3", summarize.Navigation{Summarize: true})
	require.NoError(t, err)
	require.Contains(t, text(d.Request().Messages), "[message left out: ")
	require.NotContains(t, text(d.Request().Messages), forbidden)
}

func TestACheckpointThatCannotBeWrittenDoesNotStopTheCompaction(t *testing.T) {
	d := newFixture(t, overflowing()...)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	d.Checkpoints = &checkpoints.Folder{Dir: file}
	d.Policy.Replace.Checkpoints = true
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.Equal(t, "started hook failed done/full", kinds(*d.Heard))
}

func TestANewConversationBeginsWithTheSummaryOfTheOneBefore(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 2, 100)...)...)
	d.Answers(models.Say("The build was fixed."))
	branch, err := d.Navigate(t.Context(), "", summarize.Navigation{Summarize: true})
	require.NoError(t, err)
	require.Equal(t, entry.Files{Read: []string{"file-1.go", "file-2.go"}}, branch.Files)
	require.Equal(t, []int{1, 2}, outputs(text(d.Request().Messages)))
	shown := d.Messages()
	require.Len(t, shown, 2)
	require.Contains(t, shown[1].Text(), "The build was fixed.")
}
