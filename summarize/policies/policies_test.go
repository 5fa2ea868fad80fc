package policies_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize/policies"
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
