package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// row is one thing that is known of a system.
type row struct {
	name  string
	check func(t *testing.T, p summarize.Policy)
}

// holds tells whether a policy compacts on a render of so much of a window.
func holds(p summarize.Policy, used, window int, warm bool, jitter float64) bool {
	m := summarize.Measurement{
		Occasion: summarize.OnRender, Used: used, Base: window, Fits: true, Messages: 100, Warm: warm, Jitter: jitter, Covered: used,
	}
	return p.Decide(m).Held >= 0
}

func at(want bool, used, window int, warm bool, jitter float64) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) { require.Equal(t, want, holds(p, used, window, warm, jitter)) }
}

// is compares one field.
func is(want any, field func(summarize.Policy) any) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) { require.Equal(t, want, field(p)) }
}

// on tells that the policy compacts on an occasion, or not.
func on(o summarize.Occasion, want bool) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) { require.Equal(t, want, len(p.Trigger.For(o)) > 0) }
}

// quirk tells of what is done for a model of a name, all of it together.
func quirk(model string, holds func(summarize.Quirk) bool) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) {
		require.True(t, holds(summarize.QuirksOf(p.Ask, model)))
	}
}

// says tells of what the prompt at an index asks with, at a first compaction and at one after it.
func says(prompt int, first, later string) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) {
		require.Contains(t, text(requested(t, p.Ask.Prompts[prompt].Request(stuff()))), first)
		require.Contains(t, text(requested(t, p.Ask.Prompts[prompt].Request(again()))), later)
	}
}

// puts tells of what is put in place.
func puts(parts ...string) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) {
		got := stand(t, p.Place.Replacement, done())
		for _, part := range append(parts, "You fixed a < b && c;", "/logs/session.jsonl") {
			require.Contains(t, got, part)
		}
	}
}

// refuses asserts that an answer is refused as a summary.
func refuses(answer string) func(*testing.T, summarize.Policy) {
	return func(t *testing.T, p summarize.Policy) {
		d := newDesk(t, overflowing()...)
		d.Policy = p
		d.Policy.Trigger, d.Policy.Overflow.LastResort = nil, summarize.ResortError
		d.Answers(models.Say(answer))
		_, ok := errors.AsType[*summarize.SummaryError](error(d.Fails()))
		require.True(t, ok)
	}
}

func modes(p summarize.Policy) any {
	var list []summarize.Mode
	for _, q := range p.Ask.Prompts {
		list = append(list, q.Mode)
	}
	return list
}

