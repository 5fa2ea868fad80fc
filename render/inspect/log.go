package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// Steps collects the steps of a session. It stores anything that steps have in common once. The zero value is empty and
// ready to use. It is safe for concurrent use.
type Steps struct {
	mu sync.Mutex

	texts    table[string]
	nodes    table[node]
	messages table[message]
	prompts  []prompt
	steps    []step

	sent  []int                // messages of the last prompt
	large map[string]largeNode // by name, the last node with many children
}

// Add adds a step.
func (l *Steps) Add(ctx context.Context, s Step) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Name = cmp.Or(s.Name, fmt.Sprint("step ", len(l.steps)+1))
	n, err := l.prompt(ctx, s.Rendered)
	if err != nil {
		return err
	}
	to := step{
		Prompt: n, Did: l.text(s.Did), Dollars: s.Dollars, Explain: s.Explain, Cleared: s.Cleared, ClearedWhy: s.ClearedWhy, Break: s.Break,
		Lost: s.Lost, LookBack: s.LookBack,
	}
	if !s.At.IsZero() {
		to.At = s.At.UnixMilli()
	}
	if s.Usage != (chat.Usage{}) {
		to.Usage = &s.Usage
	}
	for _, note := range s.Notes {
		to.Notes = append(to.Notes, l.text(note))
	}
	for _, c := range s.Compactions {
		to.Compactions = append(to.Compactions, compaction{c, l.counted(c.Shown, s.Tokenizer), l.counted(c.Covered, s.Tokenizer)})
	}
	l.steps = append(l.steps, to)
	return nil
}

// counted adds messages, with their counts if there is a tokenizer.
func (l *Steps) counted(messages []chat.Message, t chat.Tokenizer) []int {
	indexes := make([]int, len(messages))
	for i, m := range messages {
		tokens := 0
		if t != nil {
			tokens = t.CountMessage(m)
		}
		indexes[i] = l.message(m, tokens)
	}
	return indexes
}

// text returns the index of a text plus one, 0 for none.
func (l *Steps) text(s string) int {
	if s == "" {
		return 0
	}
	return l.texts.add(s, s) + 1
}

// encoded adds a value by its JSON.
func encoded[T any](t *table[T], value T) int {
	key, err := json.Marshal(value)
	if err != nil {
		panic(err) // nodes and messages always encode
	}
	return t.add(string(key), value)
}

// prompt adds a rendered prompt.
func (l *Steps) prompt(ctx context.Context, r Rendered) (int, error) {
	if r.Result == nil {
		return 0, errNoResult
	}
	outline := r.Result.Outline()
	if outline == nil {
		outline = outlineOf(r)
	}
	to := prompt{Name: r.Name, Model: r.Model, Budget: r.Result.Budget, NoBudget: r.NoBudget, Tokens: r.Result.Tokens}
	if r.NoBudget {
		to.Budget = max(1, to.Tokens)
	}
	to.Name = cmp.Or(to.Name, fmt.Sprint("prompt ", len(l.prompts)+1))
	survey, err := r.Result.Survey(ctx)
	switch {
	case err == nil:
		to.From, to.Below, to.Least = survey.From, survey.Below, survey.Least
	case errors.Is(err, render.ErrNoSurvey):
		to.Unknown = strings.TrimPrefix(err.Error(), render.ErrNoSurvey.Error()+": ")
	default:
		return 0, fmt.Errorf("inspect: %w", err)
	}
	walk := &walk{pieces: survey.Report.Pieces, least: to.Least}
	to.Root = l.node(outline, walk)
	if to.Counted = len(walk.counts) == len(r.Result.Messages); !to.Counted { // the caller changed the messages since
		walk.counts = make([]int, len(r.Result.Messages))
	}
	sent := make([]int, len(r.Result.Messages))
	for i, m := range r.Result.Messages {
		sent[i] = l.message(m, walk.counts[i])
	}
	to.Same = inCommon(l.sent, sent)
	to.Messages, l.sent = sent[to.Same:], sent
	to.ToolTokens = r.Apart
	if r.Tokenizer != nil {
		to.ToolTokens += r.Tokenizer.CountTools(r.Tools)
	}
	for _, t := range r.Tools {
		p := &piece{Piece: render.Piece{Kind: "tool", Required: true}}
		if r.Tokenizer != nil {
			p.Tokens = r.Tokenizer.CountTools([]chat.Tool{t})
		}
		to.Tools = append(to.Tools, encoded(&l.nodes, node{Name: t.Name, Text: l.text(t.Description), Piece: p}))
	}
	where := r.Breakdown
	if where == (render.Breakdown{}) {
		if where = r.Result.Breakdown(); where != (render.Breakdown{}) {
			where.Tools += to.ToolTokens
		}
	}
	if where != (render.Breakdown{}) {
		to.Breakdown = &where
	}
	if rates := r.Prices.At(to.Tokens + to.ToolTokens); rates != (sizing.Rates{}) {
		to.Rates = &rates
	}
	l.prompts = append(l.prompts, to)
	return len(l.prompts) - 1, nil
}

