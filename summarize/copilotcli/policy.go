package copilotcli

import (
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Policy returns the policy of Copilot CLI, a new value each time. [policy.Policy.WithEnv] reads its two environment
// variables:
//
//	policy, err := copilotcli.Policy().WithEnv(os.LookupEnv)
//
// A prompt that does not fit is compacted at once. Copilot CLI begins a summary in the background and truncates that
// one request, which loses part of what a compaction would have kept. For that order, set:
//
//	p.Background.Always = true
//
// Its checkpoints are written if [summarize.Compactor.Checkpoints] is set.
func Policy() policy.Policy {
	return policy.Policy{
		Name:     "copilot-cli",
		Counting: policy.Counting{LoweredBase: true},
		Trigger: policy.Trigger{
			{Ratio: 0.80, Messages: 4, Background: true, Env: "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"},
			{On: policy.OnContextLimit},
			{On: policy.OnDemand, Messages: 2},
			{On: policy.OnModelSwitch, Ratio: 1, Above: true},
			{On: policy.OnMemoryPressure, Messages: 2},
		},
		Background: policy.Background{Wait: 0.95, WaitEnv: "COPILOT_BUFFER_EXHAUSTION_THRESHOLD"},
		Cut:        history.Cut{ToolBoundary: true},
		Ask:        policy.Ask{Prompts: []policy.Prompt{prompt()}},
		Replace:    policy.Replace{With: CompactedSession{}.Replacement, Checkpoints: true},
		Overflow:   policy.Overflow{LastResort: policy.ResortTruncate},
	}
}
