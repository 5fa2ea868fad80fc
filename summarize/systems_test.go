package summarize_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Every trigger, clearing, cut, prompt and replacement works in combination with the others.
func TestPartsOfThePoliciesCombine(t *testing.T) {
	t.Parallel()
	var names []string
	for name := range policies.All() {
		names = append(names, name)
	}
	slices.Sort(names)
	all := policies.All()
	offline := models.Offline{Tokenizer: quarter{}}
	n := 0
	for _, trigger := range names {
		for _, before := range names {
			for _, cut := range names {
				for _, replacement := range names {
					prompts := names[n%len(names)]
					n++
					if n%7 != 0 && !extremes.All() {
						continue // they are spread evenly, because 6 and 7 have no common factor
					}
					p := all[trigger]
					p.Name = strings.Join([]string{trigger, before, cut, prompts, replacement}, " ")
					p.Clear, p.Cut, p.Replace.With = all[before].Clear, all[cut].Cut, all[replacement].Replace.With
					p.Ask.Prompts = all[prompts].Ask.Prompts
					if p.Clear.Rule.Keep > 0 {
						p.Clear.Rule.Keep, p.Clear.Rule.Saves = 600, 100 // the session is small
					}
					d := newFixture(t, chat.UserMessage(task))
					d.Policy, d.Target.Model = p, offline
					d.Target.ContextWindow = budget + 1 // whatever the reserve
					for i := 1; i <= 6; i++ {
						d.Say(round(i, roundTokens)...)
						d.Messages()
						if d.PendingNow() == policy.PendingRunning {
							waitFor(d)
						}
					}
					require.NotEmpty(t, kinds(*d.Heard), p.Name)
					require.NotContains(t, kinds(*d.Heard), "hook failed", p.Name)
					last := d.Messages()
					require.Equal(t, 6, outputs(text(last))[len(outputs(text(last)))-1], p.Name)
					require.Contains(t, text(last), task, p.Name)
					equal(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 6, roundTokens)...), said(d.Session))
					require.NoError(t, d.Close())
				}
			}
		}
	}
	require.Equal(t, 6*6*6*6, n)
}

// waitFor waits until no summary is being made in the background.
func waitFor(d fixture) {
	for d.PendingNow() == policy.PendingRunning {
		time.Sleep(50 * time.Microsecond)
	}
}

// The summariser's window is a tenth of the session, and a segment takes half of it.
func TestALongSessionTakesNoMoreRequestsThanItsSizeRequires(t *testing.T) {
	const window = 4000
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, chat.UserMessage(task))
			d.Say(rounds(1, 10*window/100, 100)...)
			d.Policy, d.Target.Budget = p, 11*window
			for i := range d.Policy.Ask.Prompts {
				d.Policy.Ask.Prompts[i].Title = nil
			}
			d.TakesIn(window)
			d.Policy.Trigger = policy.Trigger{{On: policy.OnDemand}}
			d.Policy.Clear.Rule = history.ClearRule{}
			d.Policy.Replace.Share = 0.02
			d.Policy.Cut.Tokens, d.Policy.Cut.Share = min(d.Policy.Cut.Tokens, 500), 0
			d.Messages()
			var asked []chat.Request
			d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				asked = append(asked, r)
				if n := count(quarter{}, r.Messages); n > window {
					t.Errorf("a request of %d tokens", n)
				}
				n := len(asked)
				for _, q := range d.Policy.Ask.Prompts {
					if q.Read != nil {
						return models.SaySummary(fmt.Sprintf("Summary %d, long enough to be taken for one.", n))(ctx, r)
					}
				}
				return models.Say(fmt.Sprintf("Summary %d, long enough to be taken for one.", n))(ctx, r)
			})
			d.Compacted()
			q := d.Policy.Ask.Prompts[len(d.Policy.Ask.Prompts)-1] // the mode that was taken: the first that works in the foreground
			for i, p := range d.Policy.Ask.Prompts {
				if !p.Background && p.Mode != policy.ModeSimple {
					q = d.Policy.Ask.Prompts[i]
					break
				}
			}
			summary := "Summary 10, long enough to be taken for one."
			empty, err := render.Render(t.Context(), q.Request(policy.Material{
				Covered:  []chat.Message{chat.UserMessage("x")},
				Previous: []chat.Message{chat.UserMessage(summary)}, PreviousSummary: summary,
				Tokenizer: quarter{}, Words: 100, ResultTokens: 200,
			}), render.Options{Budget: window, Tokenizer: quarter{}})
			require.NoError(t, err)
			overhead, history := empty.Tokens, 0
			for _, r := range asked {
				history += count(quarter{}, r.Messages) - overhead
			}
			half := (window - overhead) / 2
			require.LessOrEqual(t, len(asked), (history+half-1)/half+1)
			require.NotEmpty(t, asked)
		})
	}
}
