// Package costsim simulates sessions of an agent as numbers: what each request adds to the history, and whether the
// cache is cold. It computes what a rule of compaction costs, and what the best compactions would have cost in
// hindsight.
package costsim

import (
	"math"
	"math/rand/v2"

	"github.com/promptree-go/promptree/sizing"
)

// Session is a session as numbers.
type Session struct {
	// Head is the size of tools and system prompt, in tokens.
	Head int
	// Added is the number of tokens added to the history before each request.
	Added []int
	// Cold reports for each request whether the cache holds nothing of it, whatever was sent before.
	Cold []bool
}

// Settings describe a compaction.
type Settings struct {
	Prices sizing.Prices
	// Summarizer holds the prices of the model that writes summaries. Defaults to the agent's.
	Summarizer sizing.Prices
	// Summary and Kept are the sizes of the summary and of the tail after each compaction, in tokens.
	Summary, Kept int
}

// compaction returns the compaction before request i, whose input is given in tokens.
func (s Session) compaction(at Settings, i, input int) sizing.Carry {
	return sizing.Carry{
		Input: input, Head: s.Head, Summary: at.Summary, Kept: at.Kept, Cold: s.Cold[i], Summarizer: at.Summarizer,
	}
}

// request returns the cost of request i if cached tokens of its input are cached, or none if the cache is cold.
func (s Session) request(at Settings, i, input, cached int) float64 {
	if s.Cold[i] {
		cached = 0
	}
	return at.Prices.Of(at.Prices.Foretell(sizing.Planned{Input: input, Cached: cached})).Total()
}

// Rule reports whether to compact before a request. Inputs are those of the requests since the last compaction.
type Rule func(c sizing.Carry, inputs []int) bool

// Carry returns the ski rental rule: compact once carrying the history has cost alpha times what compacting costs.
func Carry(prices sizing.Prices, alpha float64) Rule {
	return func(c sizing.Carry, inputs []int) bool {
		carried := prices.Carrying(c, c.Input)
		for _, input := range inputs {
			carried += prices.Carrying(c, input)
		}
		return carried >= alpha*prices.Compacting(c)
	}
}

// Fixed returns the rule that compacts at a fixed limit.
func Fixed(tokens int) Rule {
	return func(c sizing.Carry, _ []int) bool { return c.Input >= tokens }
}

// Never returns false: it is the rule of no compaction.
func Never(sizing.Carry, []int) bool { return false }

// Cost returns the cost of a session under a rule, in dollars without answers, and the number of compactions. It
// compacts only if the input is larger than a compaction leaves it.
func (s Session) Cost(at Settings, rule Rule) (dollars float64, compactions int) {
	input, cached := s.Head, 0
	var inputs []int
	for i, added := range s.Added {
		input += added
		if c := s.compaction(at, i, input); input > c.Base() && rule(c, inputs) {
			dollars += at.Prices.Summarizing(c)
			compactions++
			input, cached, inputs = c.Base(), min(cached, s.Head), nil
		}
		dollars += s.request(at, i, input, cached)
		inputs = append(inputs, input)
		cached = input
	}
	return dollars, compactions
}

// Optimum returns the minimum cost of the session: that of the best compactions in hindsight.
func (s Session) Optimum(at Settings) float64 {
	n := len(s.Added)
	best := make([]float64, n) // minimum cost from request i on, if the history is compacted before it, without the summary
	sum := make([]int, n+1)    // tokens added before each request
	for i, added := range s.Added {
		sum[i+1] = sum[i] + added
	}
	base := s.Head + at.Summary + at.Kept
	// from returns the minimum cost from request i on, if the input is start before request i adds to it.
	from := func(i, start, cached int) float64 {
		minimum, paid := math.Inf(1), 0.0
		for k := i; k < n; k++ {
			input := start + sum[k+1] - sum[i]
			if input > base {
				minimum = min(minimum, paid+at.Prices.Summarizing(s.compaction(at, k, input))+best[k])
			}
			paid += s.request(at, k, input, cached)
			cached = input
		}
		return min(minimum, paid)
	}
	for i := n - 1; i >= 0; i-- {
		first := s.request(at, i, base, s.Head)
		rest := 0.0
		if i+1 < n {
			rest = from(i+1, base, base)
		}
		best[i] = first + rest
	}
	if n == 0 {
		return 0
	}
	return from(0, s.Head, 0)
}

// Shape is the way in which a history grows.
type Shape string

// The shapes.
const (
	Constant    Shape = "constant"
	Exponential Shape = "exponential"
	HeavyTailed Shape = "heavy-tailed"
	Bursts      Shape = "bursts"
	Rising      Shape = "rising"
	Falling     Shape = "falling"
)

// Shapes lists all shapes.
var Shapes = []Shape{Constant, Exponential, HeavyTailed, Bursts, Rising, Falling}

// Synthetic makes a session from a seed. Its requests add mean tokens each on average, and the fraction cold of them
// have a cold cache. The head has 3,000 tokens.
func Synthetic(shape Shape, seed uint64, requests, mean int, cold float64) Session {
	r := rand.New(rand.NewPCG(seed, 29))
	s := Session{Head: 3000, Added: make([]int, requests), Cold: make([]bool, requests)}
	for i := range s.Added {
		progress := float64(i) / float64(max(1, requests-1))
		growth := 1.0 // as a multiple of mean
		switch shape {
		case Exponential:
			growth = r.ExpFloat64()
		case HeavyTailed: // Pareto with exponent 1.2, whose mean is 6, cut at 50 times the mean
			growth = min(50, math.Pow(1-r.Float64(), -1/1.2)/6)
		case Bursts: // one request in ten adds the most
			growth = 0.2
			if r.IntN(10) == 0 {
				growth = 8.2
			}
		case Rising:
			growth = 2 * progress
		case Falling:
			growth = 2 * (1 - progress)
		}
		s.Added[i] = int(math.Round(growth * float64(mean)))
		s.Cold[i] = i == 0 || r.Float64() < cold
	}
	return s
}
