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
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// offlineSetting returns the setting of the run that README.md recommends as the cheapest.
func offlineSetting(lookUp string) setting {
	tokenizer := tiktoken.O200k()
	return setting{model: reader{tokenizer}, name: offline, tokenizer: tokenizer, window: minWindow, lookUp: lookUp}
}

// playEach plays each task under each policy, and checks that the run tested what the task is about: only the output of
// policies without a rule for it is never cleared.
func playEach(t *testing.T, lookUp string, check func(t *testing.T, o outcome)) {
	for name, p := range policies.All() {
		for _, task := range taskNames {
			t.Run(fmt.Sprintf("%s under %s with %s", task, name, lookUp), func(t *testing.T) {
				t.Parallel()
				o := play(t.Context(), task, 1, p, offlineSetting(lookUp))
				require.Empty(t, o.Err)
				require.Equal(t, name, o.Policy)
				require.Zero(t, o.Mistakes)
				require.Equal(t, task != "cleared" || p.Clear.Rule.Keep > 0, o.tested(), "%+v", o)
				if !o.tested() || o.About == covered {
					require.Equal(t, covered, o.Fate)
					require.Positive(t, o.Compactions)
				}
				require.Positive(t, o.Cached)
				require.Greater(t, o.Input, o.Cached)
				check(t, o)
			})
		}
	}
}

func TestAModelThatLooksUpSolvesEachTaskUnderEachPolicy(t *testing.T) {
	for _, lookUp := range []string{withRecall, withFiles} {
		playEach(t, lookUp, func(t *testing.T, o outcome) {
			require.True(t, o.Solved, "%+v", o)
			require.Equal(t, o.Shown, o.LookBacks == 0, "%+v", o)
			require.True(t, lookUp == withFiles || o.LookBacks <= 1, "%+v", o)
		})
	}
}

func TestAModelThatNeverLooksUpFailsWhereTheFactIsGone(t *testing.T) {
	playEach(t, withNothing, func(t *testing.T, o outcome) {
		require.Equal(t, o.Shown, o.Solved, "%+v", o)
		require.Equal(t, o.Task == "attempts", o.Shown, "the digest keeps the errors, and nothing else: %+v", o)
		require.Zero(t, o.LookBacks)
	})
}

func TestATaskTellsPoliciesApart(t *testing.T) {
	with := offlineSetting(withNothing)
	with.window = 128_000
	for name, solves := range map[string]bool{"copilot-cli": true, "stagewise": false} {
		o := play(t.Context(), "decision", 1, policies.All()[name], with)
		require.True(t, o.tested(), "%+v", o)
		require.Equal(t, solves, o.Solved, "%+v", o)
	}
}

func TestWithoutAPolicyEverythingIsShownAndNothingIsTested(t *testing.T) {
	for _, task := range taskNames {
		o := play(t.Context(), task, 1, policy.Policy{}, offlineSetting(withNothing))
		require.Empty(t, o.Err)
		require.Equal(t, []any{none, intact, true, true, false, 0}, []any{o.Policy, o.Fate, o.Shown, o.Solved, o.tested(), o.Compactions})
	}
}

// call returns a step that calls a tool.
func call(name, arguments string) models.Step {
	return func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.WithCallIDs(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{Name: name, Arguments: arguments}}})}, nil
	}
}

func TestWrongAndRepeatedActionsAreMistakesAndTheTaskIsNotSolved(t *testing.T) {
	right := newTask("once", 1, minWindow)
	ok, opens := models.Say("OK"), func(code string) models.Step {
		return call("open", fmt.Sprintf(`{"door":%q,"code":%q}`, right.door, code))
	}
	for name, c := range map[string]struct {
		steps    []models.Step
		mistakes int
		solved   bool
	}{
		"opened":           {[]models.Step{ok, ok, ok, opens(right.code), ok}, 0, true},
		"not opened":       {[]models.Step{ok, ok, ok, ok}, 0, false},
		"a wrong code":     {[]models.Step{ok, ok, ok, opens("ABCD-0000"), opens(right.code), ok}, 1, false},
		"opened twice":     {[]models.Step{ok, ok, ok, opens(right.code), opens(right.code), ok}, 1, false},
		"drawn twice":      {[]models.Step{ok, call("draw", fmt.Sprintf(`{"door":%q}`, right.door)), call("draw", `{"door":"x"}`), ok, ok, opens(right.code), ok}, 1, false},
		"failed afterward": {[]models.Step{ok, ok, ok, opens(right.code)}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			with := offlineSetting(withNothing)
			with.model, with.window = &models.Script{Steps: c.steps}, minWindow
			with.tokenizer = heavy{with.tokenizer}
			o := play(t.Context(), "once", 1, policy.Policy{}, with)
			require.Equal(t, c.mistakes, o.Mistakes, "%+v", o)
			require.Equal(t, c.solved, o.Solved, "%+v", o)
			require.Equal(t, name == "failed afterward", o.Err != "", o.Err)
		})
	}
}

// heavy counts many tokens for the texts of a run, so that one of them takes all the room.
type heavy struct{ chat.Tokenizer }

func (heavy) CountText(string) int { return 10_000 }

