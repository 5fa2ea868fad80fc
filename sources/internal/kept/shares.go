package kept

import (
	"math"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/clamp"
)

// The shares of a prompt's budget that sources take where the application sets none. Rest is what they leave for the
// conversation if all are used up.
const (
	Catalogue    = 0.05 // of skills, a line each
	Loaded       = 0.25 // texts of loaded skills
	Instructions = 0.25 // instruction files
	Idle         = 0.05 // the tools that search and call others, with the names of those
	Found        = 0.10 // definitions of tools that were found
	Rest         = 1 - (Catalogue + Loaded + Instructions + Idle + Found)
)

// Share returns the tokens of a share of a prompt's budget, up to all of it, or of its default if none is given.
func Share(given, otherwise float64, s elements.Sizing) int {
	if given > 0 {
		otherwise = min(given, 1)
	}
	return clamp.Share(otherwise, s.PromptBudget)
}

// Room returns the tokens of a [Share], up to half because larger results are cut ([history.RoundLimits]), that are left for
// texts in a [Message] with a head. Before the first render it is any number.
func Room(given, otherwise float64, head string, s elements.Sizing) int {
	if s.Tokenizer == nil {
		return math.MaxInt
	}
	return Share(min(given, 0.5), otherwise, s) - s.Tokenizer.CountText(head) - 8
}
