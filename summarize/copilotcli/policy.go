package copilotcli

import (
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
)

// Name of the policy.
const Name = "copilot-cli"

// Policy returns the policy of Copilot CLI, a new value each time. [summarize.Policy.WithEnv] reads its two environment
// variables:
//
//	policy, err := copilotcli.Policy().WithEnv(os.LookupEnv)
//
// A prompt that does not fit is compacted at once. Copilot CLI begins a summary in the background and truncates that
// one request, which loses part of what a compaction would have kept. For that order, set:
//
//	policy.Background.Always = true
//
// Its checkpoints are written if [summarize.Compactor.Checkpoints] is set.
func Policy() summarize.Policy {
	return summarize.Policy{
		Name:    Name,
		Measure: summarize.Measure{LoweredBase: true},
		Trigger: summarize.Trigger{
			{Ratio: 0.80, Messages: 4, Background: true, Env: "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"},
			{On: summarize.OnContextLimit},
			{On: summarize.OnDemand, Messages: 2},
			{On: summarize.OnModelSwitch, Ratio: 1, Above: true},
			{On: summarize.OnMemoryPressure, Messages: 2},
		},
		Background: summarize.Background{Wait: 0.95, WaitEnv: "COPILOT_BUFFER_EXHAUSTION_THRESHOLD"},
		Cut:        history.Cut{ToolBoundary: true},
		Ask:        summarize.Ask{Prompts: []summarize.Prompt{Prompt()}},
		Place:      summarize.Place{Replacement: CompactedSession{}.Replacement, Checkpoints: true},
		Overflow:   summarize.Overflow{LastResort: summarize.ResortTruncate},
	}
}
