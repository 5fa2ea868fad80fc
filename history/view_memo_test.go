package history_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// It is rendered with changing tokenizers, windows, limits and clearings.
func TestASessionThatWasRenderedBeforeIsRenderedLikeAFreshOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(100)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			talk := func() *history.Session { return talkAtRandom(t, rand.New(rand.NewPCG(seed, 1))).session }
			shown := talk()
			var cleared []entry.Clearing
			learning := &sizing.Calibrated{}
			for range 8 {
				tokenizer := []chat.Tokenizer{quarter{}, words{}, learning, learning.Safe()}[r.IntN(4)]
				var limits history.Limits
				if r.IntN(3) == 0 {
					limits.Results = r.Float64()
				}
				droppable := r.IntN(2) == 0
				if r.IntN(3) == 0 {
					rule := history.ClearRule{Keep: 1 + r.IntN(500), Placeholder: func(history.ClearedOutput) string { return "gone" }}
					if c, ok := rule.Find(viewOf(t, shown), quarter{}); ok {
						_, err := shown.Add(t.Context(), entry.Entry{Body: c})
						require.NoError(t, err)
						cleared = append(cleared, c)
					}
				}
				opts := render.Options{Budget: 1 << 30, PromptBudget: 100 + r.IntN(4000), Tokenizer: tokenizer}
				rendered := func(s *history.Session) (*render.Result, error) {
					return render.Render(t.Context(), elements.Nodes{
						history.Conversation{Session: s, Limits: limits, Droppable: droppable},
						history.TurnStart{Session: s, Limits: limits},
						history.TurnRounds{Session: s, Limits: limits, Droppable: true},
					}, opts)
				}
				for range 2 {
					fresh := talk()
					for _, c := range cleared {
						_, err := fresh.Add(t.Context(), entry.Entry{Body: c})
						require.NoError(t, err)
					}
					want, wantErr := rendered(fresh)
					got, err := rendered(shown)
					require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
					if err != nil {
						break
					}
					equal(t, want.Messages, got.Messages)
					require.Equal(t, want.Tokens, got.Tokens)
					equal(t, want.Report(), got.Report())
					s := elements.Sizing{PromptBudget: opts.PromptBudget, Tokenizer: tokenizer}
					equal(t, viewOf(t, fresh).Units(limits, s), viewOf(t, shown).Units(limits, s))
					if opts.Budget = want.Tokens * 2 / 3; !droppable {
						break
					}
				}
				learning.Observe(chat.Request{Messages: []chat.Message{chat.UserMessage("what is it?")}}, chat.Response{
					Message: chat.AssistantMessage("I do not know."), Usage: chat.Usage{Input: 1 + r.IntN(100), Output: 1 + r.IntN(20)},
				})
			}
		})
	}
}
