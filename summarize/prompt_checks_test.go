package summarize_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize"
)

func TestChecksRefuseSummariesThatAreEmptyTooShortOrTooLong(t *testing.T) {
	for _, c := range []struct {
		rule    string
		check   summarize.Check
		summary string
		reason  string
	}{
		{"NotEmpty takes any text", summarize.NotEmpty, "x", ""},
		{"NotEmpty refuses an empty text", summarize.NotEmpty, "", "it is empty"},
		{"NotEmpty refuses invisible characters", summarize.NotEmpty, " \n\u200b\ufeff\t", "it is empty"},
		{"AtLeast(30) takes 30 characters", summarize.AtLeast(30), strings.Repeat("ä", 30), ""},
		{"AtLeast(30) refuses 29 characters and a space", summarize.AtLeast(30), strings.Repeat("ä", 29) + " ", "it has 29 characters, fewer than 30"},
		{"AtMost(4) takes 4 tokens", summarize.AtMost(4), strings.Repeat("x", 16), ""},
		{"AtMost(4) refuses 5 tokens", summarize.AtMost(4), strings.Repeat("x", 17), "it takes 5 tokens, more than 4"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			err := c.check(summarize.Material{Summary: c.summary, Tokenizer: quarter{}})
			if c.reason == "" {
				require.NoError(t, err)
				return
			}
			refused, ok := errors.AsType[*summarize.SummaryError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, refused.Reason, c.reason)
		})
	}
}