func TestSystems(t *testing.T) {
	const k = 1000
	for _, s := range []struct {
		name string
		rows []row
	}{
		{"copilot-chat", []row{
			{"in the background at 0.80 of the window, with a warm cache", at(true, 80*k, 100*k, true, 0)},
			{"which is jittered down to 0.78", at(true, 78*k, 100*k, true, -1)},
			{"and up to 0.82", at(false, 82*k-1, 100*k, true, 1)},
			{"with a cold cache not below 0.90", at(false, 90*k-1, 100*k, false, -1)},
			{"with a cold cache at 0.90", at(true, 90*k, 100*k, false, 0)},
			{"which is made in the background", is(true, func(p summarize.Policy) any { return p.Trigger[0].Background })},
			{"in the foreground where a prompt does not fit", on(summarize.OnBudgetExceeded, true)},
			{"by hand", on(summarize.OnDemand, true)},
			{"a finished summary is thrown away below 0.65", is(0.65, func(p summarize.Policy) any { return p.Background.Apply })},
			{"one in flight is waited for at 0.95", is(0.95, func(p summarize.Policy) any { return p.Background.Wait })},
			{"a fork of the request in the background, then full, then simple mode", is([]summarize.Mode{summarize.ModeFork, summarize.ModeFull, summarize.ModeSimple}, modes)},
			{"the fork in the background alone", is(true, func(p summarize.Policy) any { return p.Ask.Prompts[0].Background && !p.Ask.Prompts[1].Background })},
			{"full mode declares the tools, simple mode does not", is([]bool{true, true, false}, func(p summarize.Policy) any {
				return []bool{p.Ask.Prompts[0].Tools, p.Ask.Prompts[1].Tools, p.Ask.Prompts[2].Tools}
			})},
			{"each mode may be forced", func(t *testing.T, p summarize.Policy) {
				for _, m := range []summarize.Mode{summarize.ModeFull, summarize.ModeSimple} {
					p.Ask.Mode = m
					require.NoError(t, p.Validate())
				}
				p.Ask.Mode = "thorough"
				require.Error(t, p.Validate())
			}},
			{"a threshold is a ratio, or 100 tokens and more", func(t *testing.T, p summarize.Policy) {
				for threshold, good := range map[float64]bool{0.5: true, 1: true, 100: true, 50_000: true, 1.5: false, 99: false, -1: false} {
					p.Measure.Threshold = threshold
					require.Equal(t, good, p.Validate() == nil, "%v", threshold)
				}
			}},
			{"the answer's <summary> block is the summary", func(t *testing.T, p summarize.Policy) {
				for _, q := range p.Ask.Prompts {
					got, err := q.Read(chat.Response{Message: chat.AssistantMessage("<analysis>\nhm\n</analysis>\n<summary>\nShort.\n</summary>")})
					require.NoError(t, err)
					require.Equal(t, "Short.", got)
				}
			}},
			{"the summary before is carried on", says(1, "<summary>", "You started a project in")},
			{"a <conversation-summary> of the user's is put in place", puts("=== user\n<conversation-summary>\n")},
			{"at temperature 0", is(0.0, func(p summarize.Policy) any { return *p.Ask.Temperature })},
			{"nothing kept but the round that overflowed", is(history.Cut{}, func(p summarize.Policy) any { return p.Cut })},
			{"the same model, no route", is(0, func(p summarize.Policy) any { return len(p.Ask.Routes) + len(p.Ask.Names) })},
			{"switched on", is(false, func(p summarize.Policy) any { return p.Off })},
			{"with the model's own window as threshold", is(0.0, func(p summarize.Policy) any { return p.Measure.Threshold })},
			{"Opus is told not to call tools", quirk("claude-opus-4-5", func(q summarize.Quirk) bool { return strings.Contains(q.Note, "Do not call any tool") })},
			{"other models are not", quirk("claude-sonnet-4-5", func(q summarize.Quirk) bool { return q.Note == "" })},
			{"the last thinking of a Claude stands after the summary", quirk("claude-sonnet-4-5", func(q summarize.Quirk) bool { return q.Thinking })},
			{"that of no other model", quirk("gpt-4.1", func(q summarize.Quirk) bool { return !q.Thinking })},
			{"a Claude is not shown calls of tool_search", quirk("claude-sonnet-4-5", func(q summarize.Quirk) bool { return slices.Contains(q.WithoutTools, "tool_search") })},
			{"GPT-4.1 is reminded to keep going", quirk("gpt-4.1", func(q summarize.Quirk) bool { return strings.Contains(q.Reminder, "Keep going") })},
			{"with a breadcrumb", is(false, func(p summarize.Policy) any { return p.Place.NoBreadcrumb })},
		}},
		{"a3s", []row{
			{"not below 0.80", at(false, 80*k-1, 100*k, true, 0)},
			{"at 0.80", at(true, 80*k, 100*k, false, 0)},
			{"before the next request, not in the background", is(false, func(p summarize.Policy) any { return p.Trigger[0].Background })},
			{"old tool output goes first, but for the newest 40,000 tokens", is(40*k, func(p summarize.Policy) any { return p.Clear.Rule.Keep })},
			{"with its placeholder", is("[output pruned — re-read file or re-run command if needed]", func(p summarize.Policy) any { return p.Clear.Rule.Placeholder(history.ClearedOutput{}) })},
			{"the first 2 messages stay", is(2, func(p summarize.Policy) any { return p.Cut.First })},
			{"and the last 20", is(20, func(p summarize.Policy) any { return p.Cut.Messages })},
			{"by what the provider reported", is(summarize.ByReport, func(p summarize.Policy) any { return p.Measure.By })},
			{"the first messages, then the summary", puts("=== user\nStart a project.\n=== user\n")},
			{"the turns between are summarised", says(0, "user: Fix the build", "You started a project in")},
		}},
		{"copilot-cli", []row{
			{"in the background at 0.80", at(true, 80*k, 100*k, false, 0)},
			{"not below", at(false, 80*k-1, 100*k, true, 0)},
			{"of at least 4 messages", is(4, func(p summarize.Policy) any { return p.Trigger[0].Messages })},
			{"waits at 0.95", is(0.95, func(p summarize.Policy) any { return p.Background.Wait })},
			{"the threshold may come from the environment", is("COPILOT_BACKGROUND_COMPACTION_THRESHOLD", func(p summarize.Policy) any { return p.Trigger[0].Env })},
			{"and the buffer's", is("COPILOT_BUFFER_EXHAUSTION_THRESHOLD", func(p summarize.Policy) any { return p.Background.WaitEnv })},
			{"by hand, of at least 2 messages", is(2, func(p summarize.Policy) any { return p.Trigger.For(summarize.OnDemand)[0].Messages })},
			{"after a refusal by the provider", on(summarize.OnContextLimit, true)},
			{"before a switch to a smaller model", on(summarize.OnModelSwitch, true)},
			{"on memory pressure", on(summarize.OnMemoryPressure, true)},
			{"the truncator is the last guard", is(summarize.ResortTruncate, func(p summarize.Policy) any { return p.Overflow.LastResort })},
			{"cut at a tool boundary", is(true, func(p summarize.Policy) any { return p.Cut.ToolBoundary })},
			{"the request is marked as conversation compaction", is([]summarize.Mode{copilotcli.Mode}, modes)},
			{"checkpoints are written", is(true, func(p summarize.Policy) any { return p.Place.Checkpoints })},
			{"an empty answer is a failure", refuses(" ")},
			{"a refused request is made again, with a buffer that grows and is bounded", func(t *testing.T, p summarize.Policy) {
				d := newDesk(t, chat.UserMessage(task))
				d.Say(rounds(1, 20, 150)...)
				d.Policy, d.Target.Model = p, models.Offline{Tokenizer: quarter{}}
				d.Messages()
				refused := &chat.ContextLimitError{Err: errors.New("too large")}
				last := budget
				for n := range 3 {
					r, err := d.Recover(t.Context(), prompt(d.Session), refused, "")
					require.NoError(t, err, "attempt %d", n+1)
					require.Less(t, r.Budget, last)
					require.GreaterOrEqual(t, r.Budget, budget*6/10)
					last = r.Budget
				}
				_, err := d.Recover(t.Context(), prompt(d.Session), refused, "")
				_, over := errors.AsType[*summarize.RecoveryError](err)
				require.True(t, over, "got %v", err)
			}},
			{"the summary, what the user said, plan, todo, skills and agent are put in place", puts(
				"<conversation-summary>", "<user-messages>", "Start a project.", "<plan>", "<todo>", "- test (pending)", `<skill name="go">`, "Run gofmt.", "<agent>", "It reviews code.",
			)},
			{"long messages of the user are clipped, with a mark", func(t *testing.T, p summarize.Policy) {
				m := done()
				m.Said[0] = chat.UserMessage(words(600))
				got := stand(t, p.Place.Replacement, m)
				require.Contains(t, got, "tokens cut here")
				require.NotContains(t, got, words(600))
			}},
			{"the system's words are passed apart, and not summarised", func(t *testing.T, p summarize.Policy) {
				m := stuff()
				m.Covered = slices.Insert(slices.Clone(m.Covered), 1, chat.SystemMessage("Be careful."))
				got := requested(t, p.Ask.Prompts[0].Request(m))
				equal(t, m.System[0], got[0])
				require.NotContains(t, text(got), "Be careful.")
			}},
		}},
		{"stagewise", []row{
			{"not at 0.65 of the window", at(false, 65*k, 100*k, false, 0)},
			{"above it", at(true, 65*k+1, 100*k, true, 0)},
			{"at most at 200,000 tokens", at(false, 200*k, 1000*k, false, 0)},
			{"above them, of any window", at(true, 200*k+1, 1000*k, false, 0)},
			{"at 0.5 for chat", func(t *testing.T, p summarize.Policy) {
				p.Trigger[0].Ratio = 0.5
				require.True(t, holds(p, 50*k+1, 100*k, false, 0))
			}},
			{"meanwhile", is(true, func(p summarize.Policy) any { return p.Trigger[0].Background })},
			{"a fifth of the window is kept", is(0.2, func(p summarize.Policy) any { return p.Cut.Share })},
			{"at most 40,000 tokens", is(40*k, func(p summarize.Policy) any { return p.Cut.Tokens })},
			{"10 messages suffice", is(10, func(p summarize.Policy) any { return p.Cut.Messages })},
			{"three models, then the agent's own", is([]string{"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"}, func(p summarize.Policy) any { return p.Ask.Names })},
			{"30 seconds each", is(30*time.Second, func(p summarize.Policy) any { return p.Ask.Timeout })},
			{"20,000 tokens of answer", is(20*k, func(p summarize.Policy) any { return p.Ask.MaxTokens })},
			{"30 characters at least", is(30, func(p summarize.Policy) any { return p.Ask.MinChars })},
			{"at temperature 0.1", is(0.1, func(p summarize.Policy) any { return *p.Ask.Temperature })},
			{"a leaked wrapper tag is made harmless", func(t *testing.T, p summarize.Policy) {
				m := done()
				m.Summary += "\n</previous-chat-history>\nx"
				require.Equal(t, 1, strings.Count(stand(t, p.Place.Replacement, m), "</previous-chat-history>"))
			}},
			{"fewer characters are refused", refuses(strings.Repeat("x", 29))},
			{"a goal of 30,000 characters", func(t *testing.T, p summarize.Policy) {
				m := stuff()
				m.Words = 20 * k
				require.Contains(t, text(requested(t, p.Ask.Prompts[0].Request(m))), "Aim at 30000 characters. That is a goal and not a limit")
			}},
			{"the briefing before is taken over", says(0, "<assistant>", "<previous-chat-history>\n")},
			{"the user in the third person, the agent in the second", says(0, "Speak to the agent", `The user is "the user"`)},
			{"a briefing is put in place as what went before", puts("<previous-chat-history>\n")},
			{"what is kept must be less than the trigger", func(t *testing.T, p summarize.Policy) {
				d := roomy(t)
				p.Cut.Share = 0.65
				d.Policy = p
				_, err := d.Render(t.Context(), prompt(d.Session))
				require.ErrorContains(t, err, "nothing would ever be compacted")
			}},
		}},
		{"oh-my-pi", []row{
			{"not at the window less 16,384", at(false, 100*k-16_384, 100*k, true, 0)},
			{"above it", at(true, 100*k-16_384+1, 100*k, false, 0)},
			{"before the next request", is(false, func(p summarize.Policy) any { return p.Trigger[0].Background })},
			{"after a refusal by the provider", on(summarize.OnContextLimit, true)},
			{"by hand", on(summarize.OnDemand, true)},
			{"the newest 20,000 tokens stay", is(20*k, func(p summarize.Policy) any { return p.Cut.Tokens })},
			{"a third of a small window at the most", is(1.0/3, func(p summarize.Policy) any { return p.Cut.Share })},
			{"since the latest compaction", is(true, func(p summarize.Policy) any { return p.Cut.SinceCompaction })},
			{"by what the provider reported", is(summarize.ByReport, func(p summarize.Policy) any { return p.Measure.By })},
			{"goes on afterwards", is("Continue if you have next steps.", func(p summarize.Policy) any { return p.Continue })},
			{"old tool output goes first, but for the newest 40,000 tokens", is(40*k, func(p summarize.Policy) any { return p.Clear.Rule.Keep })},
			{"where that saves 20,000", is(20*k, func(p summarize.Policy) any { return p.Clear.Rule.Saves })},
			{"never that of skill and read", is([]string{"skill", "read"}, func(p summarize.Policy) any { return p.Clear.Rule.Never })},
			{"with its placeholder", func(t *testing.T, p summarize.Policy) {
				require.Contains(t, p.Clear.Rule.Placeholder(history.ClearedOutput{Tokens: 7}), "[Output truncated - 7 tokens]")
			}},
			{"a refused request is made again once", is(1, func(p summarize.Policy) any { return p.Overflow.Attempts })},
			{"a <conversation>, and later the <previous-summary> and <additional-context>", func(t *testing.T, p summarize.Policy) {
				says(0, "<conversation>", "<previous-summary>")(t, p)
				says(0, "<conversation>", "<additional-context>")(t, p)
			}},
			{"summary and files are put in place", puts("<read-files>\na & b.go\n", "<modified-files>")},
			{"split turns have a second summary", is(true, func(p summarize.Policy) any { return p.Ask.Prompts[0].Prefix != nil && p.Ask.Prompts[0].Merge != nil })},
			{"a short summary for people", is(true, func(p summarize.Policy) any { return p.Ask.Prompts[0].Title != nil })},
			{"branches that are left are not summarised", is(false, func(p summarize.Policy) any { return p.Branch.On })},
			{"and reserve 16,384 tokens where they are", is(16_384, func(p summarize.Policy) any { return p.Branch.Reserve })},
		}},
	} {
		for _, r := range s.rows {
			t.Run(s.name+"/"+r.name, func(t *testing.T) {
				p, ok := policies.All()[s.name]
				require.True(t, ok)
				require.Equal(t, s.name, p.Name)
				r.check(t, p)
			})
		}
	}
	require.Len(t, policies.All(), 5)
}

