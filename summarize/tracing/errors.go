package tracing

import (
	"errors"
	"strconv"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

// errorType names an error as [summarize.ErrorType] does; else by the HTTP status that a provider refused a request with.
func errorType(err error) string {
	kind := summarize.ErrorType(err)
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
	return kind
}
