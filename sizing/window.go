package sizing

import (
	"errors"
	"fmt"
	"math"

	"github.com/promptree-go/promptree/internal/clamp"
)

// DefaultTokens is the context window, in tokens, that is taken for a model of unknown window where
// [Window.AllowUnknown] is set.
const DefaultTokens = 128_000

// marginDivisor: where tools are declared, a tenth of the message part is left free, as in Copilot Chat. Providers
// wrap tool definitions in text that cannot be counted exactly.
const marginDivisor = 10

// ErrUnknownWindow tells that a [Window] has no size and the caller did not allow a default.
var ErrUnknownWindow = errors.New("sizing: the context window is unknown: set Window.Tokens, or Window.AllowUnknown to take 128,000")

// ThresholdError tells that a threshold is neither a ratio nor a number of tokens.
type ThresholdError struct{ Threshold float64 }

func (e *ThresholdError) Error() string {
	return fmt.Sprintf("sizing: threshold %v is ambiguous: give a ratio of the window (above 0, up to 1) or a number of tokens (100 or more)", e.Threshold)
}

// Window says how much a model takes in and how much of it a prompt may use.
type Window struct {
	// Tokens of the context window. 0 means unknown, which is an error unless AllowUnknown is set.
	Tokens int
	// AllowUnknown takes [DefaultTokens] where Tokens is 0.
	AllowUnknown bool
	// Answer is the room, in tokens, kept free for the model's answer and what primes it, where both share the window.
	// Defaults to none.
	Answer int
	// Threshold lowers the budget: a ratio of the effective window (above 0, up to 1), or a number of tokens (100 or
	// more). Defaults to the whole effective window. Anything between 1 and 100, or below 0, is a [*ThresholdError].
	Threshold float64
	// ToolsInPrompt reports that the prompt itself holds the tools, as elements.Tool in its tree: what they take is part of the budget.
	// Budget is told 0 tokens for them then, and keeps a tenth free all the same. Off by default.
	ToolsInPrompt bool
}

// Effective is the number of tokens that a request may take: Tokens less Answer.
func (w Window) Effective() (int, error) {
	tokens := w.Tokens
	switch {
	case tokens == 0 && w.AllowUnknown:
		tokens = DefaultTokens
	case tokens == 0:
		return 0, ErrUnknownWindow
	case tokens < 0:
		return 0, fmt.Errorf("sizing: a window of %d tokens", tokens)
	}
	if w.Answer < 0 || w.Answer >= tokens {
		return 0, fmt.Errorf("sizing: an answer of %d tokens does not fit a window of %d", w.Answer, tokens)
	}
	return tokens - w.Answer, nil
}

// Budget is the number of tokens that the messages of a prompt may take, at least 1. The rules are those of Copilot
// Chat:
//
//   - The base is the smaller of the threshold and the effective window.
//   - Where tools are declared, their toolTokens go off the base, and a tenth of what is left is kept free. With ToolsInPrompt
//     toolTokens are 0, and the tenth is kept.
//   - What remains is never below 1.
func (w Window) Budget(toolTokens int) (int, error) {
	effective, err := w.Effective()
	if err != nil {
		return 0, err
	}
	if toolTokens < 0 {
		return 0, fmt.Errorf("sizing: tools of %d tokens", toolTokens)
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

// threshold is the threshold in tokens.
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
