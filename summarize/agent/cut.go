package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// ErrCutOff reports that the calls of two answers in a row were cut off. The results of both say so.
var ErrCutOff = errors.New("agent: two answers in a row were cut off within or after their tool calls: raise Agent.MaxTokens")

// notRun is the result of each call of an answer that was cut off.
const notRun = "Not run: the answer was cut off before it was complete, so no tool call in it was run. Make the call again, in smaller parts if its arguments are long."

// cutOff reports whether the calls of an answer may be incomplete, or others missing.
func cutOff(r chat.Response) bool {
	return len(r.Message.ToolCalls) > 0 && (r.StopReason == chat.StopMaxTokens || r.StopReason == chat.StopFiltered)
}

// answerCut appends a failed result for each call of an answer that was cut off. The error is [ErrCutOff] if the message
// before the answer is such a result too.
func (a *Agent) answerCut(ctx context.Context, answer entry.Entry, calls []chat.ToolCall) ([]entry.Entry, error) {
	again := false
	for e, err := range a.Compactor.Session.Back(ctx, answer.Parent) {
		if err != nil {
			return nil, err
		}
		if m, is := e.Body.(entry.Message); is {
			again = m.Role == chat.RoleTool && m.Text() == notRun
			break
		}
	}
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
