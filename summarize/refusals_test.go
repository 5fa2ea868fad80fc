package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// sized returns a fixture whose prompt takes the given share of the budget of 4000 tokens.
func sized(t *testing.T, p policy.Policy, rounds int) fixture {
	d := newFixture(t)
	d.Policy, d.Target.Name = p, "m"
	d.Policy.Trigger = slices.DeleteFunc(slices.Clone(p.Trigger), func(c policy.Condition) bool { return c.On == "" || c.On == policy.OnRender })
	if len(d.Policy.Trigger) == 0 {
		d.Policy.Trigger = policy.Trigger{{On: policy.OnDemand}}
	}
	d.Policy.Clear = policy.Clear{}
	for n := range rounds {
		d.Say(chat.UserMessage(fmt.Sprintf("Request %d.", n)))
		d.Say(round(n, 400)...)
	}
	d.Say(chat.UserMessage("And now?"))
	return d
}

const tooManyBytes = said413("request body too large: 10485760 bytes")

func TestALimitOfBytesIsAnsweredWithHalfOfTheBytesAndRemembered(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := sized(t, p, 7)
		sent := d.Rendered(prompt(d.Session))
		before := len(entries(t, d.Session))
		smaller := d.Recovered(tooManyBytes, "")
		require.LessOrEqual(t, smaller.Tokens, sent.Tokens*11/20)
		require.NoError(t, chat.Validate(smaller.Messages))
		require.Contains(t, text(smaller.Messages), "And now?")
		all := entries(t, d.Session)
		require.Len(t, all, before+1, "nothing is compacted")
		require.Equal(t, entry.UnitBytes, all[before].Body.(entry.Refusal).Unit)
		require.Empty(t, d.Requests())
	})
}

func TestAStepThatIsRefusedForItsBytesAtAnySizeFailsAfterFourAttempts(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := sized(t, p, 7)
		model := down(tooManyBytes)
		d.Target.Model = model
		answer, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session)}).Step(t.Context())
		require.ErrorIs(t, err, tooManyBytes)
		require.NotEmpty(t, errtest.As[*summarize.RecoveryError](t, err).Tried)
		require.LessOrEqual(t, answer.Refusals, 4)
		for i, r := range model.calls[1:] {
			require.Less(t, count(quarter{}, r.Messages), count(quarter{}, model.calls[i].Messages))
		}
	})
}

func TestABadRequestWithoutWordsIsAnsweredOnlyIfThePromptIsTheLargest(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, c := range []struct {
			name     string
			accepted int // of another prompt, by our count
			answered bool
		}{{"nothing was accepted", 0, true}, {"a smaller one was accepted", 1000, true}, {"a larger one was accepted", 3900, false}} {
			t.Run(c.name, func(t *testing.T) {
				d := sized(t, p, 7)
				if c.accepted > 0 {
					d.Note(entry.Usage{Model: "m", Usage: chat.Usage{Input: c.accepted, Output: 1}, Counted: c.accepted})
				}
				sent := d.Rendered(prompt(d.Session))
				smaller, err := d.Recover(t.Context(), prompt(d.Session), status(400), "")
				require.Empty(t, compactions(d.Session))
				if !c.answered {
					require.Equal(t, status(400), err)
					return
				}
				require.NoError(t, err)
				require.LessOrEqual(t, smaller.Tokens, budget/2)
				require.Less(t, smaller.Tokens, sent.Tokens)
				for range 4 { // half of it, as often as there is half of it
					again, failed := d.Recover(t.Context(), prompt(d.Session), status(400), "")
					if err = failed; err != nil {
						break
					}
					require.Less(t, again.Tokens, smaller.Tokens)
					smaller = again
				}
				require.ErrorIs(t, err, status(400))
			})
		}
	})
}

// stepper is an agent whose steps are answered, and counted if they fail.
type stepper struct {
	d                fixture
	open             func() fixture // opens the session again; nil if it stays open
	failed, refusals int
	failures         []string
}

