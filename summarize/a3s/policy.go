package a3s

import (
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Policy returns the policy of A3S Code, a new value each time.
func Policy() policy.Policy {
	return policy.Policy{
		Name:     "a3s",
		Counting: policy.Counting{By: policy.ByReport},
		Trigger:  policy.Trigger{{Ratio: 0.80}},
		Clear: policy.Clear{Rule: history.ClearRule{
			Keep: 40_000,
			Placeholder: func(o history.ClearedOutput) string {
				return o.After("[output pruned — re-read file or re-run command if needed]")
			},
		}},
		Cut:     history.Cut{First: 2, Messages: 20},
		Ask:     policy.Ask{Prompts: []policy.Prompt{prompt()}},
		Replace: policy.Replace{With: replacement},
	}
}
