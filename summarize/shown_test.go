package summarize_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// stepOf makes a step with a prompt on a session, and returns its error. The model must not be asked.
func stepOf(t *testing.T, d fixture, prompt elements.Node) error {
	t.Helper()
	before := entries(t, d.Session)
	asked := len(d.Requests())
	_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt}).Step(t.Context())
	require.Error(t, err)
	require.Len(t, d.Requests(), asked, "nothing is sent or asked")
	equal(t, before, entries(t, d.Session))
	return err
}

func TestAPromptThatDoesNotShowWhatWasSaidLastIsRefusedBeforeAnythingIsSent(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for name, messages := range map[string][]chat.Message{
			"that fits":         {chat.UserMessage("Hello.")},
			"that does not fit": append(overflowing(), chat.AssistantMessage("Done."), chat.UserMessage("And now?")),
		} {
			t.Run(name, func(t *testing.T) {
				d := newFixture(t, messages...)
				d.Policy = p
				system := elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}}
				root := elements.Nodes{system, history.Conversation{Session: d.Session}, history.TurnRounds{Session: d.Session}}
				_, err := d.Render(t.Context(), root)
				require.ErrorIs(t, err, summarize.ErrNotShown)
				require.ErrorIs(t, stepOf(t, d, root), summarize.ErrNotShown)
				require.ErrorContains(t, err, "place history.TurnStart", "it says what to do")
				require.Empty(t, d.Requests())
			})
		}
	})
}

func TestAPromptOfAnotherSessionIsRefusedBeforeAnythingIsSent(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for name, messages := range map[string][]chat.Message{"that fits": {chat.UserMessage("Hello.")}, "that does not fit": overflowing()} {
			t.Run(name, func(t *testing.T) {
				d := newFixture(t, messages...)
				d.Policy = p
				other := numbered.Session()
				require.NoError(t, other.Append(t.Context(), messages...))
				_, err := d.Render(t.Context(), prompt(other))
				require.ErrorIs(t, err, summarize.ErrOtherSession)
				require.ErrorIs(t, stepOf(t, d, prompt(other)), summarize.ErrOtherSession)
				require.ErrorContains(t, err, "give its history elements that session", "it says what to do")
				require.Empty(t, d.Requests())
			})
		}
	})
}

func TestAStepNeedsSomethingThatWasSaidAndARenderDoesNot(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t)
		d.Policy = p
		err := stepOf(t, d, prompt(d.Session))
		require.ErrorIs(t, err, agent.ErrNothingSaid)
		require.ErrorContains(t, err, "append what the user says", "it says what to do")
		r, err := d.Render(t.Context(), prompt(d.Session))
		require.NoError(t, err)
		require.Len(t, r.Messages, 1, "the system message")
	})
}

func TestAStepThatHasNothingToAnswerSaysSo(t *testing.T) {
	for name, messages := range map[string][]chat.Message{
		"the user's message is blank":   {chat.UserMessage("Hello."), chat.AssistantMessage("Hi."), chat.UserMessage(" \n")},
		"the assistant has spoken last": {chat.UserMessage("Hello."), chat.AssistantMessage("Hi.")},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, messages...)
			require.ErrorContains(t, stepOf(t, d, prompt(d.Session)), "append what the user says, which is not shown if it is blank")
		})
	}
}

func TestAPromptWhoseOnlyUserMessageWasPrunedIsRefused(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, chat.UserMessage("Hello."))
		d.Policy = p
		root := elements.Nodes{
			elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
			question{d.Session},
			elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text("The question. " + words(5000))}},
		}
		_, err := d.Render(t.Context(), root)
		require.ErrorIs(t, err, summarize.ErrNoUserMessage)
		require.ErrorIs(t, stepOf(t, d, root), summarize.ErrNoUserMessage)
		require.ErrorContains(t, err, "raise Target.Budget", "it says what to do")
	})
}

// question is an element that reads the session's view, and shows nothing of it.
type question struct{ session *history.Session }

func (q question) ElementProps() elements.Props { return elements.Props{Required: true} }

func (q question) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	_, err := history.ViewIn(ctx, q.session)
	return nil, err
}

func TestAStepRefusesMessagesThatBreakTheProvidersRules(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, chat.UserMessage("Hello."))
		d.Policy = p
		root := append(prompt(d.Session), elements.ToolMessage{
			Props: elements.Props{Required: true}, ToolCallID: "nobody", Children: elements.Nodes{elements.Text("A result without a call.")},
		})
		err := stepOf(t, d, root)
		require.ErrorAs(t, err, new(*chat.ValidationError))
		require.ErrorContains(t, err, "nobody")
	})
}