func TestThresholdOfThePolicyLowersTheBudget(t *testing.T) {
	for _, c := range []struct {
		threshold float64
		compacts  bool
	}{{0, false}, {1, false}, {0.4, true}, {1500, true}, {100_000, false}} {
		d := roomy(t)
		d.Policy.Measure.Threshold = c.threshold
		d.Answers(models.SaySummary("short"))
		d.Messages()
		require.Equal(t, c.compacts, len(d.Requests()) == 1, "%v", c.threshold)
	}
	for _, bad := range []float64{-1, 1.5, 99} {
		d := roomy(t)
		d.Policy.Measure.Threshold = bad
		_, err := d.Render(t.Context(), prompt(d.Session))
		_, ok := errors.AsType[*sizing.ThresholdError](err)
		require.True(t, ok, "%v", bad)
	}
}

func TestPolicyThatIsOffLeavesItToTheCaller(t *testing.T) {
	d := newDesk(t, overflowing()...)
	d.Policy.Off = true
	_, err := d.Render(t.Context(), prompt(d.Session))
	_, over := errors.AsType[*render.BudgetExceededError](err)
	require.True(t, over)
	require.Contains(t, d.Explain().String(), "the policy is off")
	require.Empty(t, d.Requests())
	d.Answers(models.SaySummary("by hand"))
	_, err = d.Compact(t.Context(), "")
	require.NoError(t, err)
}

func TestForkIsThePrefixOfTheRequestBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, chat.UserMessage(task))
		d.Say(rounds(1, 4, 820)...)
		d.Target.Tools = []chat.Tool{{Name: "read"}}
		d.Policy = copilotchat.Policy()
		d.Answers(models.SaySummary("Forked."))
		sent := d.Messages()
		synctest.Wait()
		r := d.Request()
		equal(t, sent, r.Messages[:len(sent)])
		require.Len(t, r.Messages, len(sent)+1)
		equal(t, d.Target.Tools, r.Tools)
		require.Equal(t, chat.ToolChoiceAuto, r.ToolChoice, "as in the agent's request: the cache depends on it")
		require.Nil(t, r.Stream)
		require.Contains(t, d.Messages()[1].Text(), "Forked.")
	})
}

func TestQuirksOfModels(t *testing.T) {
	search := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "s", Name: "tool_search", Arguments: "{}"}}}
	for _, c := range []struct {
		model                    string
		note, stripped, reminded bool
	}{
		{"", false, false, false},
		{"claude-opus-4-5", true, true, false},
		{"claude-sonnet-4-5", false, true, false},
		{"gpt-4.1-mini", false, false, true},
		{"gpt-4o", false, false, false},
		{"gemini-3-pro", false, false, false},
	} {
		t.Run(c.model, func(t *testing.T) {
			d := newDesk(t, chat.UserMessage(task), search, chat.ToolResult("s", "found"))
			d.Say(rounds(1, 6, roundTokens)...)
			d.Target.Name = c.model
			d.Target.ContextWindow = 2 * budget
			d.Answers(models.SaySummary("short"))
			got := d.Messages()
			r := d.Request()
			require.NoError(t, chat.Validate(r.Messages))
			require.Equal(t, c.note, strings.Contains(text(r.Messages), "Do not call any tool"))
			calls := false
			for _, m := range r.Messages {
				calls = calls || len(m.ToolCalls) > 0 && m.ToolCalls[0].Name == "tool_search"
			}
			require.Equal(t, c.stripped, !calls)
			require.Equal(t, c.reminded, strings.Contains(got[1].Text(), "Keep going"))
		})
	}
}

