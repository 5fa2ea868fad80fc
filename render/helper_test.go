package render_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/render"
)

// tokens is a tokenizer that counts texts with a function. A message adds 3 tokens to its content; an image is 5
// tokens, a document 7. A list of tools is their joined texts, plus 2 tokens for each and 4 for the list.
type tokens func(string) int

var (
	runes tokens = utf8.RuneCountInString
	words tokens = func(s string) int { return len(strings.Fields(s)) }
	// pairs merges across seams: two texts joined can take fewer tokens than each by itself.
	pairs tokens = func(s string) int { return (utf8.RuneCountInString(s) + 1) / 2 }
	// es has few tokens for many bytes.
	es tokens = func(s string) int { return strings.Count(s, "e") }
)

func (t tokens) CountText(s string) int { return t(s) }

func (t tokens) CountPart(p chat.Part) int {
	switch p := p.(type) {
	case chat.Text:
		return t(string(p))
	case chat.Image:
		return 5
	case chat.Document:
		return 7
	case chat.Thinking:
		return t(p.Text)
	case chat.Opaque:
		return p.Tokens
	}
	return 0
}

func (t tokens) CountMessage(m chat.Message) int {
	n := 3 + t(m.Name)
	for _, p := range m.Content {
		n += t.CountPart(p)
	}
	for _, c := range m.ToolCalls {
		n += t(c.Name) + t(c.Arguments)
	}
	return n
}

func (t tokens) CountTools(tools []chat.Tool) int {
	if len(tools) == 0 {
		return 0
	}
	var text strings.Builder
	for _, tool := range tools {
		text.WriteString(tool.Name + " " + tool.Description + string(tool.Parameters))
	}
	return 4 + 2*len(tools) + t(text.String())
}

var _ chat.Tokenizer = runes

// summing is a tokenizer whose counts add up wherever a text is cut, so lower bounds are close to the exact count.
type summing struct{ tokens }

func (summing) SafeCut(before, after rune) bool { return true }

func (s summing) CountFrame(m chat.Message) (tokens int, joined bool) {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(p chat.Part) bool { _, text := p.(chat.Text); return text })
	return s.CountMessage(m), true
}

var _ chat.Joiner = summing{runes}

// framing is a tokenizer whose frames count more: 2 for a text, 3 for a breakpoint, and beside an image 1 for a thought
// or a call.
type framing struct{ summing }

func (f framing) CountFrame(m chat.Message) (tokens int, joined bool) {
	image := slices.ContainsFunc(m.Content, func(p chat.Part) bool { _, is := p.(chat.Image); return is })
	tokens, _ = f.summing.CountFrame(m)
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Text:
			tokens += 2
		case chat.CacheBreakpoint:
			tokens += 3
		case chat.Thinking:
			if image {
				tokens++
			}
		}
	}
	if image {
		tokens += len(m.ToolCalls)
	}
	return tokens, !image
}

func (f framing) CountMessage(m chat.Message) int {
	tokens, _ := f.CountFrame(m)
	return tokens + f.CountText(m.Text())
}

// plenty is a budget that no prompt in the tests exceeds.
const plenty = 1_000_000

// at returns a priority.
func at(priority int) elements.Props { return elements.Props{Priority: new(priority)} }

// must returns a priority on a required element.
func must(priority int) elements.Props {
	return elements.Props{Priority: new(priority), Required: true}
}

// passing makes an element pass its priority on.
var passing = elements.Props{PassPriority: true}

// chunk returns a text chunk with a priority.
func chunk(priority int, text string) elements.TextChunk {
	return elements.TextChunk{Props: at(priority), Children: elements.Nodes{elements.Text(text)}}
}

// line returns a text chunk without a priority.
func line(text string) elements.TextChunk {
	return elements.TextChunk{Children: elements.Nodes{elements.Text(text)}}
}

// sentence returns a text that differs for each i.
func sentence(i int) string {
	return fmt.Sprintf("Line %d: the quick brown fox (%x) jumps over %s lazy dogs.", i, i*7919, strings.Repeat("very ", i%4))
}

func user(children ...elements.Node) elements.UserMessage {
	return elements.UserMessage{Children: children}
}

func userAt(priority int, children ...elements.Node) elements.UserMessage {
	return elements.UserMessage{Props: at(priority), Children: children}
}

func wrap(props elements.Props, children ...elements.Node) elements.Wrap {
	return elements.Wrap{Props: props, Children: children}
}

