// Package modelerr gives the errors of other libraries' models the types that package chat has for them.
package modelerr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/summarize"
)

// Named returns an error of a model as package chat has them, or else with the name of the package that asked. That of a context
// that ended is its cause.
func Named(ctx context.Context, pkg string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, over := errors.AsType[*chat.ContextLimitError](err)
	_, passing := errors.AsType[*chat.TransientError](err)
	if over || passing {
		return err
	}
	if sizes, large := summarize.ContextLimit(err); large {
		return &chat.ContextLimitError{Limit: sizes.Limit, Tokens: sizes.Tokens, Err: err}
	}
	switch status := statusOf(err); {
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= http.StatusInternalServerError, status == 0 && provider.Lost(err):
		return &chat.TransientError{Err: err}
	}
	return fmt.Errorf("%s: the model: %w", pkg, err)
}

var statusText = regexp.MustCompile(`(?i)\bstatus(?: code)?:? (\d{3})\b`)

// statusOf returns the HTTP status of an error, 0 if it has none. Each client has a type of its own for that.
func statusOf(err error) int {
	if coded, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		return coded.StatusCode()
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		v := reflect.Indirect(reflect.ValueOf(e))
		if v.Kind() != reflect.Struct {
			continue
		}
		for _, name := range []string{"HTTPStatusCode", "StatusCode", "Code"} {
			if f := v.FieldByName(name); f.IsValid() && f.CanInt() && f.Int() >= 100 {
				return int(f.Int())
			}
		}
	}
	if found := statusText.FindStringSubmatch(err.Error()); found != nil {
		status, _ := strconv.Atoi(found[1])
		return status
	}
	return 0
}
