package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// prompt is a rendered prompt as the page has it.
type prompt struct {
	Name   string `json:"name"`
	Model  string `json:"model,omitempty"`
	Budget int    `json:"budget"`
	Tokens int    `json:"tokens"`
	// Rates of a request of this size, nil if no prices are given.
	Rates *sizing.Rates `json:"rates,omitempty"`
	// Root is the node of the whole prompt.
	Root     int   `json:"root"`
	Messages []int `json:"messages"`
	// Counted reports whether messages have counts.
	Counted bool `json:"counted,omitempty"`
	// Tools are the nodes of tools that are declared beside the prompt, ToolTokens what their list takes.
	Tools      []int `json:"tools,omitempty"`
	ToolTokens int   `json:"toolTokens,omitempty"`
	// From, Below and Least are those of the survey. Unknown says why there is none.
	From    int    `json:"from,omitempty"`
	Below   int    `json:"below,omitempty"`
	Least   int    `json:"least,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

// node is an element, a message or a piece. Texts are indexes in the log's texts plus one, 0 for none.
type node struct {
	Name     string    `json:"name,omitempty"`
	Tag      int       `json:"tag,omitempty"`
	Role     chat.Role `json:"role,omitempty"`
	Priority *int      `json:"priority,omitempty"`
	Text     int       `json:"text,omitempty"`
	Piece    *piece    `json:"piece,omitempty"`
	Children []int     `json:"children,omitempty"`
}

// piece is a [render.Piece] without what stands in its node or follows from it. KeptFrom is 0 of a piece that stays.
type piece struct {
	Kind        render.PieceKind `json:"kind"`
	Tokens      int              `json:"tokens"`
	Priority    *int             `json:"priority,omitempty"`
	DecidedBy   string           `json:"by,omitempty"`
	Group       string           `json:"group,omitempty"`
	TrimmedFrom int              `json:"trimmedFrom,omitempty"`
	Required    bool             `json:"required,omitempty"`
	Restored    bool             `json:"restored,omitempty"`
	Dropped     render.Reason    `json:"dropped,omitempty"`
	Limit       string           `json:"limit,omitempty"`
	KeptFrom    int              `json:"keptFrom,omitempty"`
	Sizes       []render.Size    `json:"sizes,omitempty"`
}

// message is a message as it was sent.
type message struct {
	Role   chat.Role `json:"role"`
	Tokens int       `json:"tokens,omitempty"`
	Parts  []part    `json:"parts"`
}

type part struct {
	Kind render.PieceKind `json:"kind"`
	Name string           `json:"name,omitempty"` // of a call, or what of a document is known
	Text int              `json:"text,omitempty"`
}

// table holds values, each once.
type table[T any] struct {
	values []T
	index  map[string]int
}

// add returns the index of a value with a key.
func (t *table[T]) add(key string, value T) int {
	i, ok := t.index[key]
	if !ok {
		if t.index == nil {
			t.index = map[string]int{}
		}
		i = len(t.values)
		t.values, t.index[key] = append(t.values, value), i
	}
	return i
}

// text returns the index of a text plus one, 0 for none.
func (l *Log) text(s string) int {
	if s == "" {
		return 0
	}
	return l.texts.add(s, s) + 1
}

// encoded adds a value by its JSON.
func encoded[T any](t *table[T], value T) int {
	key, err := json.Marshal(value)
	if err != nil {
		panic(err) // nothing in them fails
	}
	return t.add(string(key), value)
}

// prompt adds a rendered prompt.
func (l *Log) prompt(ctx context.Context, r Request) (int, error) {
	if r.Result == nil {
		return 0, ErrNoResult
	}
	outline := r.Result.Outline()
	if outline == nil {
		outline = outlineOf(r)
	}
	to := prompt{Name: r.Name, Model: r.Model, Budget: r.Result.Budget, Tokens: r.Result.Tokens}
	if to.Name == "" {
		to.Name = fmt.Sprint("prompt ", len(l.prompts)+1)
	}
	survey, err := r.Result.Survey(ctx)
	switch {
	case err == nil:
		to.From, to.Below, to.Least = survey.From, survey.Below, survey.Least
	case errors.Is(err, render.ErrNoSurvey):
		to.Unknown = strings.TrimPrefix(err.Error(), render.ErrNoSurvey.Error()+": ")
	default:
		return 0, fmt.Errorf("inspect: %w", err)
	}
	walk := &walk{pieces: survey.Report, least: to.Least}
	to.Root = l.node(outline, walk)
	if to.Counted = len(walk.counts) == len(r.Result.Messages); !to.Counted { // somebody changed them since
		walk.counts = make([]int, len(r.Result.Messages))
	}
	for i, m := range r.Result.Messages {
		to.Messages = append(to.Messages, l.message(m, walk.counts[i]))
	}
	if r.Tokenizer != nil {
		to.ToolTokens = r.Tokenizer.CountTools(r.Tools)
	}
	for _, t := range r.Tools {
		p := &piece{Kind: render.PieceTool, Required: true}
		if r.Tokenizer != nil {
			p.Tokens = r.Tokenizer.CountTools([]chat.Tool{t})
		}
		to.Tools = append(to.Tools, encoded(&l.nodes, node{Name: t.Name, Text: l.text(t.Description), Piece: p}))
	}
	if rates := r.Prices.At(to.Tokens + to.ToolTokens); rates != (sizing.Rates{}) {
		to.Rates = &rates
	}
	l.prompts = append(l.prompts, to)
	return len(l.prompts) - 1, nil
}

// outlineOf returns the outline of messages that were not rendered, such as those that a last resort left.
func outlineOf(r Request) *render.Outline {
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
				piece("", string(text), render.PieceText, func() int { return r.Tokenizer.CountPart(c) })
			}
		}
		for _, c := range m.ToolCalls {
			piece(c.Name, c.Arguments, render.PieceToolCall, func() int { return r.Tokenizer.CountText(c.Name + c.Arguments) })
		}
		if r.Tokenizer != nil {
			of.Counted = r.Tokenizer.CountMessage(m)
		}
		root.Children = append(root.Children, of)
	}
	return root
}

// walk is a walk over an outline: the pieces of a survey that are left, and what the messages count that were met.
type walk struct {
	pieces render.Report
	least  int
	counts []int
}

// node adds what stands in an element, whose pieces are the next.
func (l *Log) node(o *render.Outline, w *walk) int {
	to := node{Name: o.Name, Tag: l.text(o.Tag), Role: o.Role, Priority: o.Priority, Text: l.text(o.Text)}
	if o.Role != "" && o.Counted > 0 {
		w.counts = append(w.counts, o.Counted)
	}
	if o.Piece != nil {
		p := *o.Piece
		if len(w.pieces) > 0 { // the same with what a survey says of it
			p, w.pieces = w.pieces[0], w.pieces[1:]
		}
		if p.Dropped == render.Kept && p.KeptFrom == w.least {
			p.KeptFrom = 0
		}
		to.Piece = &piece{
			p.Kind, p.Tokens, p.Priority, p.DecidedBy, p.Group, p.TrimmedFrom, p.Required, p.Restored, p.Dropped, p.Limit, p.KeptFrom, p.Sizes,
		}
	}
	for _, c := range o.Children {
		to.Children = append(to.Children, l.node(c, w))
	}
	return encoded(&l.nodes, to)
}

// message adds a message that counts so many tokens.
func (l *Log) message(m chat.Message, tokens int) int {
	to := message{Role: m.Role, Tokens: tokens, Parts: []part{}}
	for _, p := range m.Content {
		to.Parts = append(to.Parts, l.part(p))
	}
	for _, c := range m.ToolCalls {
		to.Parts = append(to.Parts, part{render.PieceToolCall, c.Name, l.text(c.Arguments)})
	}
	return encoded(&l.messages, to)
}

func (l *Log) part(p chat.Part) part {
	switch p := p.(type) {
	case chat.Text:
		return part{Kind: render.PieceText, Text: l.text(string(p))}
	case chat.Image:
		return part{Kind: render.PieceImage, Name: string(p.Detail), Text: l.text(p.URL)}
	case chat.Document:
		return part{Kind: render.PieceDocument, Name: fmt.Sprintf("%s, %d bytes in base64", p.MediaType, len(p.Data))}
	case chat.Thinking:
		return part{Kind: render.PieceThinking, Text: l.text(p.Text)}
	case chat.Opaque:
		return part{Kind: render.PieceOpaque, Text: l.text(string(p.Value))}
	case chat.CacheBreakpoint:
		return part{Kind: render.PieceBreakpoint, Name: p.Type}
	}
	return part{}
}
