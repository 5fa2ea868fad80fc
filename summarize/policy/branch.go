package policy

// BranchPolicy says how a branch is summarised when the session leaves it (summarize.Compactor.Navigate).
type BranchPolicy struct {
	// On makes a summary of each branch that is left. Off by default.
	On bool
	// Reserve is how many tokens of the context window the messages of the branch must leave free, at most half of the
	// window. Defaults to 16,384.
	Reserve int
	// Prompt to ask a model with. Defaults to prompts.BranchPrompt.
	Prompt Prompt
}
