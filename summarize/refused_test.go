package summarize_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
)

// What a model refused is a request, and not the rounds in it.
func TestARoundThatIsRefusedIsAskedForWithLessOfItsText(t *testing.T) {
	d := newDesk(t, chat.UserMessage(task))
	d.say(round(1, 2400)...)
	d.say(rounds(2, 5, roundTokens)...)
	d.Policy.Ask.Names = []string{"small"}
	d.Policy.Ask.Prompts = []summarize.Prompt{summarize.SimplePrompt()}
	asked := map[string]bool{}
	refused, answered := 0, 0
	d.Models = map[string]summarize.Target{"small": {Model: &models.Script{Steps: slices.Repeat([]models.Step{func(ctx context.Context, r chat.Request) (chat.Response, error) {
		require.False(t, asked[text(r.Messages)], "the same is not asked for twice")
		asked[text(r.Messages)] = true
		if count(quarter{}, r.Messages) > 1500 {
			refused++
			return chat.Response{}, &chat.ContextLimitError{Err: errors.New("413 status code (no body)")}
		}
		answered++
		return models.SaySummary("A piece of it.")(ctx, r)
	}}, 30)}}}
	require.Contains(t, text(d.messages()), "A piece of it.")
	require.Positive(t, refused)
	require.Positive(t, answered)
}
