package stagewise

import (
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Policy returns the policy of stagewise, a new value each time. Its chat agent compacts earlier:
//
//	p.Trigger[0].Ratio = 0.5
//
// Its models are found in [summarize.Compactor.Models], and the agent's own is asked last. If none writes a briefing,
// events report it and the agent goes on.
func Policy() policy.Policy {
	return policy.Policy{
		Name:     "stagewise",
		Counting: policy.Counting{By: policy.ByReport},
		Trigger:  policy.Trigger{{Ratio: 0.65, Cap: 200_000, Above: true, Background: true}},
		Cut:      history.Cut{Share: 0.2, Tokens: 40_000, Messages: 10},
		Ask: policy.Ask{
			Prompts: []policy.Prompt{Briefing{}.Prompt()},
			Names:   []string{"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"},
			Timeout: 30 * time.Second, MinChars: 30, MaxTokens: 20_000,
			Temperature: new(0.1),
		},
		Replace: policy.Replace{With: replacement, Max: 20_000},
	}
}