// step says something and makes a step.
func (s *stepper) step(t *testing.T, n, tokens int) agent.Answer {
	s.d.Say(chat.UserMessage(fmt.Sprintf("§ Request %d. ", n) + words(max(2, tokens))))
	answer, err := (&agent.Agent{Compactor: s.d.Unjudged(), Prompt: prompt(s.d.Session), Retry: agent.Retry{Attempts: 1}}).Step(t.Context())
	if err != nil {
		s.failed++
		s.failures = append(s.failures, fmt.Sprintf("step %d: %.300v", n, err))
	}
	s.refusals += answer.Refusals
	if s.open != nil {
		s.d = s.open()
	}
	return answer
}

// isSummary reports whether a request is for a summary.
func isSummary(r chat.Request) bool {
	return !strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), "§ ")
}

func TestOneFalseRefusalCostsOneRequestAndNoCompaction(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, reopens := range []bool{false, true} {
			t.Run(fmt.Sprintf("reopened %v", reopens), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					requests, summaries := 0, 0
					wrong := -1
					model := chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
						if isSummary(r) {
							summaries++
							return models.SaySummary("## Goal\nThe work goes on, step by step.")(ctx, r)
						}
						if requests++; requests == wrong {
							return chat.Response{}, status(413)
						}
						return models.Say("§ Done. "+words(100))(ctx, r)
					})
					path := filepath.Join(t.TempDir(), "session.jsonl")
					s := &stepper{}
					open := func() fixture {
						if s.d.Compactor != nil {
							require.NoError(t, s.d.Close())
							require.NoError(t, s.d.Session.Close())
						}
						d := fixtureOf(t, opened(t, path))
						d.Policy, d.Target.Model, d.Target.Name, d.Target.Budget = p, model, "m", 20_000
						d.Policy.Ask.Names = nil
						return d
					}
					if s.d = open(); reopens {
						s.open = open
					}
					for n := range 12 {
						if n == 6 {
							wrong = requests + 1
						}
						s.step(t, n, 200)
					}
					require.Zero(t, s.failed, s.failures)
					require.Equal(t, 1, s.refusals)
					require.Equal(t, 13, requests)
					require.Zero(t, summaries)
					require.Empty(t, compactions(s.d.Session))
				})
			})
		}
	})
}

// A refused step is made smaller by what can be undone, and the one compaction that a policy may make has the room that it
// has without a refusal.
func TestARefusedStepSqueezesNoSummary(t *testing.T) {
	const most = 30_000
	full := func(t *testing.T, p policy.Policy) fixture {
		d := fixtureOf(t, numbered.Session())
		d.Policy, d.Target.Name, d.Target.Budget, d.Target.ContextWindow = p, "m", most, 40_000
		d.Policy.Ask.Names, d.Policy.Clear = nil, policy.Clear{}
		d.Policy.Trigger = slices.DeleteFunc(slices.Clone(p.Trigger), func(c policy.Condition) bool { return c.On == "" || c.On == policy.OnRender })
		if len(d.Policy.Trigger) == 0 {
			d.Policy.Trigger = policy.Trigger{{On: policy.OnDemand}}
		}
		for n := range 22 {
			d.Say(chat.UserMessage(fmt.Sprintf("§ Request %d. ", n) + words(300)))
			d.Say(round(n, 900)...)
		}
		d.Say(chat.UserMessage("§ And now?"))
		return d
	}
	plans := func(d fixture) (rooms []int) {
		for _, e := range entries(t, d.Session) {
			if p, ok := e.Body.(entry.Plan); ok {
				rooms = append(rooms, p.Room)
			}
		}
		return rooms
	}
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		usual := full(t, p)
		usual.Target.Model = saying("## Goal\nThe work goes on, step by step.")
		usual.Messages()
		usual.Compacted()
		for name, refused := range map[string]error{
			"413": status(413), "a wrong limit": &chat.ContextLimitError{Limit: 1, Tokens: 2}, "three quarters": &chat.ContextLimitError{Limit: most * 3 / 4, Tokens: most},
		} {
			t.Run(name, func(t *testing.T) {
				d := full(t, p)
				refuses := true
				d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
					switch {
					case isSummary(r):
						return models.SaySummary("## Goal\nThe work goes on, step by step.")(ctx, r)
					case refuses:
						return chat.Response{}, refused
					}
					return models.Say("§ Done.")(ctx, r)
				})
				_, err := (&agent.Agent{Compactor: d.Compactor, Prompt: prompt(d.Session)}).Step(t.Context())
				require.Error(t, err)
				rooms := plans(d)
				require.LessOrEqual(t, len(rooms), len(p.Trigger.For(policy.OnContextLimit)))
				for _, room := range rooms {
					require.GreaterOrEqual(t, room, plans(usual)[0])
				}
				refuses = false
				s := &stepper{d: d}
				for n := range 10 {
					s.step(t, n, 30)
				}
				require.Zero(t, s.failed, s.failures)
				require.Equal(t, rooms, plans(d), "nothing more is compacted")
			})
		}
	})
}

