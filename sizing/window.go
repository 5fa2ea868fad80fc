package sizing

import (
	"errors"
	"fmt"
	"math"

	"github.com/promptree-go/promptree/internal/clamp"
)

// DefaultTokens is the context window, in tokens, that is assumed for a model whose window is unknown if
// [Window.AllowUnknown] is set.
const DefaultTokens = 128_000

// marginDivisor: with tools, a tenth of the message part is kept free, as in Copilot Chat, because providers wrap tool
// definitions in text that cannot be counted exactly.
const marginDivisor = 10

// ErrUnknownWindow is returned for a [Window] without a size if AllowUnknown is not set.
var ErrUnknownWindow = errors.New("sizing: the context window is unknown")

// ThresholdError is returned for a threshold that is neither a ratio nor a number of tokens.
type ThresholdError struct{ Threshold float64 }

func (e *ThresholdError) Error() string {
	return fmt.Sprintf("sizing: threshold %v is ambiguous: give a ratio of the window (above 0, up to 1) or a number of tokens (100 or more)", e.Threshold)
}

// Window describes a model's context window and how much of it a prompt may use.
type Window struct {
	// Tokens of the context window. 0 means unknown, which is an error unless AllowUnknown is set.
	Tokens int
	// AllowUnknown assumes [DefaultTokens] if Tokens is 0. Off by default.
	AllowUnknown bool
	// Answer is the number of tokens kept free for the model's answer and the tokens that prime it, for models whose
	// window includes the answer. Defaults to 0.
	Answer int
	// Threshold lowers the budget: a ratio of the effective window (above 0, up to 1), or a number of tokens (100 or
	// more). Defaults to the whole effective window. Anything between 1 and 100, or below 0, is a [*ThresholdError].
	Threshold float64
	// ToolsInPrompt reports that the prompt itself holds the tools, as elements.Tool in its tree, so that their tokens
	// are part of the budget. Budget is then called with 0 tool tokens and still keeps a tenth free. Off by default.
	ToolsInPrompt bool
}

// Effective returns the number of tokens that a request may take: Tokens less Answer. It returns [ErrUnknownWindow] if
// Tokens is 0 and AllowUnknown is not set, and an error if Answer does not fit.
func (w Window) Effective() (int, error) {
	tokens := w.Tokens
	switch {
	case tokens == 0 && w.AllowUnknown:
		tokens = DefaultTokens
	case tokens == 0:
		return 0, fmt.Errorf("%w: set Window.Tokens, or Window.AllowUnknown to take 128,000", ErrUnknownWindow)
	case tokens < 0:
		return 0, fmt.Errorf("sizing: Window.Tokens is %d: want a number above 0", tokens)
	}
	if w.Answer < 0 || w.Answer >= tokens {
		return 0, fmt.Errorf("sizing: Window.Answer of %d tokens does not fit a window of %d: lower it", w.Answer, tokens)
	}
	return tokens - w.Answer, nil
}

// Budget returns the number of tokens that the messages of a prompt may take, at least 1. The rules are those of
// Copilot Chat:
//
//   - The base is the smaller of the threshold and the effective window.
//   - With tools, toolTokens are subtracted from the base, and a tenth of the rest is kept free. If ToolsInPrompt is
//     set, toolTokens are 0, and the tenth is kept free too.
//   - The result is at least 1.
func (w Window) Budget(toolTokens int) (int, error) {
	effective, err := w.Effective()
	if err != nil {
		return 0, err
	}
	if toolTokens < 0 {
		return 0, fmt.Errorf("sizing: the tools take %d tokens: want 0 or more", toolTokens)
	}
	threshold, err := w.threshold(effective)
	if err != nil {
		return 0, err
	}
	budget := min(threshold, effective)
	if toolTokens > 0 || w.ToolsInPrompt {
		budget -= toolTokens
		budget -= (budget-1)/marginDivisor + 1
	}
	return max(1, budget), nil
}

// threshold returns the threshold in tokens.
func (w Window) threshold(effective int) (int, error) {
	switch t := w.Threshold; {
	case t == 0:
		return effective, nil
	case t > 0 && t <= 1:
		return clamp.Share(t, effective), nil
	case t >= 100 && t <= math.MaxInt32:
		return int(t), nil
	case t > math.MaxInt32 && !math.IsInf(t, 1):
		return effective, nil
	default:
		return 0, &ThresholdError{Threshold: t}
	}
}
