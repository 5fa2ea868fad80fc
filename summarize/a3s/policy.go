package a3s

import (
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
)

// Name of the policy.
const Name = "a3s"

// Policy returns the policy of A3S Code, a new value each time.
func Policy() summarize.Policy {
	return summarize.Policy{
		Name:    Name,
		Measure: summarize.Measure{By: summarize.ByReport},
		Trigger: summarize.Trigger{{Ratio: 0.80}},
		Clear: summarize.Clear{Rule: history.ClearRule{
			Keep: 40_000,
			Placeholder: func(history.ClearedOutput) string {
				return "[output pruned — re-read file or re-run command if needed]"
			},
		}},
		Cut:   history.Cut{First: 2, Messages: 20},
		Ask:   summarize.Ask{Prompts: []summarize.Prompt{Prompt()}},
		Place: summarize.Place{Replacement: Replacement},
	}
}
