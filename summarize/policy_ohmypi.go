package summarize

import "github.com/promptree-go/promptree/history"

// OhMyPi is the policy of oh-my-pi. What may be set there is a field here: whether it is on (Off), the reserve
// (Trigger[0].Reserve), how much is kept (Cut.Tokens), what is said afterwards (Continue), and whether branches that are left
// are summarised (Branch). A remote endpoint is a [Remote] in place of the model.
func OhMyPi() Policy {
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
		Before:      history.OhMyPiPrune(),
		Cut:         history.OhMyPiCut(),
		Prompts:     []Prompt{Handoff{}.Prompt()},
		Models:      Models{Attempts: 4, Next: Transient},
		Checks:      []Check{NotEmpty, NoTags()},
		Replacement: SummaryWithFiles,
		Branch:      BranchPolicy{Reserve: 16_384, Prompt: BranchPrompt()},
	}
}
