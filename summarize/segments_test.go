package summarize_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// numberedSummaries returns n steps, which answer "Summary 1.", "Summary 2." and so on.
func numberedSummaries(n int) []models.Reply {
	steps := make([]models.Reply, n)
	for i := range steps {
		steps[i] = models.SaySummary(fmt.Sprintf("Summary %d.", i+1))
	}
	return steps
}

func TestHistoryLargerThanTheWindowIsSummarisedInSegments(t *testing.T) {
	for _, c := range []struct{ window, tokens, rounds int }{
		{800, 60, 75}, {1000, 60, 75}, {1500, 60, 75}, {1500, 150, 30}, {2500, 60, 75}, {3999, 60, 75}, {3000, 300, 15}, {5000, 60, 75},
	} {
		t.Run(fmt.Sprintf("%d rounds of %d tokens in %d", c.rounds, c.tokens, c.window), func(t *testing.T) {
			d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, c.rounds, c.tokens)...)...)
			d.TakesIn(c.window)
			d.Answers(numberedSummaries(c.rounds)...)
			d.Messages()
			requests := d.Requests()
			n := len(requests)

			covered := said(d.Session)[:1+2*(c.rounds-1)]
			first := requests[0].Messages
			overhead := count(quarter{}, []chat.Message{first[0], first[len(first)-1]})
			answer := quarter{}.CountMessage(compactions(d.Session)[0].Messages[0])
			half := (c.window - overhead - answer) / 2
			require.LessOrEqual(t, n, count(quarter{}, covered)/max(1, half-c.tokens-40)+2)
			if c.window < count(quarter{}, covered)+overhead {
				require.Greater(t, n, 1)
			}

			var shown []chat.Message
			for i, r := range requests {
				require.NoError(t, chat.Validate(r.Messages))
				require.LessOrEqual(t, count(quarter{}, r.Messages), c.window)
				equal(t, first[0], r.Messages[0])
				equal(t, first[len(first)-1], r.Messages[len(r.Messages)-1])
				messages := r.Messages[1 : len(r.Messages)-1]
				if n > 1 && i < n-1 { // the last one shows all that is left if that fits
					require.LessOrEqual(t, count(quarter{}, messages), max(c.window/2, 2*c.tokens), "half of what the model takes in, or one round")
				}
				if i > 0 {
					equal(t, chat.UserMessage(fmt.Sprintf("<conversation-summary>\nSummary %d.\n</conversation-summary>", i)), messages[0])
					messages = messages[1:]
				}
				require.NotEmpty(t, messages)
				shown = append(shown, messages...)
			}
			equal(t, covered, shown) // each once, in order
			require.Contains(t, compactions(d.Session)[0].Messages[0].Text(), fmt.Sprintf("Summary %d.", n))
			require.Len(t, compactions(d.Session), 1)
			require.Equal(t, "started done/full", kinds(*d.Heard))
		})
	}
}

func TestTheFirstSegmentShowsTheSummaryOfAnEarlierCompaction(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	d.Answers(models.SaySummary("Summary 0."))
	d.TakesIn(2 * budget)
	d.Messages()
	d.TakesIn(1500)
	d.Say(rounds(7, 11, roundTokens)...)
	d.Answers(numberedSummaries(10)...)
	d.Messages()
	requests := d.Requests()[1:]
	require.Greater(t, len(requests), 2)
	require.Contains(t, requests[0].Messages[1].Text(), "Summary 0.\n\n<transcript path=")
	require.Equal(t, "<conversation-summary>\nSummary 1.\n</conversation-summary>", requests[1].Messages[1].Text(), "a segment needs no breadcrumb")
	got := compactions(d.Session)[1].Messages[0].Text()
	require.Contains(t, got, fmt.Sprintf("Summary %d.", len(requests)))
	require.Equal(t, 1, strings.Count(got, "<transcript "))
}

func TestWhatWasAnsweredBeforeAnUnusableAnswerIsNotAskedAgain(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
	d.TakesIn(1500)
	d.Answers(slices.Concat([]models.Reply{models.SaySummary("Summary 1."), models.Say("I would rather not.")}, numberedSummaries(30))...)
	d.Messages()
	require.Equal(t, "started refused/full done/simple", kinds(*d.Heard))
	require.Contains(t, text(d.Requests()[2].Messages), "Summary 1.", "the next mode goes on from it")
	require.NotContains(t, text(d.Requests()[2].Messages), task)
}

