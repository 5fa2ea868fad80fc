package summarize

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

// The tags around what stands for a history.
const (
	summaryOpen    = "<conversation-summary>"
	summaryClose   = "</conversation-summary>"
	transcriptOpen = "<transcript "
)

// SummaryError tells why an answer was refused as a summary.
type SummaryError struct{ Reason string }

func (e *SummaryError) Error() string { return "the answer was refused: " + e.Reason }

// parseAnswer takes the summary out of an answer.
func parseAnswer(r chat.Response) (string, error) {
	switch r.StopReason {
	case chat.StopMaxTokens:
		return "", &SummaryError{Reason: "it was cut off at the output limit"}
	case chat.StopFiltered:
		return "", &SummaryError{Reason: "the provider filtered it"}
	}
	text := r.Message.Text()
	// The analysis may mention the tag; the summary comes after it.
	if _, after, ok := strings.Cut(text, "</analysis>"); ok {
		text = after
	}
	_, body, ok := strings.Cut(text, "<summary>")
	if !ok {
		return "", &SummaryError{Reason: "it has no <summary> block"}
	}
	end := strings.LastIndex(body, "</summary>")
	if end < 0 {
		return "", &SummaryError{Reason: "its <summary> block has no end"}
	}
	body = strings.TrimFunc(strings.ToValidUTF8(body[:end], "\uFFFD"), invisible)
	if body == "" {
		return "", &SummaryError{Reason: "it is empty"}
	}
	for _, tag := range [...]string{summaryOpen, summaryClose, transcriptOpen, "<summary>"} {
		if strings.Contains(body, tag) {
			return "", &SummaryError{Reason: "it holds " + tag + ", one of the tags that are put around it"}
		}
	}
	return body, nil
}

// invisible tells what shows nothing.
func invisible(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' }

// wrap makes the user message that stands for what was summarised. It is written once and replayed byte for byte.
func wrap(summary, crumb string) chat.Message {
	var b strings.Builder
	b.WriteString(summaryOpen + "\n" + summary + "\n")
	if crumb != "" {
		b.WriteString("\n" + crumb + "\n")
	}
	b.WriteString(summaryClose)
	return chat.UserMessage(b.String())
}

func (j job) standIn(summary string) chat.Message { return wrap(summary, j.crumb) }

// checkSize refuses what does not fit or does not help.
func (j job) checkSize(t sizing.Tokenizer, stand chat.Message) error {
	tokens := t.CountMessage(stand)
	if tokens > j.room {
		return &SummaryError{Reason: fmt.Sprintf("it takes %d tokens and has room for %d", tokens, j.room)}
	}
	replaced := 0
	for _, m := range j.previous {
		replaced += t.CountMessage(m)
	}
	for _, u := range j.covered {
		if !u.current {
			replaced += u.tokens
		}
	}
	if tokens >= replaced {
		return &SummaryError{Reason: fmt.Sprintf("it takes %d tokens and replaces %d", tokens, replaced)}
	}
	return nil
}

// breadcrumb tells where the full transcript lies; "" where there is none.
func breadcrumb(p Policy, s *history.Session) string {
	path := s.Path()
	if path == "" || p.NoBreadcrumb {
		return ""
	}
	lines := s.Lines()
	return fmt.Sprintf(`%spath=%q lines="%d">
The summary leaves things out. Where you need something from before it word for word (code, error messages, tool
results, what you wrote yourself), look it up in the full transcript with the tool %s, for example:
%s({"path": %q, "offset": %d, "limit": 20})
</transcript>`, transcriptOpen, path, lines, p.ReadTool, p.ReadTool, path, max(1, lines-20))
}

// withoutWrapper gives the summary in a message that stands for a history, if it is one.
func withoutWrapper(text string) (string, bool) {
	body, ok := strings.CutPrefix(text, summaryOpen+"\n")
	if !ok {
		return "", false
	}
	body = strings.TrimSuffix(body, summaryClose)
	if i := strings.LastIndex(body, "\n"+transcriptOpen); i >= 0 {
		body = body[:i]
	}
	return strings.TrimSpace(body), true
}

var errScriptOver = errors.New("summarize: the script is over")
