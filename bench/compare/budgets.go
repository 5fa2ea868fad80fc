package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/internal/test/treetest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// manyBudgets is the number of budgets that one layout is fitted to.
const manyBudgets = 50

// budgetsPlan fits one layout to many budgets, and compares that with one count of its text and with one survey.
func budgetsPlan() plan {
	return plan{
		name: "budgets", about: fmt.Sprintf("one flat layout for %d budgets, with an empty memo", manyBudgets),
		prepare: func(ctx context.Context, b *bench) (comparison, error) {
			const counted, one, falling, rising, survey = "counted", "one fit to a half", "fits, falling", "fits, rising", "Survey"
			n := b.sizes.budgets
			p, err := newPruning(ctx, "o200k_base", treetest.Flat(n), 0.5)
			if err != nil {
				return comparison{}, err
			}
			var budgets []int
			for i := range manyBudgets {
				budgets = append(budgets, max(1, p.whole*(i+1)/manyBudgets))
			}
			down := slices.Clone(budgets)
			slices.Reverse(down)
			who := func(name string, lap lap) contestant { return contestant{name: name, lap: lap, pieces: n} }
			return comparison{
				notes: []string{fmt.Sprintf("%d chunks, %d tokens; budgets from %d up; a fit and Survey include the layout", n, p.whole, budgets[0])},
				contestants: []contestant{
					who(counted, p.countLap()), who(one, p.lap()), who(falling, p.fits(down)), who(rising, p.fits(budgets)), who(survey, p.survey()),
				},
				// Fits share no pruning: none may take longer than a count of the text. A survey answers all budgets with one.
				targets: []target{within(falling, manyBudgets, counted), within(rising, manyBudgets, counted), within(survey, 6, counted)},
			}, nil
		},
	}
}

// fits lays the tree out once and fits it to budgets, with an empty memo each time.
func (p *pruning) fits(budgets []int) lap {
	return afresh(emptied(p.encoding), func(ctx context.Context, c *tiktoken.Counter) error {
		laidOut, err := render.Lay(ctx, p.root, render.Options{Budget: p.whole, Tokenizer: c})
		if err != nil {
			return err
		}
		for _, budget := range budgets {
			r, err := orEmpty(laidOut.Fit(ctx, budget))
			if err != nil {
				return err
			}
			if r.Tokens > budget {
				return fmt.Errorf("rendered %d tokens, the budget is %d", r.Tokens, budget)
			}
		}
		return nil
	})
}

// survey finds the budget from which on each piece is kept, with an empty memo each time.
func (p *pruning) survey() lap {
	return afresh(emptied(p.encoding), func(ctx context.Context, c *tiktoken.Counter) error {
		r, err := render.Render(ctx, p.root, render.Options{Budget: p.whole, Tokenizer: c})
		if err == nil {
			_, err = r.Survey(ctx)
		}
		return err
	})
}
