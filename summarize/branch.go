package summarize

// BranchPolicy says how what was done on a branch is summarised when the session leaves it ([Compactor.Navigate]).
type BranchPolicy struct {
	// On makes such summaries. Defaults to not.
	On bool
	// Reserve is how many tokens of the summarising model's window are not used for the branch. Defaults to 16,384, or to
	// half of a window that is smaller than twice that.
	Reserve int
	// Prompt by which a model is asked. Needed where On is set and somebody wants a summary.
	Prompt Prompt
	// Stand makes the text that is kept of the summary. Defaults to the summary.
	Stand func(Material) string
}
