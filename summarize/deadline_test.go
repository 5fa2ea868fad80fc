package summarize_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// lines returns a text of short lines with sections, of about the given bytes.
func lines(bytes int) string {
	const part = "# On\n\nAnd so on.\n- one more\n"
	return strings.Repeat(part, bytes/len(part))
}

// endless is a model that streams without an end, and counts the bytes.
type endless struct {
	bytes atomic.Int64
	ended atomic.Int64 // how often the request's context ended
}

func (m *endless) Generate(ctx context.Context, r chat.Request) (chat.Response, error) {
	piece := strings.Repeat("And so on. ", 100)
	for ctx.Err() == nil {
		if r.Stream == nil {
			<-ctx.Done()
			break
		}
		m.bytes.Add(int64(len(piece)))
		r.Stream(chat.Text(piece))
	}
	m.ended.Add(1)
	return chat.Response{}, context.Cause(ctx)
}

const slack = 500 * time.Millisecond

func TestADeadlineHoldsWhateverTheSizeOfAnAnswer(t *testing.T) {
	large, medium := lines(20<<20), lines(2<<20)
	for _, c := range []struct {
		name   string
		model  chat.Model
		change func(p *policy.Policy)
	}{
		{"20 MB of lines", chat.ModelFunc(models.SaySummary(large)), nil},
		{"20 MB of lines without a block", chat.ModelFunc(models.Say(large)), nil},
		{"a stream without an end", &endless{}, nil},
		{"2 MB with a reader", chat.ModelFunc(models.SaySummary(medium)), func(p *policy.Policy) {
			for i := range p.Ask.Prompts {
				p.Ask.Prompts[i].Read = func(r chat.Response) (string, error) { return r.Message.Text(), nil }
			}
		}},
	} {
		for _, name := range policies.Names() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := newFixture(t, overflowing()...)
				d.Policy, d.Target.Model = policies.All()[name], c.model
				d.Policy.Ask.Names, d.Policy.Clear = nil, policy.Clear{}
				if c.change != nil {
					c.change(&d.Policy)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begun := time.Now()
				_, err := d.Render(ctx, prompt(d.Session))
				require.Less(t, time.Since(begun), time.Second+slack)
				if err != nil && ctx.Err() != nil {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				begun = time.Now()
				require.NoError(t, d.Close())
				require.Less(t, time.Since(begun), time.Second)
			})
		}
	}
}

func TestCloseReturnsWithinASecondWhileASummaryIsMadeInTheBackground(t *testing.T) {
	for name, model := range map[string]chat.Model{"20 MB of lines": chat.ModelFunc(models.SaySummary(lines(20 << 20))), "a stream without an end": &endless{}} {
		for _, p := range policies.Names() {
			t.Run(name+"/"+p, func(t *testing.T) {
				t.Parallel()
				d := newFixture(t, chat.UserMessage(task))
				d.Policy, d.Target.Model = policies.All()[p], model
				d.Policy.Ask.Names = nil
				d.Policy.Trigger = policy.Trigger{{Cap: 2000, Background: true}}
				d.Policy.Cut.Tokens, d.Policy.Cut.Messages, d.Policy.Cut.Rounds, d.Policy.Cut.Share = 700, 0, 0, 0
				d.Say(rounds(1, 5, 500)...)
				d.Messages()
				time.Sleep(20 * time.Millisecond)
				begun := time.Now()
				require.NoError(t, d.Close())
				require.Less(t, time.Since(begun), time.Second)
			})
		}
	}
}

func TestAnEndlessAnswerIsCutOffWhileItIsRead(t *testing.T) {
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			model := &endless{}
			d := newFixture(t, overflowing()...)
			d.Policy, d.Target.Model = policies.All()[name], model
			d.Policy.Ask.Names, d.Policy.Ask.Prompts = nil, d.Policy.Ask.Prompts[len(d.Policy.Ask.Prompts)-1:]
			d.Policy.Clear = policy.Clear{}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := d.Render(ctx, prompt(d.Session))
			require.NoError(t, ctx.Err(), "long before the deadline: %v", err)
			asked := model.ended.Load()
			require.Positive(t, asked)
			require.Less(t, model.bytes.Load(), asked*(400<<10))
		})
	}
}

