package summarize_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

func TestTheLastResortHoldsWhateverTheTriggersAre(t *testing.T) {
	for name, change := range map[string]func(*policy.Policy){
		"no condition holds":             func(p *policy.Policy) { p.Trigger = policy.Trigger{{Cap: 1 << 30}} },
		"the policy is off":              func(p *policy.Policy) { p.Off = true },
		"the only condition is OnDemand": func(p *policy.Policy) { p.Trigger = policy.Trigger{{On: policy.OnDemand}} },
		"the model is down":              func(p *policy.Policy) {},
	} {
		for _, c := range []struct {
			resort policy.LastResort
			event  string
		}{{policy.ResortError, ""}, {policy.ResortTruncate, "truncated"}, {policy.ResortDrop, "let go"}} {
			t.Run(name+", "+string(c.resort), func(t *testing.T) {
				d := newFixture(t, overflowing()...)
				d.Target.Model = down(errDown)
				d.Policy.Overflow.LastResort = c.resort
				change(&d.Policy)
				r, err := d.Render(t.Context(), prompt(d.Session))
				if c.event == "" {
					require.ErrorAs(t, err, new(*render.BudgetExceededError))
					return
				}
				require.NoError(t, err)
				require.LessOrEqual(t, r.Tokens, budget)
				require.NoError(t, chat.Validate(r.Messages))
				require.Contains(t, text(r.Messages), "Fix the build", "the current request stays")
				require.Contains(t, kinds(*d.Heard), c.event)
				require.Len(t, said(d.Session), 13, "the session keeps everything")
			})
		}
	}
}

func TestTruncatingLeavesOutTheConversationBeforeWhatStandsInFrontOfIt(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Target.Model = down(errDown)
	d.Policy.Overflow.LastResort = policy.ResortTruncate
	r := d.Rendered(elements.Nodes{elements.UserMessage{Children: elements.Nodes{elements.Text("Rules of the project.")}}, prompt(d.Session)})
	require.Contains(t, kinds(*d.Heard), "truncated")
	require.Contains(t, text(r.Messages), "Rules of the project.")
	require.Contains(t, text(r.Messages), "Fix the build")
}

// Limits of results are shares of the whole budget. Beside a message that takes more than the rest, a result gets what is
// left: without it the agent would make the same call again, or end.
func TestAHugeResultBesideALongMessageIsCutToWhatIsLeft(t *testing.T) {
	for name, policy := range policies.All() {
		for _, share := range []int{40, 52, 70, 90, 95} {
			for _, earlier := range []int{0, 8} {
				t.Run(fmt.Sprintf("%s, a message of %d%%, after %d rounds", name, share, earlier), func(t *testing.T) {
					d := newFixture(t, chat.UserMessage(task))
					d.Policy = policy
					d.Always(models.Say("# Work\n\n<summary>" + words(30) + "</summary>"))
					for n := range earlier {
						d.Say(rounds(n, n, 300)...)
					}
					if earlier > 0 {
						d.Messages()
						require.NoError(t, d.Wait(t.Context()))
					}
					asks := words(budget * share / 100)
					d.Say(chat.UserMessage(asks))
					for n := range 3 {
						d.Say(rounds(100+n, 100+n, 5*budget)...)
						r := d.Rendered(prompt(d.Session))
						require.NoError(t, chat.Validate(r.Messages))
						shown := text(r.Messages)
						require.Contains(t, shown, asks)
						require.Contains(t, outputs(shown), 100+n)
						require.GreaterOrEqual(t, r.Tokens, budget*3/4, "what is left is used")
						require.NoError(t, d.Wait(t.Context()))
					}
				})
			}
		}
	}
}

