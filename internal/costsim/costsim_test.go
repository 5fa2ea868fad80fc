package costsim_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/costsim"
	"github.com/promptree-go/promptree/sizing"
)

// prices returns prices with an input of $5. write and read are multiples of it.
func prices(write, read float64) sizing.Prices {
	return sizing.Prices{Rates: sizing.Rates{Input: 5, CacheWrite: 5 * write, CacheRead: 5 * read, Output: 25}, Lifetime: 5 * time.Minute}
}

// cheapestOfAll returns the minimum cost of a session by trying every set of compactions.
func cheapestOfAll(s costsim.Session, at costsim.Settings) float64 {
	cheapest, _ := s.Cost(at, costsim.Never)
	for set := range 1 << len(s.Added) {
		i := -1
		cost, _ := s.Cost(at, func(c sizing.Carry, inputs []int) bool {
			i++ // counts the requests before which a compaction is possible
			return set>>i&1 == 1
		})
		cheapest = min(cheapest, cost)
	}
	return cheapest
}

func TestTheOptimumIsTheCheapestOfAllSetsOfCompactions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for seed := range uint64(60) {
		s := costsim.Synthetic(costsim.Shapes[seed%6], seed, 9, 3000, 0.2)
		at := costsim.Settings{Prices: prices(1.25, 0.1), Summary: 100 + r.IntN(1000), Kept: r.IntN(3000)}
		if seed%3 == 0 {
			at.Prices.LeastCached = 4096
		}
		if seed%4 == 0 {
			at.Summarizer = prices(1.25, 0.02)
		}
		require.InDelta(t, cheapestOfAll(s, at), s.Optimum(at), 1e-12, "seed %d", seed)
	}
	require.Zero(t, costsim.Session{}.Optimum(costsim.Settings{}))
}

func TestSyntheticSessionsAreTheSameBySeed(t *testing.T) {
	for _, shape := range costsim.Shapes {
		a, b := costsim.Synthetic(shape, 3, 4000, 1000, 0.1), costsim.Synthetic(shape, 3, 4000, 1000, 0.1)
		require.Equal(t, a, b)
		require.NotEqual(t, a.Cold, costsim.Synthetic(shape, 4, 4000, 1000, 0.1).Cold)
		sum, cold := 0, 0
		for i, added := range a.Added {
			sum += added
			if a.Cold[i] {
				cold++
			}
		}
		require.InEpsilon(t, 1000, float64(sum)/4000, 0.25, "%s: the mean of the tokens that a request adds", shape)
		require.InDelta(t, 400, cold, 80)
	}
}

// regret returns the cost of a rule on a session, divided by that of the best compactions.
func regret(s costsim.Session, at costsim.Settings, rule costsim.Rule) float64 {
	cost, _ := s.Cost(at, rule)
	return cost / s.Optimum(at)
}

func TestTheCarryRuleIsNearTheOptimumWhateverTheGrowth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range []struct{ write, read float64 }{{1.25, 0.1}, {2, 0.1}, {1.25, 0.05}, {1.25, 0.025}, {1, 0.1}, {1, 0.25}} {
		var sum, worst, fixed, n float64
		for _, shape := range costsim.Shapes {
			for seed := range uint64(4) {
				s := costsim.Synthetic(shape, seed, 16+r.IntN(300), 100+r.IntN(2900), []float64{0, 0.03, 0.1}[r.IntN(3)])
				at := costsim.Settings{Prices: prices(p.write, p.read), Summary: []int{1000, 4000, 10_000}[r.IntN(3)], Kept: []int{5000, 20_000}[r.IntN(2)]}
				is := regret(s, at, costsim.Carry(at.Prices, 0.5))
				require.GreaterOrEqual(t, is, 1-1e-9)
				sum, worst, n = sum+is, max(worst, is), n+1
				fixed += regret(s, at, costsim.Fixed(160_000))
			}
		}
		t.Logf("write %.2f, read %.3f: mean %.3f, worst %.2f; at a fixed 160,000 tokens mean %.2f", p.write, p.read, sum/n, worst, fixed/n)
		require.LessOrEqual(t, sum/n, 1.2)
		require.LessOrEqual(t, worst, 3.0)
		require.Less(t, sum, fixed)
	}
}
