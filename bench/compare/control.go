package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// goroutinesPlan counts two texts on two goroutines with one counter, and compares what that gains with what two
// goroutines gain that only calculate: a shared machine's second processor may be half of a core.
func goroutinesPlan() plan {
	return plan{
		name: "goroutines", about: "counting two texts with one counter, in o200k_base, beside plain arithmetic",
		prepare: func(_ context.Context, b *bench) (comparison, error) {
			const countedOne, countedTwo, plainOne, plainTwo = "counting, 1 goroutine", "counting, 2 goroutines", "arithmetic, 1 goroutine", "arithmetic, 2 goroutines"
			text, _, err := b.sessionText()
			if err != nil {
				return comparison{}, err
			}
			c := tiktoken.O200k()
			texts := [2]*turned{newTurned(text), newTurned(text)}
			texts[1].at = len(texts[1].cuts) / 2 // never the text that the other has just counted
			count := func(i int) { c.CountText(texts[i].next()) }
			var sums [2]uint64
			calculate := func(i int) {
				x := sums[i] | 1
				for range len(text) {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
				}
				sums[i] = x
			}
			one := func(do func(i int)) lap { return repeated(func() error { do(0); do(1); return nil }) }
			two := func(do func(i int)) lap {
				return repeated(func() error {
					var running sync.WaitGroup
					running.Go(func() { do(0) })
					running.Go(func() { do(1) })
					running.Wait()
					return nil
				})
			}
			return comparison{
				contestants: []contestant{
					{name: countedOne, lap: one(count), bytes: 2 * len(text)}, {name: countedTwo, lap: two(count), bytes: 2 * len(text)},
					{name: plainOne, lap: one(calculate)}, {name: plainTwo, lap: two(calculate)},
				},
				targets: []target{{
					of: countedTwo, asks: "≥0.95 of what arithmetic gains", bound: 0.95, least: true,
					value: func(r results) (float64, string, bool) {
						counting, ok1 := r.ratio(countedOne, countedTwo)
						plain, ok2 := r.ratio(plainOne, plainTwo)
						v := counting / max(plain, 0.01)
						return v, fmt.Sprintf("%.2f× of %.2f×", counting, plain), ok1 && ok2
					},
				}},
			}, nil
		},
	}
}

// hostile are texts that a counter may take long for: they have no break between words, or nothing but breaks.
var hostile = []struct{ name, piece string }{
	{"one letter", "a"}, {"spaces", " "}, {"newlines", "\n"}, {"one mark", "="}, {"digits", "0123456789"}, {"Chinese", "的一是不了人我在有他这"}, {"emoji", "👩‍👩‍👧‍👦🏽"},
}

// hostilePlan counts such texts and others of twice the length. Their times are compared by minima: a median meets the
// garbage collector by chance.
func hostilePlan() plan {
	return plan{
		name: "hostile", about: "counting texts without words and texts twice as long, in o200k_base, with an empty memo",
		prepare: func(_ context.Context, b *bench) (comparison, error) {
			var c comparison
			for _, h := range hostile {
				var names [2]string
				for i := range names {
					n := (i + 1) * b.sizes.hostile
					text := strings.Repeat(h.piece, n/len(h.piece))
					names[i] = fmt.Sprintf("%s, %d KB", h.name, n>>10)
					c.contestants = append(c.contestants, contestant{
						name: names[i], bytes: len(text),
						lap: afresh(emptied("o200k_base"), func(_ context.Context, c *tiktoken.Counter) error { c.CountText(text); return nil }),
					})
				}
				c.targets = append(c.targets, target{
					of: names[1], asks: "≤2.3× of half of it, by minima", bound: 2.3,
					value: func(r results) (float64, string, bool) {
						half, whole := r[names[0]].times, r[names[1]].times
						if len(half) == 0 || len(whole) == 0 {
							return 0, "", false
						}
						v := float64(slices.Min(whole)) / float64(max(1, slices.Min(half)))
						return v, factor(v), true
					},
				})
			}
			return c, nil
		},
	}
}
