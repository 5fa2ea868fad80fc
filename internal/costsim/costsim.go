// Package costsim plays sessions of an agent as numbers: how much each request adds to the history, and whether the cache is
// cold. It says what a rule of compaction costs on them, and what the best compactions would have cost for who knows the end.
package costsim

import (
	"math"
	"math/rand/v2"

	"github.com/promptree-go/promptree/sizing"
)

// Session is a session as numbers.
type Session struct {
	// Head of each request, in tokens: tools and system prompt.
	Head int
	// Added to the history before each request, in tokens.
	Added []int
	// Cold says of each request whether the cache has nothing of it, whatever was sent before.
	Cold []bool
}

// Settings say what a compaction is.
type Settings struct {
	Prices sizing.Prices
	// Summarizer has the prices of the model that writes summaries; the agent's by default.
	Summarizer sizing.Prices
	// Summary and Kept tokens of each compaction.
	Summary, Kept int
}

// compaction is the one that may be made before request i of so large an input.
func (s Session) compaction(at Settings, i, input int) sizing.Carry {
	return sizing.Carry{
		Input: input, Head: s.Head, Summary: at.Summary, Kept: at.Kept, Cold: s.Cold[i], Summarizer: at.Summarizer,
	}
}

// request is what one costs, of whose input so much is in the cache unless that is cold.
func (s Session) request(at Settings, i, input, cached int) float64 {
	if s.Cold[i] {
		cached = 0
	}
	return at.Prices.Of(at.Prices.Foretell(sizing.Planned{Input: input, Cached: cached})).Total()
}

// Rule says whether to compact before a request. Inputs are those of the requests since the last compaction.
type Rule func(c sizing.Carry, inputs []int) bool

// Carry is the rule of ski rental: compact once carrying the history has cost alpha times what compacting costs.
func Carry(prices sizing.Prices, alpha float64) Rule {
	return func(c sizing.Carry, inputs []int) bool {
		carried := prices.Carrying(c, c.Input)
		for _, input := range inputs {
			carried += prices.Carrying(c, input)
		}
		return carried >= alpha*prices.Compacting(c)
	}
}

// Fixed is the rule of a fixed limit.
func Fixed(tokens int) Rule {
	return func(c sizing.Carry, _ []int) bool { return c.Input >= tokens }
}

// Never is the rule of no compaction.
func Never(sizing.Carry, []int) bool { return false }

// Cost is what a session costs under a rule, in dollars, and how often it is compacted. Answers are not in it. Nothing is
// compacted unless the input is larger than what a compaction leaves.
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

// Optimum is the least that the session could cost: what the best compactions cost that who knows the end would choose.
func (s Session) Optimum(at Settings) float64 {
	n := len(s.Added)
	best := make([]float64, n) // least cost of what comes from request i on, if a compaction is made before it, without the summary
	sum := make([]int, n+1)    // tokens added before each
	for i, added := range s.Added {
		sum[i+1] = sum[i] + added
	}
	base := s.Head + at.Summary + at.Kept
	// from is the least cost from request i on, if the history is what start and the requests from i on add.
	from := func(i, start, cached int) float64 {
		least, paid := math.Inf(1), 0.0
		for k := i; k < n; k++ {
			input := start + sum[k+1] - sum[i]
			if input > base {
				least = min(least, paid+at.Prices.Summarizing(s.compaction(at, k, input))+best[k])
			}
			paid += s.request(at, k, input, cached)
			cached = input
		}
		return min(least, paid)
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

// Shape is how a history grows.
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

// Shapes are all of them.
var Shapes = []Shape{Constant, Exponential, HeavyTailed, Bursts, Rising, Falling}

// Synthetic makes a session by a seed: of so many requests that add so much each on average, of which a share is cold. The
// head takes 3,000 tokens.
func Synthetic(shape Shape, seed uint64, requests, mean int, cold float64) Session {
	r := rand.New(rand.NewPCG(seed, 29))
	s := Session{Head: 3000, Added: make([]int, requests), Cold: make([]bool, requests)}
	for i := range s.Added {
		along := float64(i) / float64(max(1, requests-1))
		grown := 1.0
		switch shape {
		case Exponential:
			grown = r.ExpFloat64()
		case HeavyTailed: // Pareto with the exponent 1.2, whose mean is 6; cut at 50 times that
			grown = min(50, math.Pow(1-r.Float64(), -1/1.2)/6)
		case Bursts: // one request in ten adds most
			grown = 0.2
			if r.IntN(10) == 0 {
				grown = 8.2
			}
		case Rising:
			grown = 2 * along
		case Falling:
			grown = 2 * (1 - along)
		}
		s.Added[i] = int(math.Round(grown * float64(mean)))
		s.Cold[i] = i == 0 || r.Float64() < cold
	}
	return s
}