// A provider may name any time; a compaction is tried again while the agent's requests are accepted.
func TestATimeThatAProviderNamesHoldsNoCompactionUp(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, wait := range []time.Duration{time.Minute, time.Hour, 365 * 24 * time.Hour} {
			for _, background := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v, background %v", wait, background), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						summaries := 0
						d := fixtureOf(t, numbered.Session())
						d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
							if !isSummary(r) {
								return models.Say("§ Done. "+words(500))(ctx, r)
							}
							if summaries++; summaries <= 3 {
								return chat.Response{}, &chat.TransientError{RetryAfter: wait, Err: errors.New("429 quota")}
							}
							return models.SaySummary("## Goal\nThe work goes on, step by step, as it was asked for at the start.")(ctx, r)
						})
						d.Policy, d.Target.Name, d.Target.Budget = p, "m", 8000
						d.Policy.Ask.Names, d.Policy.Clear = nil, policy.Clear{}
						d.Policy.Trigger = policy.Trigger{{Ratio: 0.7, Background: background}, {On: policy.OnBudgetExceeded}}
						d.Policy.Cut = history.Cut{Tokens: 2000}
						s := &stepper{d: d}
						well, n := 0, 0
						for ; well < 12 && len(compactions(d.Session)) == 0; n++ {
							s.step(t, n, 100)
							if synctest.Wait(); summaries >= 3 {
								well++
							}
							time.Sleep(12 * time.Second)
						}
						require.LessOrEqual(t, well, 11, "ten good steps, and the one that places it")
						require.Len(t, compactions(d.Session), 1)
					})
				})
			}
		}
	})
}

