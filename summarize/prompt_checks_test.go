package summarize_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

func TestChecksRefuseSummariesThatAreEmptyTooShortOrTooLong(t *testing.T) {
	for _, c := range []struct {
		rule    string
		check   policy.Check
		summary string
		reason  string
	}{
		{"NotEmpty takes any text", prompts.NotEmpty, "x", ""},
		{"NotEmpty refuses an empty text", prompts.NotEmpty, "", "it is empty"},
		{"NotEmpty refuses invisible characters", prompts.NotEmpty, " \n\u200b\ufeff\t", "it is empty"},
		{"AtLeast(30) takes 30 characters", prompts.AtLeast(30), strings.Repeat("ä", 30), ""},
		{"AtLeast(30) refuses 29 characters and a space", prompts.AtLeast(30), strings.Repeat("ä", 29) + " ", "it has 29 characters, fewer than 30"},
		{"AtMost(4) takes 4 tokens", prompts.AtMost(4), strings.Repeat("x", 16), ""},
		{"AtMost(4) refuses 5 tokens", prompts.AtMost(4), strings.Repeat("x", 17), "it takes 5 tokens, more than 4"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			err := c.check(policy.Material{Summary: c.summary, Sizes: policy.Sizes{Tokenizer: quarter{}}})
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			refused, ok := errors.AsType[*policy.SummaryError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, refused.Reason, c.reason)
		})
	}
}
