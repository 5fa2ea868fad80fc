package summarize_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestASessionStaysUsableUnderEveryPolicyWhateverItsSummariserDoes(t *testing.T) {
	offline := models.Offline{Tokenizer: quarter{}}
	busy := &chat.TransientError{Err: errDown}
	said := recording(t, generated)[:200]
	for i, c := range []struct {
		name   string
		answer func(ctx context.Context, n int, r chat.Request) (chat.Response, error)
		tries  int // renders of each prompt
		lost   int // the percentage of prompts that may fail
	}{
		{"it answers", func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) {
			return offline.Generate(ctx, r)
		}, 1, 0},
		{"two of three requests have a transient error", func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
			if n%3 > 0 {
				return chat.Response{}, busy
			}
			return offline.Generate(ctx, r)
		}, 4, 0},
		{"every second request fails", func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
			if n%2 > 0 {
				return chat.Response{}, errDown
			}
			return offline.Generate(ctx, r)
		}, 3, 0},
		{"every second answer is empty", func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
			if n%2 == 0 {
				return models.Say("")(ctx, r)
			}
			return offline.Generate(ctx, r)
		}, 1, 25},
		{"it does not stop", func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) {
			return models.SaySummary(strings.Repeat("# On\n\nAnd so on and on it went. ", 4000))(ctx, r)
		}, 1, 0},
		{"it answers in Chinese", func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) {
			return models.SaySummary(strings.Repeat("用户要求修复构建，我们修改了文件。", 200))(ctx, r)
		}, 1, 0},
		{"it takes in less than it says", func(ctx context.Context, _ int, r chat.Request) (chat.Response, error) {
			if count(quarter{}, r.Messages) > 5000 {
				return chat.Response{}, &chat.ContextLimitError{Err: errors.New("413 status code (no body)")}
			}
			return offline.Generate(ctx, r)
		}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachPolicy(t, func(t *testing.T, p policy.Policy) {
				if slices.Index(policies.Names(), p.Name)%3 != i%3 && !extremes.All() {
					return // each policy meets a third of these models
				}
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p.Ask.Names = nil
					for i := range p.Ask.Prompts { // one request at a time, so that the same ones fail in every run
						p.Ask.Prompts[i].Title, p.Ask.Prompts[i].Prefix = nil, nil
					}
					steps, lost := replayPrompts(t, p, said, c.tries, &counting{answer: c.answer})
					require.Positive(t, steps)
					require.LessOrEqual(t, 100*lost, c.lost*steps, "%d of %d prompts", lost, steps)
				})
			})
		})
	}
}

// replayPrompts replays a session. It returns the number of prompts, and of those that were not made to fit.
func replayPrompts(t *testing.T, p policy.Policy, said []spoken, tries int, model *counting) (steps, lost int) {
	const window = 8000
	d := newFixture(t)
	d.Policy, d.Target.Budget, d.Target.Model = p, window, model
	answer, refused := model.answer, map[string]int{}
	model.answer = func(ctx context.Context, n int, r chat.Request) (chat.Response, error) {
		require.Less(t, refused[text(r.Messages)], 2, "no request that was refused as too large is sent again more than once")
		response, err := answer(ctx, n, r)
		if _, large := summarize.ContextLimit(err); large {
			refused[text(r.Messages)]++
		}
		return response, err
	}
	for _, e := range said {
		if e.Message.Role == chat.RoleAssistant {
			steps++
			fits := false
			for try := 0; try < tries && !fits; try++ {
				r, err := d.Render(t.Context(), prompt(d.Session))
				require.NoError(t, d.Wait(t.Context()))
				if fits = err == nil; fits {
					require.LessOrEqual(t, r.Tokens, window)
					require.NoError(t, chat.Validate(r.Messages))
				}
			}
			if !fits {
				lost++
			}
		}
		d.Say(e.Message)
	}
	require.NotEmpty(t, compactions(d.Session))
	return steps, lost
}