func TestATaskThatTakesTooManyStepsEnds(t *testing.T) {
	with := offlineSetting(withNothing)
	with.model = chat.ModelFunc(call("next_report", "{}"))
	with.window = 1_000_000
	o := play(t.Context(), "once", 1, policy.Policy{}, with)
	require.Equal(t, errTooLong.Error(), o.Err)
	require.False(t, o.Solved)
	require.Equal(t, maxSteps+1, o.Steps)
}

func TestAFailedCallIsAnErrorResultForTheModel(t *testing.T) {
	w := &world{task: newTask("once", 1, minWindow), dir: t.TempDir(), page: 100}
	for name, arguments := range map[string]string{"nothing": "{}", "open": "[]", fileTool: `{"path":"/etc/hosts"}`, "draw": `{"door":"x"}`} {
		m := w.call(chat.ToolCall{ID: "1", Name: name, Arguments: arguments})
		require.True(t, m.IsError, name)
	}
}

func TestTheUsageThatAModelReportsIsPriced(t *testing.T) {
	prices, err := sizing.PublishedPrices().Of("claude-haiku-4-5")
	require.NoError(t, err)
	used := chat.Usage{Input: 1000, CacheRead: 400, Output: 10}
	m := &meter{prices: prices, tokenizer: sizing.Estimator{}, model: &models.Script{Steps: []models.Step{
		func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{Usage: used}, nil },
		models.Fail(errors.New("down")),
	}}}
	_, err = m.Generate(t.Context(), chat.Request{})
	require.NoError(t, err)
	require.Equal(t, used, m.usage)
	require.InDelta(t, prices.Of(used).Total(), m.dollars, 1e-12)
	_, err = m.Generate(t.Context(), chat.Request{})
	require.Error(t, err)
	require.Equal(t, used, m.usage)
}

func TestARunThatTestsNothingIsMarkedAndNotCounted(t *testing.T) {
	run := func(policy string, seed uint64, is fate, solved bool) outcome {
		return outcome{Task: "once", Policy: policy, Seed: seed, About: covered, Fate: is, Solved: solved, Shown: solved}
	}
	failed := run("b", 4, intact, false)
	failed.Err = "down"
	var out bytes.Buffer
	require.NoError(t, printTable([]outcome{
		run(none, 1, intact, true), run(none, 2, intact, true), run(none, 3, intact, true), run(none, 4, intact, true),
		run("a", 1, covered, true), run("a", 2, covered, false), run("a", 3, covered, false), run("a", 4, covered, true),
		run("b", 1, covered, true), run("b", 2, covered, true), run("b", 3, cleared, true), failed,
	}, options{runs: 4}, &out))
	for _, line := range []string{
		`once +none +not tested: shown +0`,
		`once +a +2 of 4 +15-85% +\+0 -0 +2 +0`,
		`once +b +2 of 3 +21-94% +\+1 -1 +2 +0.* 1 not tested: cleared. down\n`,
	} {
		require.Regexp(t, line, out.String())
	}
}

func TestTheProgramPrintsATableOrJSON(t *testing.T) {
	var out, problems bytes.Buffer
	args := []string{"-window", "8000", "-task", "once,attempts", "-policy", "none,frugal", "-prices", "claude-haiku-4-5"}
	require.Equal(t, program.ExitOK, run(t.Context(), args, &out, &problems), problems.String())
	require.Regexp(t, `once +frugal +1 of 1 +21-100%`, out.String())
	out.Reset()
	require.Equal(t, program.ExitOK, run(t.Context(), append(args, "-json", "-runs", "2"), &out, &problems))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 8)
	for _, line := range lines {
		var o outcome
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		require.True(t, o.Solved)
		require.Positive(t, o.Dollars)
	}
}

func TestARealModelIsAskedOnlyAfterItsCostWasAgreedTo(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "any")
	o := options{model: "claude-haiku-4-5", lookUp: withRecall, window: minWindow, runs: 3, seed: 1, policies: []string{"frugal"}, tasks: []string{"once"}}
	var out, problems bytes.Buffer
	require.ErrorIs(t, compare(t.Context(), o, strings.NewReader("no\n"), &out, &problems), errDeclined)
	require.Regexp(t, `^3 runs with claude-haiku-4-5 will take about \d{6} tokens of input \(\d+% cached\) and \d+ of output: about \$0\.\d\d at`, problems.String())
	require.Empty(t, out.String())
	with, err := settingOf(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, agree(t.Context(), o, with, strings.NewReader("yes\n"), &problems))
	o.yes = true
	require.NoError(t, agree(t.Context(), o, with, strings.NewReader(""), &problems))
}

func TestBadInputIsReportedWithItsExitCode(t *testing.T) {
	for _, key := range []string{"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(key, "")
	}
	for code, lines := range map[int][]string{
		program.ExitUsage:  {"-window 10", "-runs 0", "-policy nonsense", "-task nonsense", "-lookup nonsense", "word", "-nonsense"},
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
		m, err := modelOf(t.Context(), name, sizing.Estimator{})
		require.NoError(t, err)
		require.NotNil(t, m)
	}
}
