package summarize

import "github.com/promptree-go/promptree/history"

// CopilotCLI is the policy of Copilot CLI. Its two environment variables count once [Policy.WithEnv] has read them:
//
//	policy, err := summarize.CopilotCLI().WithEnv(os.LookupEnv)
//
// Its checkpoints are written where [Compactor.Checkpoints] is set.
func CopilotCLI() Policy {
	return Policy{
		Name: "copilot-cli",
		Trigger: Trigger{
			{Ratio: 0.80, Messages: 4, Background: true, Env: "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"},
			{On: OnContextLimit},
			{On: OnDemand, Messages: 2},
			{On: OnModelSwitch, Ratio: 1, Above: true},
			{On: OnMemoryPressure, Messages: 4},
		},
		Background:  Background{Wait: 0.95, WaitEnv: "COPILOT_BUFFER_EXHAUSTION_THRESHOLD"},
		Overflow:    Overflow{Truncate: true},
		Cut:         history.CopilotCLICut(),
		Prompts:     []Prompt{ConversationCompactionPrompt()},
		Checks:      []Check{NotEmpty},
		Replacement: CompactedSession{}.Replacement,
		Record:      Record{Checkpoints: true},
	}
}
