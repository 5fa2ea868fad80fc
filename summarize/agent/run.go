package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/plan"
)

// Limits are the limits of a run, and of a call. The zero value has the defaults.
type Limits struct {
	// Steps of a run. Defaults to 200.
	Steps int
	// Time of a run, tools included. What runs when it is over ends. None by default.
	Time time.Duration
	// Dollars that the session may cost: the requests of the agent, of this run and earlier ones, by their usage entries.
	// Requests for summaries are not among them. The target must have prices. None by default.
	Dollars float64
	// Call is how long a call of a tool may take. Defaults to 10 minutes.
	Call time.Duration
}

// LimitError is returned by [Agent.Run] for a run that has reached a limit. Nothing is lost: raise the limit and run again
// with an empty text.
type LimitError struct {
	// Limit is the name of the field of [Limits].
	Limit string
	// Steps that were made, and what the session has cost in US dollars, if Dollars is limited.
	Steps   int
	Dollars float64
	// Unpriced is the number of requests in the session whose cost is not known. Dollars does not hold it.
	Unpriced int
	// Limits that held.
	Limits Limits
}

func (e *LimitError) Error() string {
	var what string
	switch e.Limit {
	case "Steps":
		what = fmt.Sprintf("%d steps were made", e.Steps)
	case "Time":
		what = fmt.Sprintf("the time of %v is over", e.Limits.Time)
	default:
		what = fmt.Sprintf("the session has cost $%.4f of $%.4f", e.Dollars, e.Limits.Dollars)
		if e.Unpriced > 0 {
			what += fmt.Sprintf(", and %d requests of which no cost is known", e.Unpriced)
		}
	}
	return fmt.Sprintf("agent: the run has reached a limit: %s: raise Limits.%s and run again with an empty text to go on", what, e.Limit)
}

// ErrTurnOver is the error of [Agent.Run] if a run was to go on, and there is nothing to answer.
var ErrTurnOver = errors.New("agent: the turn is over, and nothing was said: run with a text")

// interrupted is the result of a call of which nobody knows whether it was answered.
const interrupted = "Interrupted: the run ended before this call had a result. Whether the tool did anything is not known."

// Run says a text in the user's place, makes steps and answers calls until the model has finished, and returns its last
// answer. With an empty text it goes on with a turn that has not finished, after an error, a limit or the end of the
// process. Calls that still have no result are answered first: again, if the toolbox says that this is safe
// ([chat.CallRules].Again), or else as interrupted.
//
// If the model calls tools of the target that no toolbox has, Run returns the answer with the calls in [Answer].Open. A
// tool that is not declared is answered by a failed result.
//
// The errors are a [*LimitError], [ErrTurnOver], one of a limit in dollars without prices, that of OnStep and those of
// [Agent.Step].
func (a *Agent) Run(ctx context.Context, text string) (answer Answer, err error) {
	if a.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.Limits.Time, &LimitError{Limit: "Time", Limits: a.Limits})
		defer cancel()
	}
	defer func() {
		if limit, ok := context.Cause(ctx).(*LimitError); ok && err != nil {
			err = limit
		}
	}()
	if a.Compactor == nil || a.Compactor.Session == nil {
		return a.Step(ctx) // which returns the error
	}
	if _, err := a.offer(ctx); err != nil {
		return answer, err
	}
	if err := a.say(ctx, text); err != nil {
		return answer, err
	}
	spent := spending{counted: map[string]bool{}}
	for steps := 0; ; steps++ {
		if err := a.within(ctx, steps, &spent); err != nil {
			return answer, err
		}
		if answer, err = a.Step(ctx); err != nil {
			return answer, err
		}
		answer.Open, err = a.refuse(ctx, answer)
		if err == nil && a.OnStep != nil {
			var failed error
			if err = guard(ctx, "Agent.OnStep", func() { failed = a.OnStep(ctx, answer) }); err == nil {
				err = failed
			}
		}
		if err != nil || len(answer.Open) > 0 {
			return answer, err
		}
		if len(answer.Message().ToolCalls) == 0 && !answer.GoOn {
			return answer, nil
		}
	}
}

