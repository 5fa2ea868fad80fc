package summarize_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

var errDown = errors.New("connection refused")

// counting is a model that counts how often it is asked.
type counting struct {
	mu     sync.Mutex
	calls  []chat.Request
	answer func(ctx context.Context, n int, req chat.Request) (chat.Response, error)
}

func (c *counting) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	c.mu.Lock()
	c.calls = append(c.calls, req)
	n := len(c.calls)
	c.mu.Unlock()
	return c.answer(ctx, n, req)
}

func (c *counting) asked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// down returns a model that fails with an error.
func down(err error) *counting {
	return &counting{answer: func(context.Context, int, chat.Request) (chat.Response, error) { return chat.Response{}, err }}
}

// saying returns a model that answers with a summary.
func saying(summary string) *counting {
	return &counting{answer: func(ctx context.Context, _ int, req chat.Request) (chat.Response, error) {
		return models.SaySummary(summary)(ctx, req)
	}}
}

// unanswering is a model that answers only once its request is cancelled.
func unanswering() *counting {
	return &counting{answer: func(ctx context.Context, _ int, _ chat.Request) (chat.Response, error) { return untilEnded(ctx) }}
}

func TestACandidateThatFailedIsNotAskedAgainWithinOneCompaction(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		synctest.Test(t, func(t *testing.T) {
			model := down(errDown)
			d := newFixture(t, overflowing()...)
			d.Policy, d.Target.Model = p, model
			d.Policy.Overflow.LastResort, d.Policy.Clear = policy.ResortError, policy.Clear{}
			require.ErrorIs(t, d.Fails(), errDown)
			require.Equal(t, 1, model.asked())
		})
	})
}

func TestAnyFailureOfARouteFallsBackToTheNextAndLastToTheAgentsModel(t *testing.T) {
	for _, err := range []error{errDown, status(401), status(404), status(400), &chat.TransientError{Err: errDown}, context.DeadlineExceeded} {
		first, second := down(err), down(err)
		d := newFixture(t, overflowing()...)
		d.Policy.Ask.Routes = []policy.Route{{Agents: []string{"gpt*"}, Model: "first"}}
		d.Policy.Ask.Names = []string{"second", "unknown"}
		d.Target.Name = "openai/gpt-4o"
		d.Models = map[string]policy.Target{"first": {Model: first}, "second": {Model: second}}
		d.Answers(models.SaySummary("From the agent's own."))
		require.Contains(t, text(d.Messages()), "From the agent's own.", "%v", err)
		require.Equal(t, 1, first.asked())
		require.Equal(t, 1, second.asked())
		require.Contains(t, kinds(*d.Heard), "model unknown")
	}
}

func TestAPauseDoublesWithEachFailureUpToTenSteps(t *testing.T) {
	t.Parallel()
	model := down(errDown)
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Model, d.Target.Budget = model, 1_000_000
	d.Policy = policy.Policy{Trigger: policy.Trigger{{Cap: 100}}, Cut: history.Cut{Rounds: 1}, Replace: policy.Replace{Max: 200}}
	d.Say(rounds(0, 3, 400)...)
	var at []int
	for step := range 60 {
		before := model.asked()
		d.Messages()
		d.Messages() // without a step in between nothing is tried
		if model.asked() > before {
			at = append(at, step)
		}
		d.Say(round(100+step, 50)...)
	}
	require.Equal(t, []int{0, 1, 3, 7, 15, 25, 35, 45, 55}, at)
	require.Equal(t, len(at), model.asked())
}

// Where nothing can be sent without a summary, a render within the pause fails at once. The pause is by time: nothing is
// accepted that would end it.
func TestAPromptThatDoesNotFitIsTriedAgainAfterPausesThatDouble(t *testing.T) {
	for _, c := range []struct {
		name     string
		requests int // of an attempt
		answer   models.Reply
	}{
		{"a request that is always refused", 1, models.Fail(status(401))},
		{"a failure that may pass", 1, models.Fail(&chat.TransientError{Err: errDown})},
		{"answers that cannot be used, in full and in simple mode", 2, models.Say("")},
	} {
		bubble(t, c.name, func(t *testing.T) {
			model := &counting{answer: func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) { return c.answer(ctx, r) }}
			d := newFixture(t, overflowing()...)
			d.Target.Model = model
			var at []int // seconds after which it was asked
			for second := range 4 * 60 {
				asked := model.asked()
				failed := d.Fails()
				require.NotNil(t, failed.Budget)
				if model.asked() > asked {
					at = append(at, second)
				} else {
					require.ErrorContains(t, failed, "compaction is paused")
				}
				time.Sleep(time.Second)
			}
			require.Subset(t, at, []int{0, 1, 3, 9, 23, 53, 113, 173, 233})
			require.LessOrEqual(t, model.asked(), c.requests*9+20, "more if it is asked in segments")
			time.Sleep(time.Minute)
			d.Target.Model = saying("At last.")
			require.Contains(t, text(d.Messages()), "At last.")
		})
	}
}

