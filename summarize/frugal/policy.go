package frugal

import (
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Policy returns the policy with a loss of 0, with which sessions are cheapest, a new value each time.
func Policy() policy.Policy { return PolicyAt(0) }

// PolicyAt returns the policy for a loss, in dollars: the average cost to you when the agent, after a compaction, no
// longer sees what the summary left out. With 0 sessions are cheapest, and with 0.30 agents remember more. The loss is
// added to the cost of a compaction, and a tenth of it to the cost of a clearing, because a clearing tells the agent
// where to look. A compaction keeps 8,000 tokens word for word, and 20,000 more for each dollar of loss; a clearing
// keeps as many tokens of the newest output. A loss below 0 is refused when the policy is used.
func PolicyAt(loss float64) policy.Policy {
	prompt := prompts.SimplePrompt()
	fork := prompts.ForkPrompt()
	fork.Background = true
	kept := 8_000 + clamp.Int(20_000*loss)
	return policy.Policy{
		Name:     "frugal",
		Prices:   usual(),
		Counting: policy.Counting{By: policy.ByLarger},
		Trigger: policy.Trigger{
			{CostFactor: carry, Loss: loss, Background: true},
			{Ratio: 0.80, Background: true},
			{On: policy.OnBudgetExceeded},
			{On: policy.OnContextLimit},
			{On: policy.OnDemand},
		},
		Clear: policy.Clear{
			Preview:    history.PreviewRule{Above: 8_000, Tokens: 2_000, Names: named},
			Rule:       history.ClearRule{Keep: kept, KeepStale: kept / 2, Arguments: 300, Saves: 500, Least: 200, LeastPlaceholders: 8, Names: named},
			CostFactor: carry, Loss: loss / 10,
		},
		Cut:      history.Cut{Tokens: kept, Share: 0.12},
		Ask:      policy.Ask{Prompts: []policy.Prompt{fork, prompt}, Cheapest: true, SimpleResult: 400},
		Replace:  policy.Replace{Max: 4_000, Index: 4_000},
		Overflow: policy.Overflow{LastResort: policy.ResortTruncate},
	}
}

// named is the number of tokens for names in what stands for an output.
const named = 300

// carry is the fraction of a compaction's cost that carrying the history must reach before the policy compacts. From
// 0.4 to 0.7 the mean cost of synthetic sessions differs by at most 0.02, whatever the prices. A larger value makes
// fewer compactions, which lose less.
const carry = 0.7

// usual returns prices in the proportions of most providers, for models without prices.
func usual() sizing.Prices {
	return sizing.Prices{Rates: sizing.Rates{Input: 3, CacheRead: 0.30, CacheWrite: 3.75, Output: 15}, Lifetime: 5 * time.Minute}
}
