package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/agent"
)

type weather struct {
	City string   `json:"city" jsonschema:"name of the city"`
	Days []string `json:"days"`
	Mood *string  `json:"mood,omitempty"`
}

// answering returns an agent whose model gives one answer after another, and its requests.
func answering(t *testing.T, tools []chat.Toolbox, answers ...chat.Message) (*agent.Agent, *[]chat.Request) {
	var asked []chat.Request
	a := runner(t, &storage.Memory{}, func(req chat.Request) chat.Message {
		asked = append(asked, req)
		m := answers[0]
		answers = answers[1:]
		return m
	}, tools...)
	t.Cleanup(func() { require.Empty(t, answers, "answers that were not asked for") })
	return a, &asked
}

func TestAnAnswerIsReturnedAsAValue(t *testing.T) {
	look, err := agent.Tool("look", "Looks.", func(context.Context, struct{}) (string, error) { return "sun", nil })
	require.NoError(t, err)
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}}
	a, asked := answering(t, []chat.Toolbox{look}, call, chat.AssistantMessage(`{"city":"Rome","days":["sun"]}`))
	got, err := agent.Ask[weather](t.Context(), a, "How is it?")
	require.NoError(t, err)
	require.Equal(t, weather{City: "Rome", Days: []string{"sun"}}, got)
	require.Equal(t, []string{"user: How is it?", "assistant: look(a)", "tool: sun", `assistant: {"city":"Rome","days":["sun"]}`}, shown(t, a.Compactor.Session))
	for _, req := range *asked {
		require.Equal(t, "weather", req.Format.Name, "each step may be the last")
		require.False(t, req.Format.Strict, "mood may be missing")
		require.Equal(t, []string{"city", "days"}, sure.Decode[struct{ Required []string }](t, req.Format.Schema).Required)
	}
	require.Nil(t, a.Compactor.Current().Shape.Format, "the form is that of one question")
}

func TestAnAnswerThatDoesNotFitIsAskedForAgainTwice(t *testing.T) {
	for name, c := range map[string]struct{ wrong, why string }{
		"prose":             {"It is sunny.", "it is not JSON"},
		"another type":      {`{"city":1,"days":[]}`, "its values do not fit its schema"},
		"a missing value":   {`{"city":"Rome"}`, "its values do not fit its schema"},
		"another value":     {`{"city":"Rome","days":[],"more":1}`, "its values do not fit its schema"},
		"a list":            {`[1]`, "its values are not a JSON object"},
		"nothing":           {"null", "its values do not fit its schema"},
		"too many levels":   {`{"city":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "levels of objects and arrays"},
		"a fence and prose": {"```json\n{\"city\":\"Rome\",\"days\":[]}\n``` Good luck!", "it is not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := chat.AssistantMessage(c.wrong)
			a, asked := answering(t, nil, wrong, wrong, chat.AssistantMessage("```json\n{\"city\":\"Rome\",\"days\":null}\n```"))
			got, err := agent.Ask[weather](t.Context(), a, "How is it?")
			require.NoError(t, err)
			require.Equal(t, "Rome", got.City)
			last := (*asked)[2].Messages
			require.Contains(t, last[len(last)-1].Text(), c.why)

			a, _ = answering(t, nil, wrong, wrong, wrong)
			_, err = agent.Ask[weather](t.Context(), a, "How is it?")
			require.ErrorContains(t, err, "agent: the answer does not have its form: ")
			require.ErrorContains(t, err, c.why)
			require.Equal(t, c.wrong, errtest.As[*agent.FormError](t, err).Answer.Message().Text())
		})
	}
}

func TestAnAnswerThatIsCutIsAnErrorWithItsPart(t *testing.T) {
	for _, stop := range []chat.StopReason{chat.StopMaxTokens, chat.StopFiltered} {
		a, _ := answering(t, nil)
		a.Compactor.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
			return chat.Response{Message: chat.AssistantMessage(`{"city":"Ro`), StopReason: stop}, nil
		})
		_, err := agent.Ask[weather](t.Context(), a, "How is it?")
		form := errtest.As[*agent.FormError](t, err)
		require.ErrorContains(t, err, "it ended by "+string(stop))
		require.Equal(t, `{"city":"Ro`, form.Answer.Message().Text())
	}
}

func TestAFormIsStrictWhereEveryProviderTakesItSo(t *testing.T) {
	a, asked := answering(t, nil, chat.AssistantMessage(`{"N":1}`))
	_, err := agent.Ask[struct{ N int }](t.Context(), a, "How many?")
	require.NoError(t, err)
	require.True(t, (*asked)[0].Format.Strict)
	require.Equal(t, "answer", (*asked)[0].Format.Name)
	_, err = agent.Ask[int](t.Context(), a, "How many?")
	require.ErrorContains(t, err, "agent: the answer: its type is int: give a struct")
}

// The schema counts as a tool does, and is part of the prompt's size.
func TestTheSchemaOfAFormIsCounted(t *testing.T) {
	a, _ := answering(t, nil, chat.AssistantMessage(`{"N":1}`), chat.AssistantMessage("1"))
	sizes := []int{}
	a.OnStep = func(ctx context.Context, answer agent.Answer) error {
		sizes = append(sizes, a.Compactor.Breakdown(ctx).Tools)
		return nil
	}
	_, err := agent.Ask[struct{ N int }](t.Context(), a, "How many?")
	require.NoError(t, err)
	finished(t, a, "And now?")
	require.Greater(t, sizes[0], 10)
	require.Zero(t, sizes[1])
}
