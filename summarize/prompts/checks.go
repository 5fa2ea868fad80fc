package prompts

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize/policy"
)

// NotEmpty is a [policy.Check] that refuses a summary without visible text.
func NotEmpty(m policy.Material) error {
	if strings.TrimFunc(m.Summary, plaintext.Invisible) == "" {
		return &policy.SummaryError{Reason: "it is empty"}
	}
	return nil
}

// AtLeast returns a [policy.Check] that refuses a summary of fewer characters (code points), without white space at its ends.
func AtLeast(characters int) policy.Check {
	return func(m policy.Material) error {
		if n := utf8.RuneCountInString(strings.TrimFunc(m.Summary, plaintext.Invisible)); n < characters {
			return &policy.SummaryError{Reason: fmt.Sprintf("it has %d characters, fewer than %d", n, characters)}
		}
		return nil
	}
}

// AtMost returns a [policy.Check] that refuses a summary whose words take more than the given tokens. The replacement must fit
// its room in any case.
func AtMost(tokens int) policy.Check {
	return func(m policy.Material) error {
		if n := m.Tokenizer.CountText(m.Summary); n > tokens {
			return &policy.SummaryError{Reason: fmt.Sprintf("it takes %d tokens, more than %d", n, tokens)}
		}
		return nil
	}
}
