package render_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// staged returns a message of n chunks with different priorities, and its unpruned result.
func staged(b *testing.B, n int) (root elements.Node, whole *render.Result, tokenizer *tiktoken.Counter) {
	b.Helper()
	var m elements.UserMessage
	for i := range n {
		m.Children = append(m.Children, elements.TextChunk{
			Props:    elements.Props{Priority: new(i * 7919 % n)},
			Children: elements.Nodes{elements.Text(fmt.Sprintf("Piece %d of the prompt says that %x comes before %x.", i, i*7919, i*104729))},
		})
	}
	tokenizer = tiktoken.O200k()
	whole, err := render.Render(b.Context(), m, render.Options{Budget: 1 << 30, Tokenizer: tokenizer})
	require.NoError(b, err)
	return m, whole, tokenizer
}

// BenchmarkStages measures each step of a render, on a message of 3,000 chunks. Layout and the first fit, which counts,
// are paid once per tree. The others are later fits of one layout, whose texts are counted already. Times and
// allocations are also reported per piece.
func BenchmarkStages(b *testing.B) {
	const n = 3000
	root, whole, warm := staged(b, n)
	layout, err := render.Lay(b.Context(), root, render.Options{Budget: whole.Tokens, Tokenizer: warm})
	require.NoError(b, err)
	run := func(name string, pieces int, job func(b *testing.B) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := job(b); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(pieces), "ns/piece")
		})
	}
	fit := func(budget int) func(b *testing.B) error {
		return func(b *testing.B) error {
			r, err := layout.Fit(b.Context(), budget)
			if err == nil && r.Tokens > budget {
				err = fmt.Errorf("%d tokens in a budget of %d", r.Tokens, budget)
			}
			return err
		}
	}
	run("layout", n, func(b *testing.B) error {
		_, err := render.Lay(b.Context(), root, render.Options{Budget: whole.Tokens, Tokenizer: warm})
		return err
	})
	first := func(budget int) func(b *testing.B) error {
		return func(b *testing.B) error {
			b.StopTimer()
			layout, err := render.Lay(b.Context(), root, render.Options{Budget: budget, Tokenizer: fresh()})
			if err != nil {
				return err
			}
			b.StartTimer()
			_, err = layout.Fit(b.Context(), budget)
			return err
		}
	}
	run("first fit, which prunes nothing", n, first(whole.Tokens))
	run("first fit, which prunes to a third", n, first(whole.Tokens/3))
	run("first fit, which prunes to a hundredth", n, first(whole.Tokens/100))
	run("fit that prunes nothing", n, fit(whole.Tokens))
	run("fit that prunes a little", n, fit(whole.Tokens*99/100))
	run("fit that prunes to a third", n, fit(whole.Tokens/3))
	run("fit that prunes to a hundredth", n, fit(whole.Tokens/100))
	run("report as text", n, func(*testing.B) error {
		if whole.Report().String() == "" {
			return fmt.Errorf("there is no report")
		}
		return nil
	})
	run("report as a log value", n, func(*testing.B) error {
		if len(whole.Report().LogValue().Group()) == 0 {
			return fmt.Errorf("there is no report")
		}
		return nil
	})
}

// BenchmarkDepth prunes 1,024 chunks to a third, in more and more wrappers.
func BenchmarkDepth(b *testing.B) {
	for _, width := range []int{1024, 32, 4, 2} {
		next := 0
		var nest func(n int) elements.Nodes
		nest = func(n int) elements.Nodes {
			var nodes elements.Nodes
			for i := range width {
				props := elements.Props{Priority: new((i*7 + next) % 13)}
				if n == width {
					next++
					nodes = append(nodes, elements.TextChunk{Props: props, Children: elements.Nodes{elements.Text(fmt.Sprintf("Piece %d of the prompt, %x.", next, next*7919))}})
				} else {
					nodes = append(nodes, elements.Wrap{Props: props, Children: nest(n / width)})
				}
			}
			return nodes
		}
		root := elements.UserMessage{Children: nest(1024)}
		tokenizer := tiktoken.O200k()
		layout, err := render.Lay(b.Context(), root, render.Options{Budget: 1 << 20, Tokenizer: tokenizer})
		require.NoError(b, err)
		whole, err := layout.Fit(b.Context(), 1<<20)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("%d side by side", width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := layout.Fit(b.Context(), whole.Tokens/3); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