// The newest results leave room for a summary of what stands before them, or for all of that if it is too little to be
// summarised.
func TestResultsOfTheNewestRoundLeaveRoomForWhatStandsBeforeThem(t *testing.T) {
	parallel := func(n, results, tokens int) []chat.Message {
		list := []chat.Message{chat.AssistantMessage("I look.")}
		for i := range results {
			id := fmt.Sprintf("call-%d", n+i)
			list[0].ToolCalls = append(list[0].ToolCalls, chat.ToolCall{ID: id, Name: "read", Arguments: `{"path":"a.go"}`})
			list = append(list, chat.ToolResult(id, output(n+i, tokens)))
		}
		return list
	}
	for name, p := range policies.All() {
		for rule, steps := range map[string][][]chat.Message{
			"a message of half of it":           {append([]chat.Message{chat.UserMessage(words(budget * 49 / 100))}, parallel(100, 3, budget)...)},
			"a long message, and another round": {append([]chat.Message{chat.UserMessage(words(budget * 90 / 100))}, parallel(100, 4, budget)...), parallel(110, 1, budget*7/100)},
		} {
			t.Run(name+", "+rule, func(t *testing.T) {
				d := newFixture(t, chat.UserMessage(task))
				d.Policy = p
				d.Always(models.Say("# Work\n\n<summary>It was done.</summary>"))
				for _, step := range steps {
					d.Say(step...)
					messages := d.Messages()
					require.NoError(t, d.Wait(t.Context()))
					newest := step[len(step)-1]
					require.Equal(t, newest.ToolCallID, messages[len(messages)-1].ToolCallID, "the newest round stays")
				}
			})
		}
	}
}

// The newest round stays beside a long message of the user, whatever of it is large.
func TestArgumentsOfTheNewestRoundAreCutToWhatIsLeftAsResultsAre(t *testing.T) {
	call := func(arguments, result string) []chat.Message {
		m := chat.AssistantMessage("I write it.")
		m.ToolCalls = []chat.ToolCall{{ID: "w", Name: "write", Arguments: fmt.Sprintf(`{"path":"a.go","content":%q}`, arguments)}}
		return []chat.Message{m, chat.ToolResult("w", result)}
	}
	for name, p := range policies.All() {
		for rule, round := range map[string][]chat.Message{
			"arguments": call(words(2*budget), "ok"), "arguments and a result": call(words(budget), output(1, budget)), "a result": call("x", output(1, budget)),
		} {
			for _, percent := range []int{10, 50, 80, 90, 95} {
				t.Run(fmt.Sprintf("%s, %s, %d%%", name, rule, percent), func(t *testing.T) {
					d := newFixture(t, chat.UserMessage(words(budget*percent/100)))
					d.Policy = p
					d.Say(round...)
					messages := d.Messages()
					require.Equal(t, "w", messages[len(messages)-1].ToolCallID, "the newest round stays")
					require.Len(t, messages, 4)
				})
			}
		}
	}
}

func TestAResultThatIsCutToWhatIsLeftKeepsTheHeadThatThePolicySays(t *testing.T) {
	for head, want := range map[float64]float64{0: 0.4, 0.9: 0.9} {
		d := newFixture(t, chat.UserMessage(words(budget*70/100)))
		d.Policy.Cut.Limits.Head = head
		d.Say(rounds(1, 1, 5*budget)...)
		messages := d.Messages()
		start, end, cut := strings.Cut(messages[len(messages)-1].Text(), "cut here")
		require.True(t, cut)
		require.InDelta(t, want, float64(len(start))/float64(len(start)+len(end)), 0.05)
	}
}

// A fork asks as the agent's request did, where that may be answered by a summary; any other request for a summary asks for
// nothing of the agent's, and says what it is for.
func TestRequestsForSummariesInheritNothingThatForcesTheirAnswers(t *testing.T) {
	format := &chat.Format{Name: "n", Schema: []byte(`{"type":"object"}`)}
	for name, c := range map[string]struct {
		shape chat.Shape
		forks bool
	}{
		"effort":        {chat.Shape{Effort: chat.EffortHigh, OneCall: true}, true},
		"a form":        {chat.Shape{Format: format}, false},
		"a named tool":  {chat.Shape{Tool: "read"}, false},
		"a call of any": {chat.Shape{ToolChoice: chat.ToolChoiceRequired}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := copilotFixture(t)
			d.Target.Tools, d.Target.Shape = []chat.Tool{{Name: "read"}}, c.shape
			model := saying("Done.")
			d.Target.Model = model
			d.Messages()
			require.NoError(t, d.Wait(t.Context()))
			require.Len(t, model.calls, 1)
			asked := model.calls[0]
			require.Equal(t, chat.PurposeSummary, asked.Purpose)
			if c.forks {
				require.Equal(t, c.shape, asked.Shape)
			} else {
				require.False(t, asked.Forces())
				require.Empty(t, asked.Effort)
			}
		})
	}
}

