package summarize

import "github.com/promptree-go/promptree/history"

// OhMyPi is the policy of oh-my-pi. What may be set there is a field here: whether it is on (Off), the reserve
// (Trigger[0].Reserve), how much is kept (Cut.Tokens; of a window below 60,000 tokens a third), what is said afterwards (Continue), and whether branches that are left
// are summarised (Branch). A remote endpoint is a [Remote] in place of the model.
func OhMyPi() Policy {
	cut := history.OhMyPiCut()
	cut.Share = 1.0 / 3 // in a small window what is kept would be more than what the reserve leaves
	return Policy{
		Name: "oh-my-pi",
		Trigger: Trigger{
			{Reserve: 16_384, Above: true},
			{On: OnContextLimit},
			{On: OnDemand},
		},
		Reported:    true,
		Overflow:    Overflow{Attempts: 1},
		Continue:    "Continue if you have next steps.",
		Before:      history.OhMyPiClear(),
		Cut:         cut,
		Prompts:     []Prompt{Handoff{}.Prompt()},
		Models:      Models{Attempts: 4, Next: Transient},
		Checks:      []Check{NotEmpty},
		Replacement: SummaryWithFiles,
		Branch:      BranchPolicy{Reserve: 16_384, Prompt: BranchPrompt()},
	}
}