// After an answer that could not be used, or a refusal, a prompt that may leave messages out does so no more: it asks in
// segments. What no request shows is lost from sight.
func TestNoMessageIsLeftOutAfterARefusalOrAnUnusableAnswer(t *testing.T) {
	for rule, bad := range map[string]func(n int) models.Reply{
		"an empty answer":                             func(int) models.Reply { return models.Say("") },
		"a refusal of its form":                       func(int) models.Reply { return models.Fail(status(422)) },
		"a refusal of its size, and then of its form": func(n int) models.Reply { return models.Fail(status(413 + 9*min(1, n/2))) },
	} {
		t.Run(rule, func(t *testing.T) {
			d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 120)...)...)
			d.Policy = policies.All()["copilot-chat"]
			d.Policy.Ask.Judge.Off = true
			d.TakesIn(4000)
			shown, asked := "", 0
			d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				if len(r.Messages) > 2 { // full mode
					asked++
					return bad(asked)(ctx, r)
				}
				shown += text(r.Messages)
				return models.SaySummary("What was done.")(ctx, r)
			})
			d.Messages()
			list := compactions(d.Session)
			require.Len(t, list, 1)
			require.Equal(t, string(policy.ModeSimple), list[0].Mode)
			require.False(t, list[0].Unseen)
			for n := 1; n < 75; n++ {
				require.Contains(t, shown, fmt.Sprintf("file-%d.go", n))
			}
		})
	}
}

func TestASummaryOfASegmentThatIsTooLongIsCut(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
	d.TakesIn(1500)
	d.Target.Model = saying("## One\n" + words(700) + "\n\n## Two\n" + words(800))
	d.Messages()
	require.Equal(t, "started done/full", kinds(*d.Heard))
}

func TestACancelledSegmentLeavesTheViewAsItWas(t *testing.T) {
	d := newFileFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
	before := viewOf(t, d.Session)
	d.TakesIn(1500)
	ctx, cancel := context.WithCancel(t.Context())
	d.Answers(models.SaySummary("Summary 1."), func(ctx context.Context, _ chat.Request) (chat.Response, error) {
		cancel()
		return chat.Response{}, ctx.Err()
	})
	_, err := d.Render(ctx, prompt(d.Session))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, d.Requests(), 2)
	equal(t, before, viewOf(t, d.Session))
}

func TestARoundLargerThanTheWindowFallsBackToSimpleMode(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // rounds before the large one
		asked  int // requests
	}{
		{"the first round, after a segment with the user message", 0, 2},
		{"a later round, after segments with other rounds", 20, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages := slices.Concat([]chat.Message{chat.UserMessage(task)}, rounds(1, c.before, 60), round(98, 1990), round(99, 3000))
			d := newFixture(t, messages...)
			d.TakesIn(1500)
			d.Answers(numberedSummaries(10)...)
			d.Messages()
			require.Equal(t, "started refused/full done/simple", kinds(*d.Heard))
			require.ErrorContains(t, (*d.Heard)[1].Err, "a single round is larger than the model takes in")
			require.Len(t, d.Requests(), c.asked)
			last := d.Requests()[len(d.Requests())-1]
			require.Contains(t, outputs(simpleHistory(t, last)), 98)
			for _, r := range d.Requests() {
				require.LessOrEqual(t, count(quarter{}, r.Messages), d.Target.ContextWindow)
			}
		})
	}
}

func TestADigestInSegmentsHasTheFirstAndTheLastSegment(t *testing.T) {
	for _, window := range []int{1200, 1500, 2000, 3000} {
		t.Run(fmt.Sprintf("%d tokens", window), func(t *testing.T) {
			d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
			d.TakesIn(window)
			d.Policy.Replace.Share = 0.1
			var requests []chat.Request
			d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				requests = append(requests, r)
				return models.Offline{Tokenizer: quarter{}}.Generate(ctx, r)
			})
			got := d.Messages()[1].Text()
			require.Greater(t, len(requests), 1)
			require.Equal(t, "started done/full", kinds(*d.Heard))
			for _, r := range requests {
				require.LessOrEqual(t, count(quarter{}, r.Messages), window)
			}
			require.Contains(t, got, "Fix the build, please: go build", "from the first segment")
			require.Contains(t, got, "- file-74.go\n", "from the last")
		})
	}
}

func TestASegmentIsHalfOfWhatFitsWhateverTheSizeOfTheOneBefore(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 4, 1200)...) // one alone is more than half of a request
	d.Say(rounds(5, 60, 50)...)
	d.TakesIn(2000)
	d.Answers(numberedSummaries(20)...)
	d.Messages()
	require.Len(t, d.Requests(), 1+4+3, "the last shows all that is left")
}