// Every policy compacts a session whose answers have a form as it compacts any other.
func TestASessionWithAFormIsCompactedLikeAnyOther(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, overflowing()...)
		d.Policy = p
		d.Target.Shape.Format = &chat.Format{Name: "n", Schema: []byte(`{"type":"object"}`)}
		model := chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
			if req.Format != nil {
				return chat.Response{Message: chat.AssistantMessage(`{"n":1}`)}, nil
			}
			return models.Offline{Tokenizer: quarter{}}.Generate(ctx, req)
		})
		d.Target.Model = model
		d.Compacted()
		require.Len(t, compactions(d.Session), 1)
		require.NotContains(t, text(d.Messages()), `{"n":1}`)
	})
}

func TestAnAnswerToAForkThatCallsAToolIsNotASummary(t *testing.T) {
	d := copilotFixture(t)
	d.Target.Tools = []chat.Tool{{Name: "read"}}
	d.Answers(func(context.Context, chat.Request) (chat.Response, error) {
		m := chat.AssistantMessage("")
		m.ToolCalls = []chat.ToolCall{{ID: "x", Name: "read", Arguments: "{}"}}
		return chat.Response{Message: m, StopReason: chat.StopToolCalls}, nil
	}, models.SaySummary("In full mode."))
	d.Messages()
	require.NoError(t, d.Wait(t.Context()))
	require.Contains(t, text(d.Messages()), "In full mode.")
}

func TestACutCountsTheProvidersTokensIfThePolicyMeasuresByReport(t *testing.T) {
	for _, c := range []struct {
		input, want int
	}{{1000, 5}, {2000, 3}} {
		d := newFixture(t, chat.UserMessage(task))
		d.Target.Budget = 20_000
		d.Policy = policy.Policy{
			Counting: policy.Counting{By: policy.ByReport}, Trigger: policy.Trigger{{Cap: 3000}}, Cut: history.Cut{Tokens: 2100},
			Replace: policy.Replace{Max: 200},
		}
		d.Say(rounds(1, 9, 500)...)
		reported(d, "", c.input, 1000)
		d.Say(chat.UserMessage("Go on."))
		d.Answers(models.SaySummary("Done."))
		d.Messages()
		require.Len(t, kept(d.Session), c.want)
	}
}

func TestAPromptThatDoesNotFitIsCompactedByEveryPolicy(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, overflowing()...)
		d.Policy = p
		d.Policy.Cut = history.Cut{} // some policies' cut keeps more than the budget
		d.Target.ContextWindow = 2 * budget
		d.Target.Model = models.Offline{Tokenizer: quarter{}}
		d.Rendered(prompt(d.Session))
		require.Len(t, compactions(d.Session), 1)
	})
}

func TestACompactionOnDemandIsTriedAgainAfterAFailure(t *testing.T) {
	d := newFixture(t, chat.UserMessage(task))
	d.Say(rounds(1, 5, 500)...)
	d.Messages()
	d.Answers(models.Say("no"), models.Say("no"), models.SaySummary("Now it works."))
	_, err := d.Compact(t.Context(), "")
	require.Error(t, err)
	d.Compacted()
}

func TestAPolicyThatOnlyForksFailsInTheForegroundWithTheReason(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy = copilotchat.Policy()
	d.Policy.Overflow.LastResort = policy.ResortError
	d.Policy.Ask.Mode = prompts.ModeFork
	require.ErrorContains(t, d.Fails(), "no prompt for a summary outside the background")
}

func TestASessionThatIsOnlyReadIsNotCompacted(t *testing.T) {
	d := newFileFixture(t, append([]chat.Message{chat.UserMessage(task)}, rounds(1, 4, 840)...)...)
	again := fixtureOf(t, read(t, d.Session.Path()))
	again.Policy.Trigger = policy.Trigger{{Ratio: 0.5}}
	for range 3 {
		again.Messages()
	}
	require.Empty(t, *again.Heard)
	require.Equal(t, "the session is open for reading only", again.Explain(t.Context()).Why)
}

func TestAPlanIsNotExplainedAsPlacedIfItsCompactionWasNotWritten(t *testing.T) {
	d := newFileFixture(t, overflowing()...)
	d.Answers(models.SaySummary("short"))
	d.Messages()
	require.Equal(t, "placed", anotherFixture(t, d, d.Script).Explain(t.Context()).Outcome)
	whole := content(t, d.Session.Path())
	last := strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n") + 1
	path := filepath.Join(t.TempDir(), "session.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(whole[:last+30]), 0o600)) // the process was killed while it wrote
	again := fixtureOf(t, opened(t, path))
	require.Empty(t, compactions(again.Session))
	require.NotEqual(t, "placed", again.Explain(t.Context()).Outcome)
}
