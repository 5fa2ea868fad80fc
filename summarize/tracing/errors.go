package tracing

import (
	"errors"
	"strconv"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/failure"
)

// errorType returns the name of an error's kind, as [failure.Type] does. If that has no specific name, it is the
// HTTP status of a provider's refusal.
func errorType(err error) string {
	kind := failure.Type(err)
	if kind != "_OTHER" && kind != "transient" {
		return kind
	}
	if refused, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		return strconv.Itoa(refused.StatusCode())
	}
	if _, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return "budget_exceeded"
	}
	if _, ok := errors.AsType[*render.EmptyPromptError](err); ok {
		return "prompt_empty"
	}
	return kind
}
