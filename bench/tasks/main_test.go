package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

const window = 6_000

func offlineSetting() setting {
	tokenizer := sizing.Estimator{}
	return setting{model: reader{tokenizer, window}, name: offline, tokenizer: tokenizer, window: window}
}

func TestTheScriptedModelSolvesEachTaskUnderEachPolicy(t *testing.T) {
	for name, policy := range policies.All() {
		for _, task := range tasks(1, 0.3) {
			out := play(t.Context(), task, &policy, offlineSetting())
			require.True(t, out.Solved, "%s under %s: %+v", task.name, name, out)
			require.Equal(t, policy.Name, out.Policy)
			require.Positive(t, out.Compactions, "%+v", out)
			require.Positive(t, out.Cached)
			require.Greater(t, out.Input, out.Cached)
		}
	}
}

func TestWithoutAPolicyNothingIsCompacted(t *testing.T) {
	for _, task := range tasks(1, 0.3) {
		out := play(t.Context(), task, nil, offlineSetting())
		require.Empty(t, out.Err, "once a request is refused, the oldest history is left out")
		require.Zero(t, out.Compactions)
	}
	for _, task := range tasks(1, 0.05) {
		out := play(t.Context(), task, nil, offlineSetting())
		require.True(t, out.Solved, "%+v", out)
	}
}

func TestATaskWithAMistakeIsNotSolved(t *testing.T) {
	call := func(name, arguments string) models.Step {
		return func(context.Context, chat.Request) (chat.Response, error) {
			return chat.Response{Message: chat.WithCallIDs(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{Name: name, Arguments: arguments}}})}, nil
		}
	}
	for _, c := range []struct {
		task  int
		steps []models.Step
	}{
		{0, []models.Step{call("set", `{"path":"module_0.txt","value":1}`), models.Say("done")}},
		{1, []models.Step{call("do", `{"step":1,"word":"wrong"}`), models.Say("done")}},
		{2, []models.Step{models.Say("done"), models.Say("slot 9, green")}},
	} {
		with := offlineSetting()
		with.model = &models.Script{Steps: c.steps}
		out := play(t.Context(), tasks(1, 0.05)[c.task], nil, with)
		require.Empty(t, out.Err)
		require.False(t, out.Solved, out.Task)
	}
}

func TestATaskThatTakesTooManyStepsEnds(t *testing.T) {
	with := offlineSetting()
	with.model = endless{}
	out := play(t.Context(), tasks(1, 0.05)[1], nil, with)
	require.Equal(t, errTooLong.Error(), out.Err)
	require.False(t, out.Solved)
	require.Equal(t, out.Steps-2, out.LookBacks, "each step but the first reads the same page again")
}

// endless is a model that reads the same page forever.
type endless struct{}

func (endless) Generate(context.Context, chat.Request) (chat.Response, error) {
	return chat.Response{Message: chat.WithCallIDs(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{Name: "read_plan", Arguments: `{"page":1}`}}})}, nil
}

func TestAFailedCallIsAnErrorResultForTheModel(t *testing.T) {
	for i, task := range tasks(1, 0.05) {
		s := &history.Session{}
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("a word to find")))
		w := newWorld(task, s)
		for name, arguments := range map[string]string{
			"nothing": "{}", task.tools[0].Name: "no JSON", task.tools[len(task.tools)-1].Name: []string{"[]", `{"step":9}`, `{"page":9999}`}[i],
		} {
			m, err := w.call(t.Context(), chat.ToolCall{ID: "1", Name: name, Arguments: arguments})
			require.NoError(t, err)
			require.True(t, m.IsError, name)
		}
		m, err := w.call(t.Context(), chat.ToolCall{ID: "1", Name: "search_log", Arguments: `{"words":"word to"}`})
		require.NoError(t, err)
		require.Equal(t, "user: a word to find", m.Text())
		require.Equal(t, 1, w.lookBacks)
	}
}

func TestTheUsageThatAModelReportsIsPriced(t *testing.T) {
	prices, err := sizing.PublishedPrices().Of("claude-haiku-4-5")
	require.NoError(t, err)
	used := chat.Usage{Input: 1000, CacheRead: 400, Output: 10}
	m := &meter{prices: prices, tokenizer: sizing.Estimator{}, model: &models.Script{Steps: []models.Step{
		func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{Usage: used}, nil },
		func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{}, errors.New("down") },
	}}}
	_, err = m.Generate(t.Context(), chat.Request{})
	require.NoError(t, err)
	require.Equal(t, used, m.usage)
	require.InDelta(t, prices.Of(used).Total(), m.dollars, 1e-12)
	_, err = m.Generate(t.Context(), chat.Request{})
	require.Error(t, err)
	require.Equal(t, used, m.usage)
}

func TestTheProgramPrintsATable(t *testing.T) {
	var out, problems bytes.Buffer
	args := []string{"-size", "0.02", "-policy", "none,frugal", "-prices", "claude-haiku-4-5"}
	require.Equal(t, program.ExitOK, run(t.Context(), args, &out, &problems), problems.String())
	for _, line := range []string{"plan        none", "recall      frugal", "repository  none", "look-backs"} {
		require.Contains(t, out.String(), line)
	}
	out.Reset()
	require.Equal(t, program.ExitOK, run(t.Context(), []string{"-size", "0.02", "-policy", "frugal", "-json"}, &out, &problems))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		var o outcome
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		require.True(t, o.Solved)
	}
}

func TestBadInputIsReportedWithItsExitCode(t *testing.T) {
	for _, key := range []string{"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(key, "")
	}
	for code, lines := range map[int][]string{
		program.ExitUsage:  {"-window 10", "-size 0", "-policy nonsense", "word", "-nonsense"},
		program.ExitFailed: {"-model claude-haiku-4-5", "-model gemini-2.5-flash", "-model gpt-5", "-prices nonsense"},
	} {
		for _, line := range lines {
			var out, problems bytes.Buffer
			require.Equal(t, code, run(t.Context(), strings.Fields(line), &out, &problems), line)
			require.Contains(t, problems.String(), "tasks: ", fmt.Sprint(line, problems.String()))
		}
	}
}

func TestAModelIsOpenedByItsName(t *testing.T) {
	for name, key := range map[string]string{"claude-haiku-4-5": "ANTHROPIC_API_KEY", "gemini-2.5-flash": "GOOGLE_API_KEY", "gpt-5": "OPENAI_API_KEY"} {
		t.Setenv(key, "any")
		m, err := open(t.Context(), name, window, sizing.Estimator{})
		require.NoError(t, err)
		require.NotNil(t, m)
	}
}