// After a compaction that failed a pause has been waited for, so the next one asks less often: requests are bounded for as
// long as a model is down, whatever a policy makes of one failure.
func TestAModelIsAskedAgainFewerTimesAfterEachFailedCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &counting{answer: func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) {
			return models.Fail(&chat.TransientError{Err: errDown})(ctx, r)
		}}
		d := newFixture(t, overflowing()...)
		d.Target.Model = model
		d.Policy.Ask.Attempts, d.Policy.Ask.RetryWait = 4, 15*time.Second
		for _, want := range []int{4, 2, 1, 1} {
			asked := model.asked()
			d.Fails()
			require.Equal(t, want, model.asked()-asked)
			time.Sleep(time.Minute)
		}
	})
}

func TestAWaitForABackgroundSummaryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, chat.UserMessage(task))
		d.Target.Model = unanswering()
		d.Policy = copilotchat.Policy()
		d.Policy.Overflow.LastResort, d.Policy.Background.Wait = policy.ResortError, 0.95
		d.Say(rounds(1, 5, 660)...)
		d.Messages()
		require.Equal(t, "started", kinds(*d.Heard), "%v", d.Explain(t.Context()))
		d.Say(round(6, 560)...)
		begun := time.Now()
		d.Messages()
		require.Equal(t, time.Minute, time.Since(begun))
		require.Equal(t, "started waiting", kinds(*d.Heard))
		d.Say(round(7, 600)...)
		begun = time.Now()
		_, err := d.Render(t.Context(), prompt(d.Session))
		require.ErrorAs(t, err, new(*summarize.PendingError))
		require.Equal(t, time.Minute, time.Since(begun))
	})
}

func TestAbortWorksFromTheMomentACallReturns(t *testing.T) {
	for range 200 {
		d := newFixture(t, chat.UserMessage(task))
		d.Target.Model = unanswering()
		d.Policy = copilotchat.Policy()
		d.Say(rounds(1, 5, 660)...)
		d.Messages()
		d.Abort()
		require.NoError(t, d.Wait(t.Context()))
		require.Equal(t, policy.PendingNone, d.PendingNow())
		d.Target.Model = saying("Done, all of it, and it was tested.")
		require.NoError(t, d.Retarget(t.Context(), d.Target))
		d.Compacted()
	}
}

func TestASummaryThatIsReadyIsUsedByACompactionOnDemand(t *testing.T) {
	model := saying("Made in the background.")
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Model, d.Policy = model, copilotchat.Policy()
	d.Say(rounds(1, 5, 660)...)
	d.Messages()
	require.NoError(t, d.Wait(t.Context()))
	done := d.Compacted()
	require.Contains(t, text(done.Result.Messages), "Made in the background.")
	require.Positive(t, done.TokensRemoved)
	require.Equal(t, 1, model.asked())
}

func TestRecoverUsesASummaryThatIsReadyAndCompactsNoFurther(t *testing.T) {
	model := saying("Made in the background.")
	d := newFixture(t, chat.UserMessage(task))
	d.Target.Model, d.Policy = model, copilotchat.Policy()
	d.Policy.Trigger = append(d.Policy.Trigger, policy.Condition{On: policy.OnContextLimit})
	d.Say(rounds(1, 5, 660)...)
	d.Messages()
	require.NoError(t, d.Wait(t.Context()))
	r := d.Recovered(&chat.ContextLimitError{Limit: 3900, Tokens: 4100}, "")
	require.Contains(t, text(r.Messages), "Made in the background.")
	require.Equal(t, 1, model.asked())
	require.Len(t, compactions(d.Session), 1)
}

func TestHooksOfABackgroundCompactionDoNotDelayRender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, chat.UserMessage(task))
		d.Target.Model, d.Policy = saying("Done."), copilotchat.Policy()
		slow := func(ctx context.Context) error {
			select {
			case <-time.After(10 * time.Second):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		d.Hooks.BeforeCompact = func(ctx context.Context, _ policy.Occasion, _ policy.Material) (summarize.Intervention, error) {
			return summarize.Intervention{}, slow(ctx)
		}
		d.Hooks.Workspace = func(ctx context.Context) (policy.Workspace, error) { return policy.Workspace{}, slow(ctx) }
		d.Hooks.AfterCompact = func(ctx context.Context, _ entry.Entry) error { return slow(ctx) }
		d.Say(rounds(1, 5, 660)...)
		begun := time.Now()
		d.Messages()
		require.Zero(t, time.Since(begun))
		require.NoError(t, d.Wait(t.Context()))
		begun = time.Now()
		d.Messages()
		require.Zero(t, time.Since(begun))
		require.Len(t, compactions(d.Session), 1)
	})
}

