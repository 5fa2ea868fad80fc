package summarize_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// The model refused the request, not the rounds in it.
func TestARoundRefusedAsTooLargeIsSentAgainWithLessOfItsText(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(round(1, 2400)...)
	d.Say(rounds(2, 5, roundTokens)...)
	d.Policy.Ask.Names = []string{"small"}
	d.Policy.Ask.Prompts = []policy.Prompt{prompts.SimplePrompt()}
	asked := map[string]bool{}
	refused, answered := 0, 0
	d.Models = map[string]policy.Target{"small": {Model: &models.Script{Steps: slices.Repeat([]models.Step{func(ctx context.Context, r chat.Request) (chat.Response, error) {
		require.False(t, asked[text(r.Messages)], "no request is sent twice")
		asked[text(r.Messages)] = true
		if count(quarter{}, r.Messages) > 1500 {
			refused++
			return chat.Response{}, &chat.ContextLimitError{Err: errors.New("413 status code (no body)")}
		}
		answered++
		return models.SaySummary("A piece of it.")(ctx, r)
	}}, 30)}}}
	require.Contains(t, text(d.Messages()), "A piece of it.")
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

// An empty answer to one piece does not mean that a request for more would fail.
func TestAnEmptyAnswerToAPieceDoesNotEndAllCompactions(t *testing.T) {
	d := newFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 75, 60)...)...)
	d.TakesIn(900)
	d.Answers(models.Say(""), models.Say(""))
	d.Fails()
	d.Answers(numberedSummaries(30)...)
	d.Say(rounds(76, 80, 60)...)
	require.Contains(t, text(d.Messages()), "Summary")
}