// call returns a tool call linked to a group. All its fields are id.
func call(id string, group *elements.Group) elements.ToolCall {
	return elements.ToolCall{ToolCall: chat.ToolCall{ID: id, Name: id, Arguments: id}, KeepWith: group}
}

// result returns the message that answers a call.
func result(id, text string) elements.ToolMessage {
	return elements.ToolMessage{ToolCallID: id, Children: elements.Nodes{elements.Text(text)}}
}

// own is an element of the caller's own type.
type own struct {
	elements.Props
	render func(context.Context, elements.Sizing) (elements.Node, error)
}

func (o own) Render(ctx context.Context, s elements.Sizing) (elements.Node, error) {
	return o.render(ctx, s)
}

// orEmpty returns a result, also that of a [render.EmptyPromptError], for tests of budgets at which no message is left.
func orEmpty(r *render.Result, err error) (*render.Result, error) {
	if empty, ok := errors.AsType[*render.EmptyPromptError](err); ok {
		return empty.Result, nil
	}
	return r, err
}

// rendered renders with the runes tokenizer.
func rendered(t *testing.T, root elements.Node, budget int) *render.Result {
	t.Helper()
	return renderedWith(t, root, render.Options{Budget: budget, Tokenizer: runes})
}

func renderedWith(t *testing.T, root elements.Node, opts render.Options) *render.Result {
	t.Helper()
	r, err := render.Render(t.Context(), root, opts)
	require.NoError(t, err)
	return r
}

// fitted returns what a layout fits into a budget.
func fitted(t *testing.T, layout *render.Layout, budget int) *render.Result {
	t.Helper()
	r, err := layout.Fit(t.Context(), budget)
	require.NoError(t, err)
	return r
}

// failed renders with the runes tokenizer, and returns the error, which must be of type E.
func failed[E error](t *testing.T, root elements.Node, budget int) E {
	t.Helper()
	return failedWith[E](t, root, render.Options{Budget: budget, Tokenizer: runes})
}

func failedWith[E error](t *testing.T, root elements.Node, opts render.Options) E {
	t.Helper()
	r, err := render.Render(t.Context(), root, opts)
	require.Error(t, err)
	require.Nil(t, r)
	return errtest.As[E](t, err)
}

// texts returns the text of each message.
func texts(messages []chat.Message) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = m.Text()
	}
	return list
}

// marks returns the letters in messages: of texts, of tool call ids, of images and opaque values.
func marks(messages []chat.Message) []string {
	var b strings.Builder
	for _, m := range messages {
		for _, p := range m.Content {
			switch p := p.(type) {
			case chat.Text:
				b.WriteString(string(p))
			case chat.Image:
				b.WriteString(p.URL)
			case chat.Opaque:
				b.Write(p.Value)
			}
		}
		for _, c := range m.ToolCalls {
			b.WriteString(c.ID)
		}
	}
	var list []string
	for _, r := range b.String() {
		if 'a' <= r && r <= 'z' {
			list = append(list, string(r))
		}
	}
	return list
}

// prunes returns the order in which a prompt is pruned as its budget shrinks: the letters that each step removes, in
// document order, as "a; bc; d". A step that removes no letter is "-". "stuck" means that nothing more may be removed.
func prunes(t *testing.T, root elements.Node) string {
	t.Helper()
	return prunesWith(t, root, render.Options{})
}

func prunesWith(t *testing.T, root elements.Node, o render.Options) string {
	t.Helper()
	o.Tokenizer = runes
	return prunedBy(t, func(budget int) (*render.Result, error) {
		o.Budget = budget
		return orEmpty(render.Render(t.Context(), root, o))
	})
}

// prunedBy is prunes for what renders within a budget.
func prunedBy(t *testing.T, fit func(budget int) (*render.Result, error)) string {
	t.Helper()
	last, err := fit(plenty)
	require.NoError(t, err)
	var steps []string
	for last.Tokens > 1 {
		next, err := fit(last.Tokens - 1)
		if err != nil {
			errtest.As[*render.BudgetExceededError](t, err)
			return strings.Join(append(steps, "stuck"), "; ")
		}
		left := marks(next.Messages)
		step := strings.Join(slices.DeleteFunc(marks(last.Messages), func(m string) bool { return slices.Contains(left, m) }), "")
		if step == "" {
			step = "-"
		}
		steps = append(steps, step)
		last = next
	}
	return strings.Join(steps, "; ")
}
