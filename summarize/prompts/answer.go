package prompts

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize/internal/summaryblock"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ReadAll returns the whole text of an answer as the summary, without white space around it.
func ReadAll(r chat.Response) (string, error) {
	if err := checkStop(r); err != nil {
		return "", err
	}
	return Tidy(r.Message.Text())
}

// ReadSummaryBlock returns the text of the <summary> block of an answer, after its <analysis> block. A block that is
// not closed ends with the answer. If there is no <summary> block, the summary is the whole answer without its
// <analysis> block, and must have 30 characters or more.
//
// Tags count only if the model means them as tags: it may mention either in the analysis and in the summary, and the
// summary may hold HTML of the same name.
func ReadSummaryBlock(r chat.Response) (string, error) {
	if err := checkStop(r); err != nil {
		return "", err
	}
	text, inBlock := summaryblock.Find(r.Message.Text())
	text, err := Tidy(text)
	if n := utf8.RuneCountInString(text); err == nil && !inBlock && n < minUntagged {
		return "", &policy.SummaryError{Reason: fmt.Sprintf("it has no <summary> block, and %d characters", n)}
	}
	return text, err
}

// minUntagged is the fewest characters (code points) of an answer without a <summary> block that make a summary.
const minUntagged = 30

// checkStop returns an error for an answer that ended early.
func checkStop(r chat.Response) error {
	switch r.StopReason {
	case chat.StopMaxTokens:
		return &policy.SummaryError{Reason: "it was cut off at the output limit"}
	case chat.StopFiltered:
		return &policy.SummaryError{Reason: "the provider filtered it"}
	}
	return nil
}

// Tidy returns a summary as valid UTF-8 without invisible characters around it, and an error if nothing is left.
func Tidy(text string) (string, error) {
	text = strings.TrimFunc(strings.ToValidUTF8(text, "\uFFFD"), plaintext.Invisible)
	if text == "" {
		return "", &policy.SummaryError{Reason: "it is empty"}
	}
	return text, nil
}

// ConversationSummary returns one user message: the summary between tags, and a breadcrumb that says where the full
// transcript is stored.
func ConversationSummary(m policy.Material) elements.Node {
	var b strings.Builder
	b.WriteString(plaintext.SummaryOpen + "\n" + plaintext.Untagged(m.Summary) + "\n")
	if crumb := breadcrumbText(m.Breadcrumb); crumb != "" {
		b.WriteString("\n" + crumb + "\n")
	}
	b.WriteString(plaintext.SummaryClose)
	if m.Reminder != "" {
		b.WriteString("\n" + m.Reminder)
	}
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(b.String())}}
}
