package frugal

import (
	"strconv"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
)

// Name of the policy.
const Name = "frugal"

// DefaultLoss is the dial of [Policy], in dollars.
const DefaultLoss = 0.10

// Policy returns the policy with the dial at [DefaultLoss], a new value each time.
func Policy() summarize.Policy { return PolicyAt(DefaultLoss) }

// PolicyAt returns the policy with the dial at what one compaction's loss is worth, in dollars: what it costs you, on average,
// that the agent no longer sees what a summary left out. 0 is thrift, and 0.30 memory. It is added to what a compaction costs, a
// tenth of it to what a clearing costs, for there the agent is told where to look; and 20,000 tokens a dollar are kept beside
// 8,000, word for word at a compaction, and of the newest output at a clearing. A loss below 0 is refused where the policy is used.
func PolicyAt(loss float64) summarize.Policy {
	prompt := summarize.SimplePrompt()
	fork := summarize.ForkPrompt()
	fork.Background = true
	kept := 8_000 + clamp.Int(20_000*loss)
	return summarize.Policy{
		Name:    Name,
		Prices:  usual(),
		Measure: summarize.Measure{By: summarize.ByLarger},
		Trigger: summarize.Trigger{
			{Carry: carry, Loss: loss, Background: true},
			{Ratio: 0.80, Background: true},
			{On: summarize.OnBudgetExceeded},
			{On: summarize.OnContextLimit},
			{On: summarize.OnDemand},
		},
		Clear: summarize.Clear{
			Rule:  history.ClearRule{Keep: kept, KeepStale: kept / 2, Arguments: 300, Saves: 500, Placeholder: placeholder},
			Carry: carry, Loss: loss / 10,
		},
		Cut:      history.Cut{Tokens: kept, Share: 0.2},
		Ask:      summarize.Ask{Prompts: []summarize.Prompt{fork, prompt}, Cheapest: true, SimpleResult: 400},
		Place:    summarize.Place{Max: 4_000},
		Overflow: summarize.Overflow{LastResort: summarize.ResortTruncate},
	}
}

// placeholder stands for output that was cleared.
func placeholder(o history.ClearedOutput) string {
	return "[" + strconv.Itoa(o.Tokens) + " tokens of output left out here: call the tool again if they are needed]"
}

// carry is how often the history's carrying must have cost what a compaction costs. From 0.4 to 0.7 the mean over synthetic
// sessions is the same to two hundredths whatever the prices; the more it is, the fewer compactions lose something.
const carry = 0.7

// usual returns prices in the proportions that most providers have, if nobody says what the model's are.
func usual() sizing.Prices {
	return sizing.Prices{Rates: sizing.Rates{Input: 3, CacheRead: 0.30, CacheWrite: 3.75, Output: 15}, Lifetime: 5 * time.Minute}
}
