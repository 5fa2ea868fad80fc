package summarize

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
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
	text, inBlock := summaryIn(r.Message.Text())
	text, err := tidy(text)
	if n := utf8.RuneCountInString(text); err == nil && !inBlock && n < minUntagged {
		return "", &SummaryError{Reason: fmt.Sprintf("it has no <summary> block, and %d characters", n)}
	}
	return text, err
}

// minUntagged is how many characters (code points) make a summary of an answer that has no <summary> block.
const minUntagged = 30

const (
	analysisOpen, analysisClose = "<analysis>", "</analysis>"
	blockOpen, blockClose       = "<summary>", "</summary>"
)

var (
	// analysisToSummary is where an analysis ends and the summary begins.
	analysisToSummary = regexp.MustCompile(`</analysis>\s*<summary>`)
	// lineOpen and lineClose are tags that begin, and end, a line.
	lineOpen  = regexp.MustCompile(`(?m)^[ \t]*<summary>`)
	lineClose = regexp.MustCompile(`(?m)^[ \t]*</summary>[ \t]*\r?$`)
)

// summaryIn returns the summary in the text of an answer, and reports whether it stands in a block.
func summaryIn(text string) (summary string, inBlock bool) {
	first := strings.Index(text, blockOpen)
	analysis := strings.Index(text, analysisClose)
	begins := strings.HasPrefix(strings.TrimSpace(text), analysisOpen)
	switch {
	case begins && analysisToSummary.MatchString(text):
		return bodyOf(text[analysisToSummary.FindStringIndex(text)[0]+len(analysisClose):])
	case begins && analysis < 0:
		if first < 0 {
			return "", false // nothing but an analysis
		}
	case analysis >= 0 && (begins || analysis < first):
		after := text[analysis+len(analysisClose):]
		if first < 0 && strings.TrimFunc(after, plaintext.Invisible) == "" {
			return "", false
		}
		if strings.Contains(after, blockOpen) || strings.TrimFunc(after, plaintext.Invisible) != "" && !strings.Contains(after, blockClose) {
			return bodyOf(after)
		}
	}
	return bodyOf(text)
}

// bodyOf returns what stands in the block of a text, or the text if it has none.
func bodyOf(text string) (body string, inBlock bool) {
	body, inBlock = text, true
	if at := lineOpen.FindStringIndex(text); at != nil {
		body = text[at[1]:]
	} else if _, after, ok := strings.Cut(text, blockOpen); ok {
		body = after
	} else {
		inBlock = false
	}
	end := -1
	if all := lineClose.FindAllStringIndex(body, -1); len(all) > 0 {
		end = all[len(all)-1][0]
	} else if last := strings.LastIndex(body, blockClose); last >= 0 &&
		(strings.TrimFunc(body[last+len(blockClose):], plaintext.Invisible) == "" || strings.Count(body, blockClose) > strings.Count(body, blockOpen)) {
		end = last // else it is one of HTML in a block that is not closed
	}
	if end >= 0 {
		body = body[:end]
	}
	body = strings.TrimFunc(body, plaintext.Invisible)
	if inner, ok := strings.CutPrefix(body, blockOpen+"\n"); ok { // a block in the block
		body = strings.TrimSuffix(inner, "\n"+blockClose)
	}
	return body, inBlock
}

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
// transcript lies. It is that of Copilot Chat.
func ConversationSummary(m Material) elements.Node {
	var b strings.Builder
	b.WriteString(plaintext.SummaryOpen + "\n" + plaintext.Untagged(m.Summary) + "\n")
	if crumb := m.Transcript.breadcrumb(); crumb != "" {
		b.WriteString("\n" + crumb + "\n")
	}
	b.WriteString(plaintext.SummaryClose)
	if m.Reminder != "" {
		b.WriteString("\n" + m.Reminder)
	}
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(b.String())}}
}
