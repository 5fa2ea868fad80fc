package policies_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestEachPolicyHasItsNameAndIsValid(t *testing.T) {
	all := policies.All()
	require.Len(t, all, 6)
	for name, p := range all {
		require.Equal(t, name, p.Name)
		require.NoError(t, p.Validate(), name)
	}
}

func TestAPolicyIsFoundByItsName(t *testing.T) {
	for _, name := range policies.Names() {
		p, err := policies.Named(name)
		require.NoError(t, err)
		require.Equal(t, name, p.Name)
	}
	_, err := policies.Named("best")
	require.EqualError(t, err, `policies: unknown policy "best": use one of a3s, copilot-chat, copilot-cli, frugal, oh-my-pi, stagewise`)
}

func TestAChangeToAPolicyDoesNotShowInTheNextValue(t *testing.T) {
	for name, p := range policies.All() {
		for i := range p.Trigger {
			p.Trigger[i].Ratio = 0.01
		}
		for i := range p.Ask.Prompts {
			p.Ask.Prompts[i].Mode = "mine"
		}
		for i := range p.Ask.Names {
			p.Ask.Names[i] = "mine"
		}
		for i := range p.Ask.Quirks {
			p.Ask.Quirks[i].Models[0] = "mine"
		}
		for i := range p.Clear.Rule.Never {
			p.Clear.Rule.Never[i] = "mine"
		}
		if p.Ask.Temperature != nil {
			*p.Ask.Temperature = 2
		}
		again := policies.All()[name]
		for _, c := range again.Trigger {
			require.NotEqual(t, 0.01, c.Ratio, name)
		}
		for _, q := range again.Ask.Prompts {
			require.NotEqual(t, "mine", string(q.Mode), name)
		}
		require.NotContains(t, again.Ask.Names, "mine", name)
		for _, q := range again.Ask.Quirks {
			require.NotContains(t, q.Models, "mine", name)
		}
		require.NotContains(t, again.Clear.Rule.Never, "mine", name)
		if again.Ask.Temperature != nil {
			require.NotEqual(t, 2.0, *again.Ask.Temperature, name)
		}
	}
}

// Agents on models with long answers do not wait for compactions: the budget leaves the answer's room free, and the
// limits of the policies are of the largest prompt.
func TestSummariesAreMadeInTheBackgroundWhateverTheAnswer(t *testing.T) {
	for _, name := range []string{"copilot-chat", "copilot-cli"} {
		for _, w := range compacttest.Windows(t) {
			if w.Tokens > 200_000 {
				break
			}
			t.Run(fmt.Sprintf("%s, %d of %d", name, w.Answer, w.Tokens), func(t *testing.T) {
				t.Parallel()
				d := compacttest.New(t, chat.UserMessage(compacttest.Task))
				var err error
				d.Policy, err = policies.Named(name)
				require.NoError(t, err)
				d.Target.Budget, d.Target.ContextWindow = w.Budget, w.Tokens
				d.Target.Tools = []chat.Tool{{Name: "read", Description: compacttest.Words(compacttest.WindowTools - 1)}}
				d.Always(models.Say("# Work\n\n<summary>It was done.</summary>"))
				for n := range 80 {
					d.Say(compacttest.Round(n, w.Budget/20)...)
					d.Messages()
					require.NoError(t, d.Wait(t.Context()))
				}
				background := 0
				for _, e := range *d.Heard {
					if e.Kind == event.Done {
						require.True(t, e.Background, "%s", e.Why)
						background++
					}
				}
				require.GreaterOrEqual(t, background, 3)
			})
		}
	}
}

// managing is a model whose provider edits the context of requests.
type managing struct{ chat.Model }

func (managing) ManagesContext() bool { return true }

// Where the provider is asked to manage the context, a policy that stands back compacts only what does not fit.
func TestAPolicyStandsBackWhereTheProviderManagesTheContext(t *testing.T) {
	for name, standsBack := range map[string]bool{"copilot-chat": true, "copilot-cli": false} {
		for by, manage := range map[string]func(*policy.Target){
			"nobody":     func(*policy.Target) {},
			"the model":  func(t *policy.Target) { t.Model = managing{t.Model} },
			"the target": func(t *policy.Target) { t.ManagesContext = true },
		} {
			t.Run(name+", managed by "+by, func(t *testing.T) {
				t.Parallel()
				d := compacttest.New(t, append([]chat.Message{chat.UserMessage(compacttest.Task)}, compacttest.Rounds(1, 4, compacttest.RoundTokens)...)...)
				var err error
				d.Policy, err = policies.Named(name)
				require.NoError(t, err)
				manage(&d.Target)
				d.Always(models.Say("# Work\n\n<summary>It was done.</summary>"))
				d.Fill(compacttest.Budget * 97 / 100)
				d.Settled()
				stands := standsBack && by != "nobody"
				require.Equal(t, stands, len(compacttest.Compactions(d.Session)) == 0)
				require.Equal(t, stands, d.Explain(t.Context()).Why == "the provider is asked to manage the context, and the policy stands back")
				d.Say(compacttest.Rounds(5, 9, compacttest.RoundTokens)...)
				d.Settled()
				require.NotEmpty(t, compacttest.Compactions(d.Session), "what does not fit is compacted")
			})
		}
	}
}

func TestOnlyCopilotChatStandsBack(t *testing.T) {
	for _, name := range policies.Names() {
		p, err := policies.Named(name)
		require.NoError(t, err)
		require.Equal(t, name == "copilot-chat", p.StandsBack, name)
	}
}