func TestRouteToAnotherModelFallsBackToTheAgentsOwn(t *testing.T) {
	for _, c := range []struct {
		name, agent string
		other       models.Step
		want        string
	}{
		{"an agent of the list", "gpt-5", models.SaySummary("of the other"), "of the other"},
		{"an agent that is not", "claude", models.SaySummary("of the other"), "of its own"},
		{"another model that fails", "gpt-5", models.Fail(errors.New("down")), "of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, overflowing()...)
			d.Target.Name = c.agent
			d.Policy.Ask.Routes = []summarize.Route{{Agents: []string{"gpt-5*"}, Model: "compactor"}}
			d.Models = map[string]summarize.Target{"compactor": {Model: &models.Script{Steps: []models.Step{c.other}}}}
			d.Answers(models.SaySummary("of its own"))
			require.Contains(t, d.Messages()[1].Text(), c.want)
		})
	}
}

func TestHooks(t *testing.T) {
	t.Run("that fail never block", func(t *testing.T) {
		d := newDesk(t, overflowing()...)
		d.Hooks.BeforeCompact = func(context.Context, summarize.Occasion, summarize.Material) (summarize.Intervention, error) {
			return summarize.Intervention{Cancel: true}, errors.New("the archive is full")
		}
		d.Hooks.AfterCompact = func(context.Context, history.Entry) error { panic("at the disco") }
		d.Answers(models.SaySummary("short"))
		d.Messages()
		require.Equal(t, "started hook failed done/full hook failed", kinds(*d.Heard))
	})
	decide := func(t *testing.T, decision summarize.Intervention, steps ...models.Step) desk {
		d := newDesk(t, overflowing()...)
		d.Hooks.BeforeCompact = func(_ context.Context, on summarize.Occasion, m summarize.Material) (summarize.Intervention, error) {
			require.Equal(t, summarize.OnBudgetExceeded, on)
			require.NotEmpty(t, m.Covered)
			return decision, nil
		}
		d.Answers(steps...)
		return d
	}
	t.Run("may call it off", func(t *testing.T) {
		d := decide(t, summarize.Intervention{Cancel: true})
		require.ErrorIs(t, d.Fails(), summarize.ErrVetoed)
		require.Empty(t, d.Requests())
	})
	t.Run("may supply the summary", func(t *testing.T) {
		d := decide(t, summarize.Intervention{Summary: &history.Summary{Text: "Supplied.", Data: []byte(`{"by":"me"}`)}})
		require.Contains(t, d.Messages()[1].Text(), "Supplied.")
		require.Empty(t, d.Requests())
		require.True(t, compactions(d.Session)[0].Extension)
		require.JSONEq(t, `{"by":"me"}`, string(compactions(d.Session)[0].Data))
	})
	t.Run("may add context and data", func(t *testing.T) {
		d := decide(t, summarize.Intervention{Context: []string{"Mind the gap."}, Data: []byte(`[1]`)}, models.SaySummary("short"))
		d.Messages()
		require.Contains(t, text(d.Request().Messages), "Mind the gap.")
		require.JSONEq(t, `[1]`, string(compactions(d.Session)[0].Data))
	})
	t.Run("may ask in their own way", func(t *testing.T) {
		p := summarize.FullPrompt()
		p.Mode, p.Read = "mine", nil
		d := decide(t, summarize.Intervention{Prompts: []summarize.Prompt{p}}, models.Say("plain"))
		require.Contains(t, d.Messages()[1].Text(), "plain")
		require.Equal(t, "mine", compactions(d.Session)[0].Mode)
	})
}

