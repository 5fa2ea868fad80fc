package summarize

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plaintext"
)

// NotEmpty refuses a summary that shows nothing. It is a [Check].
func NotEmpty(m Material) error {
	if strings.TrimFunc(m.Summary, plaintext.Invisible) == "" {
		return &SummaryError{Reason: "it is empty"}
	}
	return nil
}

// AtLeast refuses a summary of fewer characters (code points), white space at its ends not counted.
func AtLeast(characters int) Check {
	return func(m Material) error {
		if n := utf8.RuneCountInString(strings.TrimFunc(m.Summary, plaintext.Invisible)); n < characters {
			return &SummaryError{Reason: fmt.Sprintf("it has %d characters; %d are the least", n, characters)}
		}
		return nil
	}
}

// AtMost refuses a summary whose words take more tokens. What is put in place must fit its room in any case.
func AtMost(tokens int) Check {
	return func(m Material) error {
		if n := m.Tokenizer.CountText(m.Summary); n > tokens {
			return &SummaryError{Reason: fmt.Sprintf("it takes %d tokens; %d are the most", n, tokens)}
		}
		return nil
	}
}