// The model names no number. PROMPTREE_SUMMARIZE_LIMITS=all runs every share of the budget under every policy, with both models.
// Summaries are short, and its requests are answered if they are not above the limit.
func TestAModelWithAHiddenLimitAnswersEveryStep(t *testing.T) {
	const most = 8000
	all := os.Getenv("PROMPTREE_SUMMARIZE_LIMITS") == "all"
	for i, share := range []struct {
		name string
		of   float64
	}{{"an eighth", 1.0 / 8}, {"a third", 1.0 / 3}, {"three quarters", 3.0 / 4}} {
		limit := int(share.of * most)
		for at, name := range policies.Names() {
			for k, other := range []bool{false, true} {
				if !all && (at%3 != i || at/3 != k) {
					continue
				}
				t.Run(fmt.Sprintf("%s of the budget/%s/another model summarises %v", share.name, name, other), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						refused, refusedSummaries := 0, 0
						summary := models.SaySummary("## Goal\nThe work goes on, step by step, as it was asked for at the start.")
						model := func(ctx context.Context, r chat.Request) (chat.Response, error) {
							if count(quarter{}, r.Messages) > limit {
								if refused++; isSummary(r) {
									refusedSummaries++
								}
								return chat.Response{}, status(413)
							}
							if isSummary(r) {
								return summary(ctx, r)
							}
							return models.Say("§ Done. "+words(20))(ctx, r)
						}
						d := fixtureOf(t, numbered.Session())
						d.Policy, d.Target.Model, d.Target.Name, d.Target.Budget = policies.All()[name], chat.ModelFunc(model), "m", most
						d.Policy.Ask.Names = nil
						if other {
							d.Policy.Ask.Names = []string{"s"}
							d.Models = map[string]policy.Target{"s": {Model: chat.ModelFunc(summary), Tokenizer: quarter{}, ContextWindow: 4 * most}}
						}
						s := &stepper{d: d}
						for n := range 300 {
							s.step(t, n, 30)
							time.Sleep(time.Minute)
						}
						if s.failed > 0 || refused-refusedSummaries > 12 || refusedSummaries > 12 {
							t.Errorf("%d steps failed, %d requests were refused, %d of them for summaries; the first failures: %q", s.failed, refused, refusedSummaries, s.failures[:min(2, len(s.failures))])
						}
					})
				})
			}
		}
	}
}

// A model that takes less than the budget is shown the start and the end of a result that alone takes more: left out, the agent
// would make the same call again, and again. One that takes nothing is not shown the mark of a cut alone.
func TestAResultThatIsLargerThanAModelTakesIsCut(t *testing.T) {
	const task = "§ What is in the file?"
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, limit := range []int{0, 500, 1500, 3000} {
			for _, rounds := range [][]chat.Message{nil, rounds(0, 5, 100)} {
				for _, named := range []bool{false, true} {
					t.Run(fmt.Sprintf("it takes %d, after %d messages; it says so: %v", limit, len(rounds), named), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							var answered []chat.Message
							d := fixtureOf(t, numbered.Session())
							d.Policy, d.Target.Name, d.Target.Budget = p, "m", 8000
							d.Policy.Ask.Names = nil
							d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
								last := r.Messages[len(r.Messages)-1]
								require.True(t, last.ToolCallID != "large" || strings.Contains(last.Text(), "The start"))
								if n := count(quarter{}, r.Messages); n > limit && named {
									return chat.Response{}, &chat.ContextLimitError{Limit: limit, Tokens: n, Err: errors.New("too large")}
								} else if n > limit {
									return chat.Response{}, status(413)
								}
								if isSummary(r) {
									return models.SaySummary("## Goal\nThe file is read, as it was asked for at the start.")(ctx, r)
								}
								answered = r.Messages
								return models.Say("§ Done.")(ctx, r)
							})
							call := chat.AssistantMessage("I look.")
							call.ToolCalls = []chat.ToolCall{{ID: "large", Name: "read", Arguments: `{"path":"a.go"}`}}
							d.Say(chat.UserMessage(task))
							d.Say(rounds...)
							d.Say(call, chat.ToolResult("large", "§ The start "+words(max(2000, limit*3/2))+" the end."))
							steps := agent.Agent{Compactor: d.Unjudged(), Prompt: prompt(d.Session), Retry: agent.Retry{Attempts: 1}}
							for n := 0; n < 2 && answered == nil; n++ { // a step ends after six refusals
								_, _ = steps.Step(t.Context())
							}
							for _, shown := range []string{task, "The start", "the end."} {
								require.Equal(t, limit > 0, strings.Contains(text(answered), shown))
							}
						})
					})
				}
			}
		}
	})
}