// say answers the calls that are open, and says a text.
func (a *Agent) say(ctx context.Context, text string) error {
	view, err := a.Compactor.Session.View(ctx)
	if err != nil {
		return err
	}
	var calls []chat.ToolCall
	for _, t := range slices.Backward(view.Turns) {
		if n := len(t.Rounds); n > 0 {
			calls = t.Rounds[n-1].Aborted()
			break
		}
	}
	again := slices.DeleteFunc(slices.Clone(calls), func(c chat.ToolCall) bool { return !a.boxes.Repeatable(ctx, c) })
	if _, _, err := a.answerCalls(ctx, again); err != nil {
		return err
	}
	var said []chat.Message
	for _, c := range calls {
		if !slices.ContainsFunc(again, func(o chat.ToolCall) bool { return o.ID == c.ID }) {
			said = append(said, chat.FailedResult(c.ID, interrupted))
		}
	}
	if strings.TrimSpace(text) != "" {
		said = append(said, chat.UserMessage(text))
	}
	if len(said) > 0 {
		_, err := a.add(ctx, said...)
		return err
	}
	if messages := view.Messages(); len(calls) == 0 && len(messages) > 0 && messages[len(messages)-1].Role == chat.RoleAssistant {
		return ErrTurnOver
	}
	return nil
}

// refuse answers the open calls of tools that are not declared, and returns the others.
func (a *Agent) refuse(ctx context.Context, answer Answer) (open []chat.ToolCall, err error) {
	declared := plan.Declared(a.Compactor.Current(), answer.Result.Tools)
	for _, c := range answer.Open {
		if slices.ContainsFunc(declared, func(t chat.Tool) bool { return t.Name == c.Name }) {
			open = append(open, c)
			continue
		}
		if _, err := a.add(ctx, chat.FailedResult(c.ID, "There is no tool of this name: call one that is declared.")); err != nil {
			return open, err
		}
	}
	return open, nil
}

// spending is what a session has cost.
type spending struct {
	counted  map[string]bool // usage entries
	dollars  float64
	unpriced int
}

// within returns an error if another step would exceed a limit.
func (a *Agent) within(ctx context.Context, steps int, spent *spending) error {
	reached := func(limit string) error {
		return &LimitError{Limit: limit, Steps: steps, Dollars: spent.dollars, Unpriced: spent.unpriced, Limits: a.Limits}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a.Limits.Dollars > 0 {
		if err := a.spend(ctx, spent); err != nil {
			return err
		}
		if spent.dollars >= a.Limits.Dollars {
			return reached("Dollars")
		}
	}
	if steps >= cmp.Or(max(0, a.Limits.Steps), 200) {
		return reached("Steps")
	}
	return nil
}

// spend adds the costs of the session's new usage entries. The first time, it reads the whole session, all branches.
func (a *Agent) spend(ctx context.Context, spent *spending) error {
	session := a.Compactor.Session
	if a.Compactor.Current().Prices == (sizing.Prices{}) {
		return errors.New("agent: Limits.Dollars is set, and the prices of the model are not known: set Target.Prices, or leave Dollars out")
	}
	entries, first := session.Back(ctx, ""), len(spent.counted) == 0
	if first {
		entries = session.Entries(ctx)
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		u, ok := e.Body.(entry.Usage)
		if !ok {
			continue
		}
		if spent.counted[e.ID] {
			break // the others of the path were counted too
		}
		spent.counted[e.ID] = true
		if spent.dollars += u.Cost; u.Cost == 0 {
			spent.unpriced++
		}
	}
	if spent.unpriced > 0 && !a.unpriced {
		a.unpriced = true
		a.Compactor.Emit(ctx, event.Event{Kind: event.Noted, Why: fmt.Sprintf("the cost of %d requests of the session is not known, so Limits.Dollars does not hold it", spent.unpriced)})
	}
	return nil
}
