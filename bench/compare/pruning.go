package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// pruning is a tree with a budget that it exceeds.
type pruning struct {
	encoding            string
	root                elements.Node
	whole, budget, kept int // tokens
	text                string
}

// newPruning returns a tree with a budget that is a fraction of its size.
func newPruning(ctx context.Context, encoding string, root elements.Node, share float64) (*pruning, error) {
	c, err := tiktoken.New(encoding)
	if err != nil {
		return nil, err
	}
	all, err := render.Render(ctx, root, render.Options{Budget: 1 << 30, Tokenizer: c})
	if err != nil {
		return nil, err
	}
	return &pruning{encoding: encoding, root: root, whole: all.Tokens, budget: max(1, int(float64(all.Tokens)*share)), text: all.Messages[0].Text()}, nil
}

// countLap counts all of the text at once, with an empty memo each time.
func (p *pruning) countLap() lap {
	return afresh(emptied(p.encoding), func(_ context.Context, c *tiktoken.Counter) error {
		c.CountText(p.text)
		return nil
	})
}

// lap renders with an empty memo each time.
func (p *pruning) lap() lap {
	return afresh(
		emptied(p.encoding),
		func(ctx context.Context, c *tiktoken.Counter) error { return p.render(ctx, c, p.root) },
	)
}

func (p *pruning) render(ctx context.Context, c *tiktoken.Counter, root elements.Node) error {
	r, err := orEmpty(render.Render(ctx, root, render.Options{Budget: p.budget, Tokenizer: c}))
	if err != nil {
		return err
	}
	if p.kept = r.Tokens; p.kept > p.budget {
		return fmt.Errorf("rendered %d tokens, the budget is %d", p.kept, p.budget)
	}
	return nil
}

// orEmpty returns a result, also one without a message: a budget may be too small for any piece of a tree of few pieces.
func orEmpty(r *render.Result, err error) (*render.Result, error) {
	if empty, ok := errors.AsType[*render.EmptyError](err); ok {
		return empty.Result, nil
	}
	return r, err
}