// Summaries of finished segments are in the session, so the next attempt continues from them.
func TestFinishedSegmentsOutliveAFailure(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails func(asked int) bool
		with  models.Reply
	}{
		{"two of three requests have a transient error", func(n int) bool { return n%3 > 0 }, models.Fail(&chat.TransientError{Err: errDown})},
		{"every second connection breaks", func(n int) bool { return n%2 == 0 }, models.Fail(errDown)},
	} {
		bubble(t, c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.jsonl")
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...))
			require.NoError(t, s.Close())
			answered := map[string]bool{}
			model := &counting{answer: func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
				if c.fails(n) {
					return c.with(ctx, r)
				}
				require.False(t, answered[text(r.Messages)], "no request that was answered is sent twice")
				answered[text(r.Messages)] = true
				return models.SaySummary(fmt.Sprintf("Summary %d.", len(answered)))(ctx, r)
			}}
			made := ""
			for try := 0; made == ""; try++ {
				require.Less(t, try, 40)
				time.Sleep(time.Minute)
				s := opened(t, path)
				d := fixtureOf(t, s)
				d.Target.Model = model
				d.TakesIn(900)
				d.Policy.Ask.Whole = true
				if _, err := d.Render(t.Context(), prompt(s)); err == nil {
					made = compactions(s)[0].Messages[0].Text()
				}
				require.NoError(t, d.Close())
				require.NoError(t, s.Close())
			}
			require.Greater(t, len(answered), 3)
			require.Contains(t, made, fmt.Sprintf("Summary %d.", len(answered)))
		})
	}
}

// A compaction has no time limit, its requests have. What is answered is an entry at once.
func TestACompactionTakesAsLongAsItsRequestsEnd(t *testing.T) {
	for _, hangs := range []int{0, 4} {
		t.Run(fmt.Sprintf("request %d hangs", hangs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 30, 120)...)...)
				d.Target.ContextWindow, d.Target.Budget = 1200, 100_000
				d.Policy.Ask.Prompts = []policy.Prompt{prompts.FullPrompt()}
				d.Messages()
				model := &counting{answer: func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
					if n == hangs {
						<-ctx.Done()
						return chat.Response{}, context.Cause(ctx)
					}
					time.Sleep(4 * time.Minute)
					return models.SaySummary(fmt.Sprintf("Summary %d.", n))(ctx, r)
				}}
				d.Target.Model = model
				require.NoError(t, d.Retarget(t.Context(), d.Target))
				begun := time.Now()
				_, err := d.Compact(t.Context(), "")
				answered := 0
				for _, e := range entries(t, d.Session) {
					if end, ok := e.Body.(entry.PlanEnd); ok && end.Outcome == entry.PlanRetried {
						answered++
					}
				}
				if hangs > 0 {
					require.Error(t, err)
					require.Equal(t, 3*4*time.Minute+5*time.Minute, time.Since(begun))
					require.Equal(t, 3, answered)
					require.Zero(t, d.Explain(t.Context()).Measurement.Pause)
					hangs = -1
					_, err = d.Compact(t.Context(), "")
				}
				require.NoError(t, err)
				require.Greater(t, time.Since(begun), 20*time.Minute)
				require.Contains(t, compactions(d.Session)[0].Messages[0].Text(), fmt.Sprintf("Summary %d.", model.asked()))
			})
		})
	}
}

// The answered part of a summary is put in place if the prompt fits with it and not without, whatever the last resort;
// it is not if the prompt fits, or if the policy asks for the whole.
func TestTheAnsweredPartOfASummaryIsPutInPlaceOnlyIfThePromptWouldNotFitWithoutIt(t *testing.T) {
	for _, resort := range []policy.LastResort{policy.ResortError, policy.ResortDrop, policy.ResortTruncate} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q, whole %v", resort, whole), func(t *testing.T) {
				d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
				d.TakesIn(2500)
				d.Policy.Overflow.LastResort, d.Policy.Ask.Whole = resort, whole
				d.Policy.Ask.Prompts = []policy.Prompt{prompts.FullPrompt()}
				d.Answers(append(numberedSummaries(3), models.Fail(&chat.TransientError{Err: errDown}))...)
				result, err := d.Render(t.Context(), prompt(d.Session))
				require.Len(t, d.Requests(), 4)
				switch {
				case !whole:
					require.NoError(t, err)
					require.Contains(t, text(result.Messages), "Summary 3.")
					require.Equal(t, "started refused/full failed started done/full", kinds(*d.Heard))
					shown := ""
					for _, r := range d.Requests()[:3] {
						shown += text(r.Messages)
					}
					got := outputs(shown + text(result.Messages))
					for n := range 75 {
						require.Equal(t, n+1, got[n], "each was shown to the model that answered, or is kept")
					}
					require.Len(t, got, 75)
				case resort == policy.ResortError:
					require.Error(t, err)
				default:
					require.NoError(t, err)
					require.NotContains(t, text(result.Messages), "Summary")
				}
			})
		}
	}
	t.Run("the prompt fits", func(t *testing.T) {
		d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
		d.TakesIn(2500)
		d.Target.Budget = 100_000
		d.Messages()
		d.Answers(append(numberedSummaries(3), models.Fail(&chat.TransientError{Err: errDown}))...)
		_, err := d.Compact(t.Context(), "")
		require.Error(t, err)
		require.NotContains(t, text(d.Messages()), "Summary")
		d.Answers(numberedSummaries(3)...)
		d.Compacted()
		require.Contains(t, text(d.Messages()), "Summary")
	})
}
