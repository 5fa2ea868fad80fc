package summarize

import "github.com/promptree-go/promptree/history"

// A3S is the policy of A3S. There it is off unless somebody asks for it; to take this value is to ask. Messages before and
// after are told by [EventDone] and, where leaving out old tool output sufficed, by [EventPruned].
func A3S() Policy {
	return Policy{
		Name:        "a3s",
		Trigger:     Trigger{{Ratio: 0.80}},
		Reported:    true,
		Before:      history.A3SClear(),
		Cut:         history.A3SCut(),
		Prompts:     []Prompt{TurnsPrompt()},
		Replacement: TurnsSummary,
	}
}
