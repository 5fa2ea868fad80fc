package summarize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// The tags around what stands for a history.
const (
	summaryOpen    = "<conversation-summary>"
	summaryClose   = "</conversation-summary>"
	transcriptOpen = "<transcript "
)

// SummaryError tells why an answer was refused as a summary.
type SummaryError struct {
	// Reason in words.
	Reason string
	// Tagged is the summary, where the reason is that it holds tags of ours. Where every answer does, for the work is about
	// these very tags, they are made harmless in it.
	Tagged string
}

func (e *SummaryError) Error() string { return "the answer was refused: " + e.Reason }

// ReadAll takes the whole text of an answer as the summary, without white space around it.
func ReadAll(r chat.Response) (string, error) {
	if err := whole(r); err != nil {
		return "", err
	}
	return tidy(r.Message.Text())
}

// ReadSummaryBlock takes what stands in the <summary> block of an answer, after its <analysis> block.
func ReadSummaryBlock(r chat.Response) (string, error) {
	if err := whole(r); err != nil {
		return "", err
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
	body, err := tidy(body[:end])
	if err != nil {
		return "", err
	}
	return body, noTags(body, summaryOpen, summaryClose, transcriptOpen, "<summary>")
}

// noTags refuses a text that holds one of these.
func noTags(text string, tags ...string) error {
	for _, tag := range tags {
		if strings.Contains(text, tag) {
			return &SummaryError{Reason: "it holds " + tag + ", one of the tags that are put around it", Tagged: text}
		}
	}
	return nil
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

// tidy makes valid text of a summary, and refuses one that says nothing.
func tidy(text string) (string, error) {
	text = strings.TrimFunc(strings.ToValidUTF8(text, "\uFFFD"), invisible)
	if text == "" {
		return "", &SummaryError{Reason: "it is empty"}
	}
	return text, nil
}

// invisible tells what shows nothing.
func invisible(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' }

// ConversationSummary puts one user message in place: the summary between tags, and a breadcrumb that tells where the full
// transcript lies. It is that of Copilot Chat.
func ConversationSummary(m Material) elements.Node {
	var b strings.Builder
	b.WriteString(summaryOpen + "\n" + untaggedText(m.Summary) + "\n")
	if crumb := m.Transcript.breadcrumb(); crumb != "" {
		b.WriteString("\n" + crumb + "\n")
	}
	b.WriteString(summaryClose)
	if m.Reminder != "" {
		b.WriteString("\n" + m.Reminder)
	}
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(b.String())}}
}

// stand renders what is put in place, so that it fits its room and is smaller than the number of tokens that it replaces:
// what may be left out of it must not fill the room. It is written once and replayed byte for byte.
func (c *Compactor) stand(ctx context.Context, p Policy, m Material, replaced int) ([]chat.Message, error) {
	room, why := m.Room, fmt.Sprintf("has room for %d", m.Room)
	if replaced <= room {
		room, why = max(1, replaced-1), fmt.Sprintf("replaces %d", replaced)
	}
	m.Room = room
	result, err := render.Render(ctx, p.Replacement(m), render.Options{Budget: room, Window: c.Budget, Tokenizer: c.Tokenizer})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return nil, &SummaryError{Reason: fmt.Sprintf("it takes %d tokens and %s", over.Needed, why)}
	}
	if err != nil {
		return nil, fmt.Errorf("rendering what is put in place: %w", err)
	}
	return result.Messages, nil
}

// frame is what is put in place takes at least without the summary's words, in tokens.
func (c *Compactor) frame(ctx context.Context, p Policy, m Material) (int, error) {
	result, err := render.Render(ctx, p.Replacement(m), render.Options{Budget: 1, Window: c.Budget, Tokenizer: c.Tokenizer})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return over.Needed, nil
	}
	if err != nil {
		return 0, fmt.Errorf("rendering what is put in place: %w", err)
	}
	return result.Tokens, nil
}

// replaced is how many tokens what is put in place stands for.
func (j *job) replaced(t sizing.Tokenizer) int {
	tokens := 0
	for _, m := range j.material.Previous {
		tokens += t.CountMessage(m)
	}
	for _, u := range j.covered {
		if !u.current {
			tokens += u.tokens
		}
	}
	for _, th := range j.thinking { // which is shown on
		tokens -= t.CountPart(th)
	}
	return tokens
}

// breadcrumb tells where the full transcript lies; "" where there is none.
func (t Transcript) breadcrumb() string {
	if t.Path == "" {
		return ""
	}
	return fmt.Sprintf(`%spath=%q lines="%d">
The summary leaves things out. Where you need something from before it word for word (code, error messages, tool
results, what you wrote yourself), look it up in the full transcript with the tool %s, for example:
%s({"path": %q, "offset": %d, "limit": 20})
</transcript>`, transcriptOpen, t.Path, t.Lines, t.Tool, t.Tool, t.Path, max(1, t.Lines-20))
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