func TestAHookThatDoesNotReturnIsLeftBehindAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t, overflowing()...)
		d.Hooks.Timeout = 3 * time.Second
		release := make(chan struct{})
		d.Hooks.BeforeCompact = func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
			<-release
			return summarize.Intervention{Cancel: true}, nil
		}
		d.Answers(models.SaySummary("Done."))
		begun := time.Now()
		d.Messages()
		require.Equal(t, 3*time.Second+callback.Grace, time.Since(begun))
		require.Contains(t, kinds(*d.Heard), "hook failed")
		close(release)
	})
}

func TestAVetoIsAnEventAndIsExplained(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Hooks.BeforeCompact = func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
		return summarize.Intervention{Cancel: true}, nil
	}
	require.ErrorIs(t, d.Fails(), summarize.ErrVetoed)
	require.Equal(t, "started vetoed", kinds(*d.Heard))
	require.Equal(t, "vetoed", d.Explain(t.Context()).Outcome)
}

// provider returns a model that refuses requests larger than its window by its own count, which is ratio times ours. If
// named is set, the refusal names both numbers.
func provider(window int, ratio float64, say string, named bool) *counting {
	return &counting{answer: func(ctx context.Context, _ int, req chat.Request) (chat.Response, error) {
		tokens := int(ratio * float64(count(quarter{}, req.Messages)+quarter{}.CountTools(req.Tools)))
		if tokens+req.MaxTokens > window {
			refused := &chat.ContextLimitError{}
			if named {
				refused.Limit, refused.Tokens = window, tokens
			}
			return chat.Response{}, refused
		}
		return models.SaySummary(say)(ctx, req)
	}}
}

func TestARequestForASummaryFitsTheModelThatIsAsked(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, window := range []int{8_000, 16_000, 32_000, 128_000} {
			model := provider(window, 1, "## Goal\n"+words(150), true)
			d := newFixture(t, chat.UserMessage(task))
			d.Target.Model, d.Target.ContextWindow = model, window
			d.Target.Tools = []chat.Tool{{Name: "read", Description: words(window / 16)}}
			d.Target.Budget = window - quarter{}.CountTools(d.Target.Tools) - window/16
			d.Policy = p
			d.Policy.Ask.Names, d.Policy.Clear, d.Policy.Overflow.LastResort = nil, policy.Clear{}, policy.ResortError
			d.Say(rounds(1, 40, window/32)...)
			d.Messages()
			require.NoError(t, d.Wait(t.Context()))
			refusals := slices.DeleteFunc(entries(t, d.Session), func(e entry.Entry) bool { return e.Type() != entry.TypeRefusal })
			require.Empty(t, refusals, "a window of %d", window)
			require.Positive(t, model.asked())
		}
	})
}

func TestRecoverUsesTheProvidersNumbersAndKeepsItsRatio(t *testing.T) {
	for _, named := range []bool{true, false} {
		agent := provider(4_000, 2, "Answer.", named)
		d := newFixture(t, chat.UserMessage(task))
		d.Policy.Trigger = policy.Trigger{{On: policy.OnContextLimit}}
		d.Target.Model = models.Offline{Tokenizer: quarter{}}
		d.Say(rounds(1, 8, 450)...)
		r := d.Rendered(prompt(d.Session))
		tries := 0
		for {
			_, refused := agent.Generate(t.Context(), chat.Request{Messages: r.Messages})
			if refused == nil {
				break
			}
			tries++
			require.LessOrEqual(t, tries, 3)
			r = d.Recovered(refused, "")
		}
		require.Positive(t, tries)
		if !named {
			continue
		}
		require.Equal(t, 1, tries)
		d.Say(chat.AssistantMessage("Answer."), chat.UserMessage("More."))
		d.Say(round(20, 900)...)
		r = d.Rendered(prompt(d.Session))
		_, refused := agent.Generate(t.Context(), chat.Request{Messages: r.Messages})
		require.NoError(t, refused, "the ratio is kept")
	}
}

func TestRecoverHidesAFailedAnswerThoughOtherEntriesFollowIt(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Target.Budget = 100_000
	d.Policy.Trigger = policy.Trigger{{On: policy.OnContextLimit}}
	d.Target.Model = saying("Done, all of it, and it was tested.")
	added := sessiontest.Add(t, d.Session, entry.Entry{Body: entry.Message{Message: chat.AssistantMessage("error: too large")}},
		entry.Entry{Body: entry.Usage{Usage: chat.Usage{Input: 1}}},
		entry.Entry{Body: entry.Custom{Name: "mine"}},
	)
	d.Note(entry.Label{Target: added[0].ID, Text: "failed"})
	r := d.Recovered(&chat.ContextLimitError{Limit: 3000, Tokens: 4300}, added[0].ID)
	require.NotContains(t, text(r.Messages), "error: too large")
}

