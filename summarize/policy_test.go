package summarize_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestAnInvalidPolicyIsRefusedByTheNameOfTheField(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy policy.Policy
		want   string // "" if it is valid
	}{
		{"the zero value", policy.Policy{}, ""},
		{"Copilot Chat's", copilotchat.Policy(), ""},
		{"shares of 1", policy.Policy{Cut: history.Cut{Share: 1}, Replace: policy.Replace{Share: 1}}, ""},
		{"full mode", policy.Policy{Ask: policy.Ask{Mode: policy.ModeFull}}, ""},
		{"simple mode", policy.Policy{Ask: policy.Ask{Mode: policy.ModeSimple}}, ""},
		{"the smallest Max", policy.Policy{Replace: policy.Replace{Max: 100}}, ""},
		{"an unknown mode", policy.Policy{Ask: policy.Ask{Mode: "thorough"}}, `Policy.Ask.Mode is "thorough"`},
		{"Cut.Share below 0", policy.Policy{Cut: history.Cut{Share: -0.1}}, "Policy.Cut.Share is -0.1"},
		{"Cut.Share above 1", policy.Policy{Cut: history.Cut{Share: 1.1}}, "Policy.Cut.Share is 1.1"},
		{"Cut.Share that is not a number", policy.Policy{Cut: history.Cut{Share: math.NaN()}}, "Policy.Cut.Share is NaN"},
		{"Replace.Share below 0", policy.Policy{Replace: policy.Replace{Share: -0.1}}, "Policy.Replace.Share is -0.1"},
		{"Replace.Share above 1", policy.Policy{Replace: policy.Replace{Share: 20}}, "Policy.Replace.Share is 20"},
		{"Replace.Share that is not a number", policy.Policy{Replace: policy.Replace{Share: math.NaN()}}, "Policy.Replace.Share is NaN"},
		{"Max below 0", policy.Policy{Replace: policy.Replace{Max: -1}}, "Policy.Replace.Max is -1"},
		{"Index below 0", policy.Policy{Replace: policy.Replace{Index: -1}}, "Policy.Replace.Index is -1"},
		{"Max too small for a summary", policy.Policy{Replace: policy.Replace{Max: 99}}, "Policy.Replace.Max is 99"},
		{"Cut.Share as large as the trigger's Ratio", policy.Policy{
			Trigger: policy.Trigger{{Ratio: 0.5}}, Cut: history.Cut{Share: 0.5},
		}, "nothing would ever be compacted"},
		{"Cut.Tokens as large as the trigger's Cap", policy.Policy{
			Trigger: policy.Trigger{{Cap: 1000}}, Cut: history.Cut{Tokens: 1000},
		}, "nothing would ever be compacted"},
		{"Cut.Tokens below the trigger's Cap", policy.Policy{Trigger: policy.Trigger{{Cap: 1000}}, Cut: history.Cut{Tokens: 999}}, ""},
		{"SimpleResult below 0", policy.Policy{Ask: policy.Ask{SimpleResult: -1}}, "Policy.Ask.SimpleResult is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t)
			d.Policy = c.policy
			_, err := d.Render(t.Context(), prompt(d.Session))
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(c.policy.Validate()), "Validate returns the same error")
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want, "even if the prompt fits")
			require.ErrorContains(t, err, "summarize: ")
		})
	}
}

func TestAnIncompleteCompactorIsRefusedByTheNameOfTheField(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*summarize.Compactor)
		want   string
	}{
		{"no session", func(c *summarize.Compactor) { c.Session = nil }, "Compactor.Session is not set"},
		{"no model", func(c *summarize.Compactor) { c.Target.Model = nil }, "Target.Model is not set"},
		{"no tokenizer", func(c *summarize.Compactor) { c.Target.Tokenizer = nil }, "summarize: Target.Tokenizer is not set"},
		{"no budget", func(c *summarize.Compactor) { c.Target.Budget = 0 }, "summarize: Target.Budget is out of range: 0 tokens"},
		{"a budget below 0", func(c *summarize.Compactor) { c.Target.Budget = -1 }, "summarize: Target.Budget is out of range: -1 tokens"},
		{"a context window below 0", func(c *summarize.Compactor) { c.Target.ContextWindow = -1 }, "Target.ContextWindow is -1"},
		{"a price below 0", func(c *summarize.Compactor) { c.Target.Prices.Output = -1 }, "summarize: Target.Prices: sizing: Prices.Rates.Output is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, overflowing()...)
			session := d.Session
			c.change(d.Compactor)
			_, err := d.Render(t.Context(), prompt(session))
			require.ErrorContains(t, err, c.want)
			_, failed := errors.AsType[*summarize.FailedError](err)
			require.False(t, failed)
			require.Empty(t, d.Requests())
		})
	}
	d := newFixture(t)
	d.Target.Tokenizer = nil
	_, err := d.Render(t.Context(), nil)
	require.ErrorIs(t, err, render.ErrNoTokenizer)
	var empty summarize.Compactor
	_, err = empty.Pending(t.Context())
	require.ErrorContains(t, err, "Compactor.Session is not set")
	require.Equal(t, 100, empty.MaxOutput(t.Context(), 100))
}
