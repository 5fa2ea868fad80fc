// Package modelerr converts errors of other libraries' models to the error types of package chat.
package modelerr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/summarize"
)

// Convert returns a model's error as a [*chat.ContextLimitError] or a [*chat.TransientError] if it is one of these, and
// otherwise with the name of the calling package. If the context ended, the error is its cause.
func Convert(ctx context.Context, pkg string, err error) error {
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

// statusOf returns the HTTP status of an error, which it may have only in its text, or 0 if it has none.
func statusOf(err error) int {
	if status := refusal.Status(err); status != 0 {
		return status
	}
	if found := statusText.FindStringSubmatch(err.Error()); found != nil {
		status, _ := strconv.Atoi(found[1])
		return status
	}
	return 0
}

// NotMade is the text in place of the calls of an answer that was cut off.
const NotMade = "(The answer was cut off, and no tool call in it was made.)"

// CutOff reports whether an answer that ended by a reason, in the words of any provider, was cut off or filtered, or
// failed, so that its calls may be incomplete. A reason that is not known is no end. Without a reason, it ended.
func CutOff(reason string) bool {
	calls := chat.Message{ToolCalls: []chat.ToolCall{{Name: "any"}}}
	stop, err := dialect.Stop(reason, "", calls, nil)
	return err != nil || stop == chat.StopMaxTokens || stop == chat.StopFiltered
}
