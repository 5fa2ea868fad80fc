package render_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
)

// growing renders a droppable conversation that grows by a round of 500 tokens a step. steps counts the renders over
// the budget, same those of them that repeat the whole previous prompt up to the end of its conversation.
func growing(t *testing.T, lowWater float64) (steps, same int) {
	t.Helper()
	const window, round, total = 32_000, 500, 200
	session := numbered.Session()
	prompt := elements.Nodes{
		elements.SystemMessage{Props: must(1), Children: elements.Nodes{elements.Text("instructions")}},
		history.Conversation{Session: session, Droppable: true},
		history.TurnStart{Session: session},
	}
	var previous []chat.Message
	for step := range total {
		require.NoError(t, session.Append(t.Context(), chat.UserMessage("next")))
		r, err := render.Render(t.Context(), prompt, render.Options{Budget: window, Tokenizer: words, LowWater: lowWater})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Tokens, window)
		conversation := r.Messages[:len(r.Messages)-1]
		if len(r.Report().Dropped()) > 0 {
			steps++
			if len(previous) <= len(conversation) && reflect.DeepEqual(previous, conversation[:len(previous)]) {
				same++
			}
		}
		previous = conversation
		// The user's message and the answer take 500 tokens together, 3 a message and one a word.
		answer := fmt.Sprintf("%d%s", step, strings.Repeat(" word", round-3-1-3-1))
		require.NoError(t, session.Append(t.Context(), chat.AssistantMessage(answer)))
	}
	return steps, same
}

func TestLowWaterKeepsThePrefix(t *testing.T) {
	steps, same := growing(t, 0.7)
	require.Greater(t, steps, 100)
	t.Logf("low water 70%%: %d of %d steps repeat the previous prompt", same, steps)
	require.GreaterOrEqual(t, 100*same, 90*steps)

	steps, same = growing(t, 0)
	t.Logf("no low water: %d of %d steps repeat the previous prompt", same, steps)
	require.LessOrEqual(t, 100*same, 5*steps)
}

func TestLowWaterPrunesInSteps(t *testing.T) {
	// Ten pieces of 10 tokens in a message of 3 more, each on a line of its own: 3 + 10*10 + 9 line breaks.
	pieces := el.Each(strings.Split("abcdefghij", ""), func(s string) elements.Node {
		return chunk(int(s[0]), strings.Repeat(s, 10))
	})
	tests := []struct {
		name     string
		budget   int
		lowWater float64
		tokens   int
	}{
		{"a prompt that fits is not pruned", 112, 0.5, 112},
		{"without a low water as little as possible is dropped", 100, 0, 90},
		{"the dropped tokens are rounded up to a multiple of the step", 100, 0.5, 57}, // step 50: at least 50 are dropped
		{"a prompt that is over by more than a step loses two", 80, 0.75, 68},         // over by 32, step 20: at least 40 are dropped
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := render.Render(t.Context(), user(pieces), render.Options{Budget: test.budget, Tokenizer: runes, LowWater: test.lowWater})
			require.NoError(t, err)
			require.Equal(t, test.tokens, r.Tokens)
		})
	}
	t.Run("a prompt that fits but cannot reach its target is not an error", func(t *testing.T) {
		root := user(chunk(1, strings.Repeat("a", 20)), elements.TextChunk{Props: must(2), Children: elements.Nodes{elements.Text(strings.Repeat("b", 70))}})
		r, err := render.Render(t.Context(), root, render.Options{Budget: 80, Tokenizer: runes, LowWater: 0.1})
		require.NoError(t, err)
		require.Equal(t, 73, r.Tokens)
	})
}