func TestSummariesInChineseAreNotRefusedForTheirLength(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		t.Parallel()
		long := strings.Repeat("## 目标\n用户要修复构建。"+strings.Repeat("文件已经读过。", 60)+"\n\n", 20)
		d := newFixture(t, chat.UserMessage("请修复构建。"))
		d.Policy, d.Target.Model = p, saying(long)
		d.Policy.Overflow.LastResort, d.Policy.Ask.Names, d.Policy.Clear = policy.ResortError, nil, policy.Clear{}
		for n := range 60 {
			d.Say(round(n, 500)...)
			d.Messages()
		}
		require.NotEmpty(t, compactions(d.Session))
	})
}

func TestAPlanWhoseRunnerIsGoneIsDroppedAndReplaced(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	hangs := make(chan struct{})
	d.Target.Model = chat.ModelFunc(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
		close(hangs)
		<-ctx.Done()
		return chat.Response{}, context.Cause(ctx)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-hangs; cancel() }()
	_, err := d.Render(ctx, prompt(d.Session))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, d.Close()) // only that ends the work
	data := content(t, d.Session.Path())
	at := strings.LastIndex(data, `{"type":"planEnd"`)
	require.Positive(t, at, "how it ended is an entry")

	killed := t.TempDir() + "/killed.jsonl" // as kill -9 would have left it
	sure.Write(t, killed, data[:at])
	again := fixtureOf(t, opened(t, killed))
	again.Answers(models.SaySummary("Done after all."))
	require.Contains(t, text(again.Messages()), "Done after all.")
	require.Contains(t, content(t, killed), `nobody runs the plan any more`)
}

func TestARefusalThatNoCompactionAnswersIsAnsweredWithLessHistory(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 4, roundTokens)...)
	d.Policy.Trigger = policy.Trigger{{On: policy.OnContextLimit}}
	d.Target.Model = down(errDown)
	d.Messages()
	refused := &chat.ContextLimitError{Err: errors.New("413 status code (no body)")}
	var sizes []int
	for {
		r, err := d.Recover(t.Context(), prompt(d.Session), refused, "")
		if err != nil {
			require.ErrorAs(t, err, new(*summarize.RecoveryError))
			break
		}
		require.NoError(t, chat.Validate(r.Messages))
		sizes = append(sizes, r.Tokens)
	}
	require.LessOrEqual(t, sizes[0], d.Target.Budget/2, "the first may be a mistake, but it was large")
	require.Less(t, sizes[1], sizes[0])
	require.Empty(t, compactions(d.Session))
	d.Say(chat.AssistantMessage("It took that."))
	require.Less(t, count(quarter{}, d.Messages()), sizes[0], "a size that was refused is not sent")
	d.Say(chat.UserMessage("More."), chat.AssistantMessage("And that."), chat.AssistantMessage("And that."))
	d.Say(chat.UserMessage("More."))
	require.Greater(t, count(quarter{}, d.Messages()), sizes[0], "until three requests were accepted")
}

func TestASingleRefusalWithoutANumberIsTakenForAMistake(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, chat.UserMessage(task))
		d.Policy, d.Target.Budget, d.Target.Model = p, 100_000, down(errDown)
		d.Say(rounds(1, 4, roundTokens)...)
		sent := d.Messages()
		equal(t, sent, d.Recovered(status(413), "").Messages)
		d.Say(chat.AssistantMessage("Fine."), chat.UserMessage("More."))
		d.Say(rounds(5, 9, roundTokens)...)
		require.Greater(t, count(quarter{}, d.Messages()), 2*count(quarter{}, sent))
		require.Empty(t, compactions(d.Session))
	})
}

func TestARefusedSummaryDoesNotBoundTheAgentsPrompts(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, chat.UserMessage(task))
		d.Policy, d.Target.Budget, d.Policy.Ask.Names = p, 50_000, nil
		d.Target.Model = down(status(413))
		d.Say(rounds(1, 60, 900)...)
		_, _ = d.Render(t.Context(), prompt(d.Session))
		_ = d.Wait(t.Context())
		d.Target.Model = saying("Done, all of it, and it was tested.")
		for n := range 5 {
			d.Say(chat.UserMessage("More."))
			d.Say(round(100+n, 50)...)
		}
		_ = d.Messages()
		require.NoError(t, d.Wait(t.Context()))
		_ = d.Messages()
		require.Equal(t, 50_000, d.Explain(t.Context()).Measurement.Budget)
	})
}
