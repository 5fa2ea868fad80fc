package ohmypi

import (
	"strconv"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Policy returns the policy of oh-my-pi, a new value each time. The settings of oh-my-pi are fields: whether it is on
// (Off), the reserve (Trigger[0].Reserve), how much is kept (Cut.Tokens), the message after a compaction (Continue),
// and whether branches that are left are summarised (Branch). For a remote endpoint, use a models.Remote as the model.
func Policy() policy.Policy {
	return policy.Policy{
		Name:     "oh-my-pi",
		Counting: policy.Counting{By: policy.ByReport},
		Trigger: policy.Trigger{
			{Reserve: 16_384, Above: true},
			{On: policy.OnContextLimit},
			{On: policy.OnDemand},
		},
		Clear: policy.Clear{Always: true, Rule: history.ClearRule{
			Keep: 40_000, Saves: 20_000, Never: []string{"skill", "read"},
			Placeholder: func(o history.ClearedOutput) string {
				return o.After("[Output truncated - " + strconv.Itoa(o.Tokens) + " tokens]")
			},
		}},
		Cut:      history.Cut{Tokens: 20_000, SinceCompaction: true},
		Ask:      policy.Ask{Prompts: []policy.Prompt{Handoff{}.Prompt()}, Attempts: 4, RetryWait: 15 * time.Second},
		Replace:  policy.Replace{With: replacement},
		Continue: "Continue if you have next steps.",
		Branch:   policy.BranchPolicy{Reserve: 16_384, Prompt: prompts.BranchPrompt()},
	}
}
