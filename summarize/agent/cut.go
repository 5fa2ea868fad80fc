package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/summarize/event"
)

// ErrCutOff reports that the calls of two answers in a row were cut off. The results of both say so.
var ErrCutOff = errors.New("agent: two answers in a row were cut off within or after their tool calls: raise Agent.MaxTokens")

// notRun is the result of each call of an answer that was cut off.
const notRun = "Not run: the answer was cut off before it was complete, so no tool call in it was run. Make the call again, in smaller parts if its arguments are long."

// cutOff reports whether the calls of an answer may be incomplete, or others missing.
func cutOff(r chat.Response) bool {
	return len(r.Message.ToolCalls) > 0 && (r.StopReason == chat.StopMaxTokens || r.StopReason == chat.StopFiltered)
}

// wasCutOff reports whether the last message of the session is the result of a call that was cut off.
func (a *Agent) wasCutOff(ctx context.Context) (bool, error) {
	for e, err := range a.Compactor.Session.Back(ctx, "") {
		if err != nil {
			return false, err
		}
		if m, is := e.Body.(entry.Message); is {
			return m.Role == chat.RoleTool && m.Text() == notRun, nil
		}
	}
	return false, nil
}

// answerCut appends a failed result for each call of an answer that was cut off.
func (a *Agent) answerCut(ctx context.Context, calls []chat.ToolCall, again bool) ([]entry.Entry, error) {
	var results []chat.Message
	for _, call := range calls {
		results = append(results, chat.FailedResult(call.ID, notRun))
	}
	added, err := a.add(ctx, results...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("agent: appending the results of calls that were cut off: %w", err)
	case again:
		return added, ErrCutOff
	}
	return added, nil
}

// endEmpty ends a turn in which the model said nothing: the usage of the request is appended, and no message.
func (a *Agent) endEmpty(ctx context.Context, prompt elements.Node, answer Answer) (goOn bool, err error) {
	a.Compactor.Emit(ctx, event.Event{Kind: event.Empty, Asked: event.Asked{Model: a.Compactor.Current().Name, Usage: answer.Response.Usage}})
	if answer.Response.Usage != (chat.Usage{}) {
		write, done := callback.Outlive(ctx)
		defer done()
		if _, err := a.Compactor.Session.Add(write, entry.Entry{Body: a.Compactor.Usage(answer.Result, answer.Response, "")}); err != nil {
			return false, fmt.Errorf("agent: appending the usage of an empty answer: %w", err)
		}
	}
	if goOn, err = a.Compactor.AfterTurn(ctx, prompt); err != nil && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return goOn, nil
}