func TestAContextLimitIsARefusalInTokensWithItsSizes(t *testing.T) {
	for _, tt := range []struct {
		rule string
		err  error
		want summarize.TooLarge
		ok   bool
	}{
		{"the text of a provider", errors.New("prompt is too long: 219898 tokens > 200000 maximum"), summarize.TooLarge{Limit: 200000, Tokens: 219898}, true},
		{"an error of package chat", &chat.ContextLimitError{Limit: 8192, Tokens: 9000}, summarize.TooLarge{Limit: 8192, Tokens: 9000}, true},
		{"HTTP 413 without words", errors.New("413 status code (no body)"), summarize.TooLarge{}, true},
		{"bytes", errors.New("413 request_too_large: Request exceeds the maximum size"), summarize.TooLarge{}, false},
		{"HTTP 400 without words", errors.New("400 status code (no body)"), summarize.TooLarge{}, false},
		{"a rate limit", errors.New("429 This request exceeds the limit of 30000 tokens per minute"), summarize.TooLarge{}, false},
		{"no error", nil, summarize.TooLarge{}, false},
	} {
		over, ok := summarize.ContextLimit(tt.err)
		require.Equal(t, tt.ok, ok, tt.rule)
		require.Equal(t, tt.want, over, tt.rule)
	}
}

// The model refused the request, not the rounds in it.
func TestARoundRefusedAsTooLargeIsSentAgainWithLessOfItsText(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(round(1, 2400)...)
	d.Say(rounds(2, 5, roundTokens)...)
	d.Policy.Ask.Names = []string{"small"}
	d.Policy.Ask.Prompts = []policy.Prompt{prompts.SimplePrompt()}
	asked := map[string]bool{}
	refused, answered := 0, 0
	d.Models = map[string]policy.Target{"small": {Model: &models.Script{Steps: slices.Repeat([]models.Reply{func(ctx context.Context, r chat.Request) (chat.Response, error) {
		require.False(t, asked[text(r.Messages)], "no request is sent twice")
		asked[text(r.Messages)] = true
		if count(quarter{}, r.Messages) > 1500 {
			refused++
			return chat.Response{}, &chat.ContextLimitError{Err: errors.New("413 status code (no body)")}
		}
		answered++
		return models.SaySummary("A segment of it, told in a few words.")(ctx, r)
	}}, 30)}}}
	require.Contains(t, text(d.Messages()), "A segment of it")
	require.Positive(t, refused)
	require.Positive(t, answered)
}

// The arguments of a call may be most of a round, as for a file that is written.
func TestArgumentsOfARoundThatIsTooLargeAreCut(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	write := chat.AssistantMessage("I write it.")
	write.ToolCalls = []chat.ToolCall{{ID: "w", Name: "write", Arguments: `{"path":"a.go","text":"` + words(2400) + `"}`}}
	d.Say(write, chat.ToolResult("w", "Written."))
	d.Say(rounds(2, 23, roundTokens)...)
	d.Target.Budget = 16_000 // arguments may take an eighth of it
	model := saying("It was written.")
	answer := model.answer
	model.answer = func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
		if count(quarter{}, r.Messages) > 1500 {
			return chat.Response{}, &chat.ContextLimitError{Err: errors.New("413 status code (no body)")}
		}
		return answer(ctx, n, r)
	}
	d.Policy.Ask.Names, d.Models = []string{"small"}, map[string]policy.Target{"small": {Model: model}}
	d.Target.Model = down(errDown)
	d.Policy.Ask.Prompts = []policy.Prompt{prompts.FullPrompt()}
	require.Contains(t, text(d.Messages()), "It was written.")
}

// An empty answer to one segment does not mean that a request for more would fail.
func TestAnEmptyAnswerToASegmentDoesNotEndAllCompactions(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
	d.TakesIn(900)
	d.Answers(models.Say(""), models.Say(""))
	d.Fails()
	d.Answers(numberedSummaries(30)...)
	d.Say(rounds(76, 80, 60)...)
	require.Contains(t, text(d.Messages()), "Summary")
}
