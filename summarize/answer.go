package summarize

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/summaryblock"
)

// ReadAll returns the whole text of an answer as the summary, without white space around it.
func ReadAll(r chat.Response) (string, error) {
	if err := whole(r); err != nil {
		return "", err
	}
	return tidy(r.Message.Text())
}

// ReadSummaryBlock returns what stands in the <summary> block of an answer, after its <analysis> block. A block that is not
// closed goes on to the end of the answer. An answer without such a block is the summary, but for its <analysis> block, if
// that is 30 characters or more.
//
// The tags count where a model means them: either may be spoken of in the analysis and in the summary, and the summary may
// hold HTML of the same name.
func ReadSummaryBlock(r chat.Response) (string, error) {
	if err := whole(r); err != nil {
		return "", err
	}
	text, inBlock := summaryblock.Find(r.Message.Text())
	text, err := tidy(text)
	if n := utf8.RuneCountInString(text); err == nil && !inBlock && n < minUntagged {
		return "", &SummaryError{Reason: fmt.Sprintf("it has no <summary> block, and %d characters", n)}
	}
	return text, err
}

// minUntagged is how many characters (code points) make a summary of an answer that has no <summary> block.
const minUntagged = 30

// whole refuses an answer that ended early.
func whole(r chat.Response) error {
	switch r.StopReason {
	case chat.StopMaxTokens:
		return &SummaryError{Reason: "it was cut off at the output limit"}
	case chat.StopFiltered:
		return &SummaryError{Reason: "the provider filtered it"}
	}
	return nil
}

// tidy returns a summary as valid text, and refuses one that says nothing.
func tidy(text string) (string, error) {
	text = strings.TrimFunc(strings.ToValidUTF8(text, "\uFFFD"), plaintext.Invisible)
	if text == "" {
		return "", &SummaryError{Reason: "it is empty"}
	}
	return text, nil
}

// ConversationSummary puts one user message in place: the summary between tags, and a breadcrumb that says where the full
// transcript lies.
func ConversationSummary(m Material) elements.Node {
	var b strings.Builder
	b.WriteString(plaintext.SummaryOpen + "\n" + plaintext.Untagged(m.Summary) + "\n")
	if crumb := m.Breadcrumb.breadcrumb(); crumb != "" {
		b.WriteString("\n" + crumb + "\n")
	}
	b.WriteString(plaintext.SummaryClose)
	if m.Reminder != "" {
		b.WriteString("\n" + m.Reminder)
	}
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(b.String())}}
}