// Every trigger, preparation, cut, prompt and replacement goes with every other.
func TestPartsCombine(t *testing.T) {
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
					if race && n%7 != 0 {
						continue // takes too long with the race detector
					}
					p := all[trigger]
					p.Name = strings.Join([]string{trigger, before, cut, prompts, replacement}, " ")
					p.Clear, p.Cut, p.Place.Replacement = all[before].Clear, all[cut].Cut, all[replacement].Place.Replacement
					p.Ask.Prompts, p.Ask.Checks = all[prompts].Ask.Prompts, all[prompts].Ask.Checks
					if p.Clear.Rule.Keep > 0 {
						p.Clear.Rule.Keep, p.Clear.Rule.Saves = 600, 100 // of a small session
					}
					d := newDesk(t, chat.UserMessage(task))
					d.Policy, d.Target.Model = p, offline
					d.Target.ContextWindow = budget + 1 // whatever the reserve
					for i := 1; i <= 6; i++ {
						d.Say(round(i, roundTokens)...)
						d.Messages()
						if d.PendingNow() == summarize.PendingRunning {
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
	require.Equal(t, 5*5*5*5, n)
}

// waitFor lets what is made in the background end.
func waitFor(d desk) {
	for d.PendingNow() == summarize.PendingRunning {
		time.Sleep(50 * time.Microsecond)
	}
}

// Each system carries a session through five compactions: what the system says and what the user asked last stay as they are.
func TestFiveCompactionsOfEachSystem(t *testing.T) {
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) {
			d := newFileDesk(t, chat.UserMessage(task))
			d.Policy, d.Target.Model = p, models.Offline{Tokenizer: quarter{}}
			if p.Cut.Tokens > 0 {
				d.Policy.Cut.Tokens = 800
			}
			if d.Policy.Clear.Rule.Keep > 0 {
				d.Policy.Clear.Rule.Keep, d.Policy.Clear.Rule.Saves = 1500, 100
			}
			d.Target.ContextWindow = budget + 1
			summary, done := "", 0
			for i := 1; done < 5; i++ {
				require.Less(t, i, 200, kinds(*d.Heard))
				d.Say(round(i, 400)...)
				got := d.Messages()
				waitFor(d)
				require.Equal(t, chat.SystemMessage("You are a coding agent."), got[0])
				require.True(t, slices.ContainsFunc(got, func(m chat.Message) bool { return reflect.DeepEqual(m, chat.UserMessage(task)) }), "round %d", i)
				all := compactions(d.Session)
				if len(all) > done {
					done = len(all)
					summary = text(all[done-1].Messages)
					for _, c := range all[done-1].Messages {
						require.Equal(t, chat.RoleUser, c.Role)
					}
				}
				if done > 0 {
					require.Equal(t, summary, text(viewOf(t, d.Session).Compacted), "it is replayed byte for byte")
				}
			}
			again, err := history.Read(d.Session.Path())
			require.NoError(t, err)
			equal(t, viewOf(t, d.Session), viewOf(t, again))
			require.NoError(t, again.Close())
		})
	}
}

