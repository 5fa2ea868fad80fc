package summarize_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
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

func TestAForkDeclaresToolsAsTheAgentsRequestDid(t *testing.T) {
	d := copilotFixture(t)
	d.Target.Tools = []chat.Tool{{Name: "read"}}
	model := saying("Done.")
	d.Target.Model = model
	sent := d.Messages()
	require.NoError(t, d.Wait(t.Context()))
	require.Len(t, model.calls, 1)
	fork := model.calls[0]
	equal(t, sent, fork.Messages[:len(sent)])
	require.Equal(t, d.Target.Tools, fork.Tools)
	require.Equal(t, chat.ToolChoiceAuto, fork.ToolChoice, "as the agent sends it, or the cache is lost")
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

func TestAPromptThatShowsAnotherSessionIsAnError(t *testing.T) {
	d := newFixture(t, overflowing()...)
	other := numbered.Session()
	require.NoError(t, other.Append(t.Context(), overflowing()...))
	_, err := d.Render(t.Context(), prompt(other))
	require.ErrorIs(t, err, summarize.ErrOtherSession)
	require.Empty(t, d.Requests())
}
