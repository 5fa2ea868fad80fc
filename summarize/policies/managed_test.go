package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

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