// The agent answers in 5 s. A step whose deadline is shorter than a summary is sent by the last resort, or waits in vain, and
// a later one finds the summary.
func TestADeadlineEndsTheWaitingAndNotTheWork(t *testing.T) {
	for _, c := range []struct{ deadline, summary time.Duration }{{30 * time.Second, 40 * time.Second}, {50 * time.Second, 90 * time.Second}} {
		for _, background := range []bool{c.deadline > 40*time.Second, c.deadline <= 40*time.Second} {
			for i, name := range policies.Names() {
				if (i%2 == 0) != background {
					continue
				}
				p := policies.All()[name]
				t.Run(fmt.Sprintf("%s, %v, a summary takes %v, background %v", name, c.deadline, c.summary, background), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						asked := 0
						d := fixtureOf(t, numbered.Session())
						d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
							takes := 5 * time.Second
							if isSummary(r) {
								asked++
								takes = c.summary
							}
							if err := retry.Sleep(ctx, takes); err != nil {
								return chat.Response{}, err
							}
							if isSummary(r) {
								return models.SaySummary("## Goal\nThe work goes on, step by step, as it was asked for at the start.")(ctx, r)
							}
							return models.Say("§ Done. "+words(300))(ctx, r)
						})
						d.Policy, d.Target.Name, d.Target.Budget = p, "m", 8000
						d.Policy.Ask.Names, d.Policy.Ask.Timeout, d.Policy.Ask.Judge.Off = nil, 5*time.Minute, true
						size := 100
						if !background {
							size = 1500
						}
						failed := 0
						for n := range 30 {
							d.Say(chat.UserMessage(fmt.Sprintf("§ Request %d. ", n) + words(size)))
							ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
							if _, err := (&agent.Agent{Compactor: d.Compactor, Prompt: prompt(d.Session), Retry: agent.Retry{Attempts: 1}}).Step(ctx); err != nil {
								failed++
							}
							cancel()
						}
						require.NoError(t, d.Wait(t.Context()))
						made, parts := len(compactions(d.Session)), map[string]bool{}
						require.Positive(t, made)
						for _, e := range entries(t, d.Session) {
							if end, ok := e.Body.(entry.PlanEnd); ok && len(end.Finished) > 0 {
								parts[end.Plan] = true
							} else if ok && !parts[end.Plan] { // else a part of it was put in place
								require.Equal(t, entry.PlanRetried, end.Outcome, "no summary is thrown away, of %d: %s", asked, end.Error)
							}
						}
						if p.Overflow.LastResort != policy.ResortError {
							require.Zero(t, failed)
						}
						require.LessOrEqual(t, failed, 3*made, "a summary takes less than three steps")
					})
				})
			}
		}
	}
}

// A model that needs longer than it is given, without which nothing can be sent, gets twice the time with each attempt.
func TestASlowModelWithoutWhichNothingCanBeSentEndsInTime(t *testing.T) {
	for _, takes := range []time.Duration{40 * time.Second, 3 * time.Minute} {
		t.Run(fmt.Sprint(takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := fixtureOf(t, numbered.Session())
				d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
					if !isSummary(r) {
						return models.Say("§ Done. "+words(300))(ctx, r)
					}
					if err := retry.Sleep(ctx, takes); err != nil {
						return chat.Response{}, err
					}
					return models.SaySummary("## Goal\nThe work goes on, step by step, as it was asked for at the start.")(ctx, r)
				})
				d.Policy, d.Target.Name, d.Target.Budget = policies.All()["stagewise"], "m", 8000
				d.Policy.Ask.Judge.Off = true
				require.Equal(t, 30*time.Second, d.Policy.Ask.Timeout)
				failed, longest := 0, time.Duration(0)
				for n := range 60 {
					d.Say(chat.UserMessage(fmt.Sprintf("§ Request %d. ", n) + words(400)))
					begun := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					if _, err := (&agent.Agent{Compactor: d.Compactor, Prompt: prompt(d.Session), Retry: agent.Retry{Attempts: 1}}).Step(ctx); err != nil {
						failed++
					}
					cancel()
					longest = max(longest, time.Since(begun))
					time.Sleep(15 * time.Second) // before the user speaks again
				}
				require.NoError(t, d.Wait(t.Context()))
				require.Positive(t, len(compactions(d.Session)))
				require.LessOrEqual(t, failed, 8*len(compactions(d.Session)))
				require.LessOrEqual(t, longest, 2*time.Minute+time.Second)
			})
		})
	}
}