// outlineOf returns the outline of messages that were not rendered, for example those of a compactor's last resort.
func outlineOf(r Rendered) *render.Outline {
	root := &render.Outline{Name: "Root"}
	for _, m := range r.Result.Messages {
		of := &render.Outline{Name: string(m.Role), Role: m.Role}
		piece := func(name, text string, kind render.PieceKind, count func() int) {
			p := &render.Piece{Kind: kind}
			if r.Tokenizer != nil {
				p.Tokens = count()
			}
			of.Children = append(of.Children, &render.Outline{Name: name, Text: text, Piece: p})
		}
		for _, c := range m.Content {
			if text, ok := c.(chat.Text); ok {
				piece("", string(text), "text", func() int { return r.Tokenizer.CountPart(c) })
			}
		}
		for _, c := range m.ToolCalls {
			piece(c.Name, c.Arguments, "toolCall", func() int { return r.Tokenizer.CountText(c.Name + c.Arguments) })
		}
		if r.Tokenizer != nil {
			of.Counted = r.Tokenizer.CountMessage(m)
		}
		root.Children = append(root.Children, of)
	}
	return root
}

// walk is the state of a walk over an outline.
type walk struct {
	pieces []render.Piece // of the survey, from the next piece on
	least  int            // of the survey
	counts []int          // of the messages so far
}

// node adds an element with everything in it.
func (l *Steps) node(o *render.Outline, w *walk) int {
	to := node{Name: o.Name, Tag: l.text(o.Tag), Role: o.Role, Priority: o.Priority, Text: l.text(o.Text)}
	if o.Role != "" && o.Counted > 0 {
		w.counts = append(w.counts, o.Counted)
	}
	if o.Piece != nil {
		p := *o.Piece
		if len(w.pieces) > 0 { // the same piece, with the budgets of the survey
			p, w.pieces = w.pieces[0], w.pieces[1:]
		}
		if p.Dropped == render.Kept && p.KeptFrom == w.least {
			p.KeptFrom = 0
		}
		to.Piece = &piece{Piece: p, By: p.DecidedBy}
		to.Piece.Piece.Path, to.Piece.Name, to.Piece.Category, to.Piece.DecidedBy = "", "", 0, ""
	}
	for _, c := range o.Children {
		to.Children = append(to.Children, l.node(c, w))
	}
	if len(to.Children) < manyChildren {
		return encoded(&l.nodes, to)
	}
	before, all := l.large[o.Name], to.Children
	if same := inCommon(before.children, all); same >= manyChildren {
		to.Like, to.Same, to.Children = before.node+1, same, all[same:]
	}
	at := encoded(&l.nodes, to)
	if l.large == nil {
		l.large = map[string]largeNode{}
	}
	l.large[o.Name] = largeNode{at, all}
	return at
}

// manyChildren is the number of children from which on it pays to share them with another node.
const manyChildren = 8

// largeNode is a node with many children.
type largeNode struct {
	node     int
	children []int
}

// inCommon returns the length of the common prefix of two slices.
func inCommon(a, b []int) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// message adds a message with its tokens.
func (l *Steps) message(m chat.Message, tokens int) int {
	to := message{Role: m.Role, Tokens: tokens, Parts: []part{}}
	for _, p := range m.Content {
		to.Parts = append(to.Parts, l.part(p))
	}
	for _, c := range m.ToolCalls {
		to.Parts = append(to.Parts, part{"toolCall", c.Name, l.text(c.Arguments)})
	}
	return encoded(&l.messages, to)
}

func (l *Steps) part(p chat.Part) part {
	switch p := p.(type) {
	case chat.Text:
		return part{Kind: "text", Text: l.text(string(p))}
	case chat.Image:
		return part{Kind: "image", Name: string(p.Detail), Text: l.text(p.URL)}
	case chat.Document:
		return part{Kind: "document", Name: fmt.Sprintf("%s, %d bytes in base64", p.MediaType, len(p.Data))}
	case chat.Thinking:
		return part{Kind: "thinking", Text: l.text(p.Text)}
	case chat.Opaque:
		return part{Kind: "opaque", Text: l.text(string(p.Value))}
	case chat.CacheBreakpoint:
		return part{Kind: "cacheBreakpoint", Name: p.Type}
	}
	return part{}
}