// A session ten times the window of the model that summarises it takes no more requests than its size asks for.
func TestTenWindowsOfEachSystem(t *testing.T) {
	const window = 4000
	for name, p := range policies.All() {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, chat.UserMessage(task))
			d.Say(rounds(1, 10*window/100, 100)...)
			d.Policy, d.Target.Budget = p, 11*window
			for i := range d.Policy.Ask.Prompts {
				d.Policy.Ask.Prompts[i].Title = nil
			}
			d.TakesIn(window)
			d.Policy.Trigger = summarize.Trigger{{On: summarize.OnDemand}}
			d.Policy.Clear.Rule = history.ClearRule{}
			d.Policy.Place.Share = 0.02
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
			_, err := d.Compact(t.Context(), "")
			require.NoError(t, err)
			q := d.Policy.Ask.Prompts[len(d.Policy.Ask.Prompts)-1] // the mode that was taken: the first that is no background's
			for i, p := range d.Policy.Ask.Prompts {
				if !p.Background && p.Mode != summarize.ModeSimple {
					q = d.Policy.Ask.Prompts[i]
					break
				}
			}
			summary := "Summary 10, long enough to be taken for one."
			empty, err := render.Render(t.Context(), q.Request(summarize.Material{
				Covered: []chat.Message{chat.UserMessage("x")}, Previous: []chat.Message{chat.UserMessage(summary)}, PreviousSummary: summary,
				Tokenizer: quarter{}, Words: 100, ResultTokens: 200,
			}), render.Options{Budget: window, Tokenizer: quarter{}})
			require.NoError(t, err)
			overhead, history := empty.Tokens, 0
			for _, r := range asked {
				history += count(quarter{}, r.Messages) - overhead
			}
			room := window - overhead
			require.LessOrEqual(t, len(asked), (history+room-1)/room+1)
			require.NotEmpty(t, asked)
		})
	}
}
