// Package marks lets elements say, while a prompt is laid out, what they show or need, so that whoever has it laid out can
// hold what stands in the prompt against each other. A mark is any value; marks are collected in the order of the document.
package marks

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
)

// Needs is the mark of an element that needs a tool to be declared. Its text is the error if it is not.
type Needs struct{ Tool, Text string }

// Shows is the mark of an element that shows what a toolbox keeps, and Wants that of a toolbox which needs one. Its text is
// the error if there is none.
type (
	Shows struct{ Of any }
	Wants struct {
		Of   any
		Text string
	}
)

// Collected holds the marks of a prompt in the order of the document, once it is laid out.
type Collected struct{ All []any }

// key is the context key of the *Collected of a layout; for an element, of its *Element.
type key struct{}

// Collect returns a context in which a layout collects marks.
func Collect(ctx context.Context) (context.Context, *Collected) {
	c := &Collected{}
	return context.WithValue(ctx, key{}, c), c
}

// Of returns where a layout collects marks, nil if nobody asked for them.
func Of(ctx context.Context) *Collected {
	c, _ := ctx.Value(key{}).(*Collected)
	return c
}

// Check returns the error of the first mark that needs a tool that is not declared, or an element that is not there.
func Check(ctx context.Context, tools []chat.Tool) error {
	all := Of(ctx).All
	for _, m := range all {
		switch m := m.(type) {
		case Needs:
			if !slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == m.Tool }) {
				return errors.New(m.Text)
			}
		case Wants:
			if !slices.Contains(all, any(Shows{m.Of})) {
				return errors.New(m.Text)
			}
		}
	}
	return nil
}

// Element holds the marks of one element, which may be added by several goroutines.
type Element struct {
	mu    sync.Mutex
	marks []any
}

// In returns the context in which one element is rendered, and its marks.
func In(ctx context.Context) (context.Context, *Element) {
	e := &Element{}
	return context.WithValue(ctx, key{}, e), e
}

// Marks returns the marks that were added so far.
func (e *Element) Marks() []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.marks[:len(e.marks):len(e.marks)]
}

// Add adds a mark to the element that is being rendered. It does nothing if nobody collects them.
func Add(ctx context.Context, mark any) {
	if e, ok := ctx.Value(key{}).(*Element); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.marks = append(e.marks, mark)
	}
}

// Without returns a context in which no mark is added.
func Without(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, nil) }

// SourceName begins the names of the custom entries of promptree's own sources.
const SourceName = "promptree "
