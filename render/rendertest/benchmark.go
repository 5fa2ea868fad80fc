package rendertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// Benchmark renders a prompt at each budget, with the other options as they are, as a benchmark of its own. Besides time
// and allocations it reports the tokens that are kept, and how many tokens of text a render counts, each as often as it is
// counted: a tokenizer that is shared remembers words, but not counts. A prompt that does not fit a budget is skipped
// there.
func Benchmark(b *testing.B, prompt elements.Node, options render.Options, budgets ...int) {
	b.Helper()
	if len(budgets) == 0 {
		b.Fatal("rendertest: no budgets: give at least one")
	}
	for _, budget := range budgets {
		options.Budget = budget
		b.Run(fmt.Sprint(budget), func(b *testing.B) { measure(b, prompt, options) })
	}
}

// measure is the benchmark of one budget.
func measure(b *testing.B, prompt elements.Node, options render.Options) {
	counting, counted := options, new(atomic.Int64)
	counting.Tokenizer = counter(options.Tokenizer, counted)
	result, err := render.Render(b.Context(), prompt, counting)
	if _, over := errors.AsType[*render.BudgetExceededError](err); over {
		b.Skip(err)
	} else if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render.Render(b.Context(), prompt, options); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(result.Tokens), "tokens-kept")
	b.ReportMetric(float64(counted.Load()), "tokens-counted")
}

// counter returns a tokenizer that adds up what it counts, a joiner if the given one is.
func counter(t chat.Tokenizer, counted *atomic.Int64) chat.Tokenizer {
	c := counts{t, counted}
	if j, ok := t.(chat.Joiner); ok {
		return joins{c, j}
	}
	return c
}

type counts struct {
	chat.Tokenizer
	counted *atomic.Int64
}

func (c counts) CountText(text string) int {
	n := c.Tokenizer.CountText(text)
	c.counted.Add(int64(n))
	return n
}

func (c counts) CountMessage(m chat.Message) int {
	n := c.Tokenizer.CountMessage(m)
	c.counted.Add(int64(n))
	return n
}

type joins struct {
	counts
	joiner chat.Joiner
}

func (j joins) SafeCut(before, after rune) bool { return j.joiner.SafeCut(before, after) }

func (j joins) CountFrame(m chat.Message) (tokens int, joined bool) { return j.joiner.CountFrame(m) }
