package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// budgetsFitted is the number of budgets to which one layout is fitted.
const budgetsFitted = 50

// fitPlan fits one layout to many budgets.
func fitPlan() plan {
	return plan{
		name: "fit", about: fmt.Sprintf("one layout fitted to 1 budget, and to %d; the tree is that of prompt-tsx", budgetsFitted),
		prepare: func(ctx context.Context, b *bench) (comparison, error) {
			text, _, err := b.sample(b.sizes.chunks)
			if err != nil {
				return comparison{}, err
			}
			lines := strings.Split(text, "\n")
			p, err := newPruning(ctx, "cl100k_base", chunked(lines), 0.5)
			if err != nil {
				return comparison{}, err
			}
			c, err := tiktoken.New(p.encoding)
			if err != nil {
				return comparison{}, err
			}
			opts := render.Options{Budget: p.whole, Tokenizer: c}
			layout, err := render.Lay(ctx, p.root, opts)
			if err != nil {
				return comparison{}, err
			}
			var budgets []int
			for i := range budgetsFitted {
				budgets = append(budgets, max(10, p.whole*(i+1)/budgetsFitted))
			}
			fit := func(budgets ...int) lap {
				return repeated(func() error { return fitAll(ctx, layout, budgets) })
			}
			return comparison{
				notes: []string{fmt.Sprintf("%d chunks, %d tokens, memo warm; the budgets are from %d tokens to all", len(lines), p.whole, budgets[0])},
				contestants: []contestant{
					{name: "fit to 1 budget, half", lap: fit(p.budget), pieces: len(lines)},
					{name: fmt.Sprintf("fit to %d budgets", budgetsFitted), lap: fit(budgets...), pieces: len(lines) * budgetsFitted},
					{name: fmt.Sprintf("render at %d budgets", budgetsFitted), pieces: len(lines) * budgetsFitted, lap: repeated(func() error {
						for _, budget := range budgets {
							opts.Budget = budget
							if _, err := orEmpty(render.Render(ctx, p.root, opts)); err != nil {
								return err
							}
						}
						return nil
					})},
				},
			}, nil
		},
	}
}

func fitAll(ctx context.Context, layout *render.Layout, budgets []int) error {
	for _, budget := range budgets {
		r, err := orEmpty(layout.Fit(ctx, budget))
		if err != nil {
			return err
		}
		if r.Tokens > budget {
			return fmt.Errorf("fitted %d tokens, the budget is %d", r.Tokens, budget)
		}
	}
	return nil
}
