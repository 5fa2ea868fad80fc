package summarize

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plaintext"
)

// NotEmpty is a [Check] that refuses a summary without visible text.
func NotEmpty(m Material) error {
	if strings.TrimFunc(m.Summary, plaintext.Invisible) == "" {
		return &SummaryError{Reason: "it is empty"}
	}
	return nil
}

// AtLeast returns a [Check] that refuses a summary of fewer characters (code points), without white space at its ends.
func AtLeast(characters int) Check {
	return func(m Material) error {
		if n := utf8.RuneCountInString(strings.TrimFunc(m.Summary, plaintext.Invisible)); n < characters {
			return &SummaryError{Reason: fmt.Sprintf("it has %d characters, fewer than %d", n, characters)}
		}
		return nil
	}
}

// AtMost returns a [Check] that refuses a summary whose words take more than the given tokens. The replacement must fit
// its room in any case.
func AtMost(tokens int) Check {
	return func(m Material) error {
		if n := m.Tokenizer.CountText(m.Summary); n > tokens {
			return &SummaryError{Reason: fmt.Sprintf("it takes %d tokens, more than %d", n, tokens)}
		}
		return nil
	}
}
