package gemini

import (
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/contents"
)

// answer streams the pieces of an answer and assembles them. Consecutive texts are joined, as in an answer that is not
// streamed, unless one is signed, because a signed part must not be merged with another.
type answer struct {
	stream  func(chat.Delta)
	sending bool   // stream is being called
	key     string // the key of arguments as written (raw.go)
	ids     chat.CallIDs
	calls   int

	whole     genai.GenerateContentResponse // the fields so far, without the candidate
	candidate genai.Candidate
	parts     []*genai.Part
	text      strings.Builder // the last part's text, if it may continue
}

// add adds a piece of the answer and streams its texts, thoughts and calls.
func (a *answer) add(piece *genai.GenerateContentResponse) {
	if u := piece.UsageMetadata; u != nil && (u.PromptTokenCount > 0 || a.whole.UsageMetadata == nil) { // zeros erase nothing
		a.whole.UsageMetadata = piece.UsageMetadata
	}
	if piece.PromptFeedback != nil {
		a.whole.PromptFeedback = piece.PromptFeedback
	}
	if len(piece.Candidates) == 0 || piece.Candidates[0] == nil {
		return
	}
	c := piece.Candidates[0]
	if c.FinishReason != "" {
		a.candidate.FinishReason, a.candidate.FinishMessage = c.FinishReason, c.FinishMessage
	}
	if c.Content == nil {
		return
	}
	for _, p := range c.Content.Parts {
		if p == nil {
			continue
		}
		a.part(p)
		switch {
		case p.FunctionCall != nil:
			a.call(p)
		case p.Text == "":
		case p.Thought:
			a.send(chat.Thinking{Text: p.Text})
		default:
			a.send(chat.Text(p.Text))
		}
	}
}

// call streams a call, which comes whole, with the id that it has in the response. A call that cannot be converted is
// not streamed: the answer ends with its error.
func (a *answer) call(p *genai.Part) {
	d := contents.Decoder{Model: true, Lenient: true, Key: a.key}
	if err := decode(&d, []*genai.Part{p}); err != nil || len(d.ToolCalls) == 0 {
		return
	}
	call := d.ToolCalls[0]
	call.ID = a.ids.Next(p.FunctionCall.ID)
	p.FunctionCall.ID = call.ID
	a.send(chat.CallDelta{Index: a.calls, ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	a.calls++
}

func (a *answer) send(d chat.Delta) {
	a.sending = true
	a.stream(d)
	a.sending = false
}

// part adds a part, or appends to the last text.
func (a *answer) part(p *genai.Part) {
	continues := isPlainText(p) && a.text.Len() > 0 && a.parts[len(a.parts)-1].Thought == p.Thought
	if !continues {
		a.endText()
		part := *p
		a.parts = append(a.parts, &part)
	}
	if isPlainText(p) {
		a.text.WriteString(p.Text)
	}
}

// endText sets the complete text of the last part.
func (a *answer) endText() {
	if a.text.Len() > 0 {
		a.parts[len(a.parts)-1].Text = a.text.String()
		a.text.Reset()
	}
}

// isPlainText reports whether a part is text, or a thought's text, and nothing else.
func isPlainText(p *genai.Part) bool {
	return p.Text != "" && reflect.DeepEqual(*p, genai.Part{Text: p.Text, Thought: p.Thought})
}

// finished reports whether the answer has ended, or the prompt was blocked.
func (a *answer) finished() bool {
	return a.candidate.FinishReason != "" || a.whole.PromptFeedback != nil && a.whole.PromptFeedback.BlockReason != ""
}

// response returns the answer as it would have come in one piece.
func (a *answer) response() *genai.GenerateContentResponse {
	a.endText()
	if a.candidate.FinishReason != "" || len(a.parts) > 0 {
		a.candidate.Content = &genai.Content{Role: genai.RoleModel, Parts: a.parts}
		a.whole.Candidates = []*genai.Candidate{&a.candidate}
	}
	return &a.whole
}

// partial returns the part of the answer that had arrived before it broke off.
func (a *answer) partial() chat.Response {
	a.endText()
	parts := slices.DeleteFunc(slices.Clone(a.parts), func(p *genai.Part) bool {
		return p.FunctionCall != nil && !isWhole(p.FunctionCall)
	})
	if n := len(parts); n > 0 && parts[n-1].Thought && !a.finished() {
		parts = parts[:n-1] // it may go on
	}
	m, err := fromContent(&genai.Content{Parts: parts}, a.key)
	if err != nil {
		m = chat.Message{} // a part cannot be stored
	}
	return provider.Partial(m, usage(a.whole.UsageMetadata))
}
