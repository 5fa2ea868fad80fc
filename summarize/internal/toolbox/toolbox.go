// Package toolbox answers the calls of a model by toolboxes. It is the one place in which mistakes, errors, panics, time
// limits and parallel calls are treated.
package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
)

const (
	// defaultLimit is how long a call may take if no other limit is given.
	defaultLimit = 10 * time.Minute
	// parallel is how many calls are answered at once.
	parallel = 8
	// maxReason is the length of the text of a failed result, in bytes.
	maxReason = 4000
)

// Boxes are the toolboxes of a conversation.
type Boxes struct {
	limit     time.Duration // of a call
	list      []chat.Toolbox
	turns     []*turn // of each toolbox
	compactor *summarize.Compactor
}

// turn is held by the call of a toolbox that must be answered alone.
type turn struct {
	held chan struct{}
	runs atomic.Int32 // such calls that have not returned
}

// New returns toolboxes of which each call is answered for a compactor's session, within a limit, which defaults to ten
// minutes. The compactor's observers hear of what fails, but of no mistakes of the model.
func New(list []chat.Toolbox, c *summarize.Compactor, limit time.Duration) *Boxes {
	b := &Boxes{list: list, compactor: c, limit: cmp.Or(max(0, limit), defaultLimit)}
	for range list {
		b.turns = append(b.turns, &turn{held: make(chan struct{}, 1)})
	}
	return b
}

// For returns the toolboxes for another compactor's session: the same, if the list is.
func (b *Boxes) For(c *summarize.Compactor, list []chat.Toolbox) *Boxes {
	if len(list) == 0 || len(b.list) != len(list) || &list[0] != &b.list[0] {
		return New(list, c, b.limit)
	}
	other := *b
	other.compactor = c
	return &other
}

// Or returns the toolboxes of a conversation, the others if it has none of its own.
func Or(list, others []chat.Toolbox) []chat.Toolbox {
	if list == nil {
		return others
	}
	return list
}

// Fixed returns the tools of all toolboxes, for who declares them once.
func (b *Boxes) Fixed() ([]chat.Tool, error) {
	return b.declared(func(box chat.Toolbox) ([]chat.Tool, error) { return box.Declared(), nil })
}

// bound returns a toolbox with the defaults of the conversation. of is the number of calls that are answered together.
func (b *Boxes) bound(box chat.Toolbox, of int) chat.Toolbox {
	switch t := box.(type) {
	case *recall.Tools:
		return b.bound(*t, of)
	case recall.Tools:
		target := b.compactor.Current()
		t.Session = cmp.Or(t.Session, b.compactor.Session)
		if t.MaxTokens == 0 {
			t.MaxTokens, t.Tokenizer = target.Budget/max(8, 4*of), target.Tokenizer
		}
		return t
	case *summarize.CompactTool:
		return b.bound(*t, of)
	case summarize.CompactTool:
		t.Compactor = cmp.Or(t.Compactor, b.compactor)
		return t
	}
	return box
}

// BeforeStep makes a compaction that the model has asked for by a [summarize.CompactTool], also by one in another type.
func (b *Boxes) BeforeStep(ctx context.Context) error {
	for _, box := range b.list {
		t, runs := b.bound(box, 1).(interface {
			Run(context.Context) (bool, error)
		})
		if runs && slices.ContainsFunc(box.Declared(), func(t chat.Tool) bool { return t.Name == summarize.CompactToolName }) {
			if _, err := t.Run(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Declared returns the tools of all toolboxes for a prompt of the given limits, and an element for that prompt by which
// it is checked that it has the elements that the toolboxes need, and what other marks say.
func (b *Boxes) Declared(ctx context.Context, s elements.Sizing, others ...any) ([]chat.Tool, elements.Node, error) {
	ctx, collected := marks.In(ctx)
	list, err := b.declared(func(box chat.Toolbox) ([]chat.Tool, error) {
		return guard.Call(ctx, fmt.Sprintf("toolbox %T", box), 0, func(ctx context.Context) ([]chat.Tool, error) {
			if sized, ok := box.(elements.SizedToolbox); ok {
				return sized.DeclaredFor(ctx, s)
			}
			return box.Declared(), nil
		})
	})
	return list, wanted{marks: append(collected.Marks(), others...)}, err
}

// declared returns the tools of all toolboxes.
func (b *Boxes) declared(of func(chat.Toolbox) ([]chat.Tool, error)) (list []chat.Tool, err error) {
	for _, box := range b.list {
		if b.compactor != nil {
			box = b.bound(box, 1)
		}
		if t, ok := box.(recall.Tools); ok && t.Session != nil && !t.Session.Recall() {
			return nil, recall.ErrUnmarked
		}
		tools, err := of(box)
		if err != nil {
			return nil, err
		}
		for _, t := range tools {
			if slices.ContainsFunc(list, func(o chat.Tool) bool { return o.Name == t.Name }) {
				return nil, fmt.Errorf("two toolboxes declare a tool %q: leave one of them out", t.Name)
			}
		}
		list = append(list, tools...)
	}
	return list, nil
}

// wanted is an element that shows nothing and adds marks.
type wanted struct{ marks []any }

// Render adds the marks.
func (w wanted) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	for _, m := range w.marks {
		marks.Add(ctx, m)
	}
	return nil, nil
}

// IgnoresBudget marks the element as one whose size does not depend on its share of the budget.
func (wanted) IgnoresBudget() {}

// Repeatable reports whether a call may be answered again if nobody knows whether it was.
func (b *Boxes) Repeatable(ctx context.Context, call chat.ToolCall) bool {
	return slices.ContainsFunc(b.list, func(box chat.Toolbox) bool { return b.rules(ctx, box, call).Again })
}

func (b *Boxes) rules(ctx context.Context, box chat.Toolbox, call chat.ToolCall) chat.CallRules {
	ruled, ok := b.bound(box, 1).(chat.RuledToolbox)
	if !ok {
		return chat.CallRules{}
	}
	rules, _ := guard.Value(ctx, "tool "+call.Name, func() chat.CallRules { return ruled.CallRules(call) })
	return rules
}

// answered is what a toolbox made of a call.
type answered struct {
	result chat.Message
	ok     bool
	failed error // what the application should hear of
}

// Answer returns the result of a call, and false if no toolbox has the tool. of is the number of calls that are answered
// together. The error is the cause of the context's end; everything else that goes wrong is a failed result.
func (b *Boxes) Answer(ctx context.Context, call chat.ToolCall, of int) (chat.Message, bool, error) {
	return b.answer(ctx, call, of, make(chan struct{}, 1))
}

// answer is Answer with a slot for each call that may run at once.
func (b *Boxes) answer(ctx context.Context, call chat.ToolCall, of int, slots chan struct{}) (chat.Message, bool, error) {
	for i, box := range b.list {
		a, err := b.ask(ctx, i, box, call, of, slots)
		if err != nil {
			return chat.Message{}, false, err
		}
		if a.failed != nil {
			b.compactor.Emit(ctx, event.Event{Kind: event.ToolFailed, Function: call.Name, Err: a.failed})
		}
		if a.ok {
			return a.result, true, nil
		}
	}
	return chat.Message{}, false, nil
}

var errStuck = errors.New("not run: an earlier call has not returned, and only one may run at a time")

// ask has one toolbox answer a call.
func (b *Boxes) ask(ctx context.Context, at int, box chat.Toolbox, call chat.ToolCall, of int, slots chan struct{}) (answered, error) {
	t := b.turns[at]
	alone := b.rules(ctx, box, call).Alone
	if alone {
		select {
		case t.held <- struct{}{}:
		case <-ctx.Done():
			return answered{}, context.Cause(ctx)
		}
		defer func() { <-t.held }()
		if t.runs.Load() > 0 {
			return answered{result: chat.FailedResult(call.ID, errStuck.Error()), ok: true, failed: errStuck}, nil
		}
	}
	slots <- struct{}{} // after the turn, so that no call that waits for its turn holds one
	defer func() { <-slots }()
	a, err := guard.Call(ctx, "tool "+plaintext.OneLine(call.Name, 128), b.limit, func(ctx context.Context) (answered, error) {
		if alone {
			t.runs.Add(1)
			defer t.runs.Add(-1)
		}
		result, ok, err := b.have(ctx, b.bound(box, of), call)
		if err != nil && ctx.Err() != nil {
			return answered{}, err
		}
		return resultOf(call, result, ok, err), nil
	})
	if err == nil {
		return a, nil
	}
	if ctx.Err() != nil {
		return answered{}, guard.EndCause(ctx, err)
	}
	return answered{result: chat.FailedResult(call.ID, reason(err)), ok: true, failed: err}, nil
}

// have has a toolbox answer a call. The compactor's observers hear what changes with it.
func (b *Boxes) have(ctx context.Context, box chat.Toolbox, call chat.ToolCall) (chat.Message, bool, error) {
	if r, ok := box.(chat.ReportingToolbox); ok {
		return r.AnswerReporting(ctx, call, func(change fmt.Stringer) {
			b.compactor.Emit(ctx, event.Event{Kind: event.SourceChanged, Why: change.String()})
		})
	}
	return box.Answer(ctx, call)
}

// resultOf returns the result of a call from what a toolbox returned.
func resultOf(call chat.ToolCall, result chat.Message, ok bool, err error) answered {
	mistake, mistaken := errors.AsType[*chat.ArgumentError](err)
	switch {
	case mistaken:
		return answered{result: chat.FailedResult(call.ID, reason(errors.New(mistake.Reason))), ok: true}
	case err != nil:
		return answered{result: chat.FailedResult(call.ID, reason(err)), ok: true, failed: err}
	case !ok:
		return answered{}
	case result.Role == "" && len(result.Content) == 0:
		err = fmt.Errorf("the toolbox of %s returned no message: return a chat.ToolResult, also if there is no output", plaintext.OneLine(call.Name, 128))
		return answered{result: chat.FailedResult(call.ID, "The tool returned no result."), ok: true, failed: err}
	}
	return answered{result: chat.Message{Role: chat.RoleTool, ToolCallID: call.ID, Content: result.Content, IsError: result.IsError}, ok: true}
}

// reason returns an error as the text of a failed result.
func reason(err error) string {
	if late, ok := errors.AsType[*policy.TimeoutError](err); ok {
		err = fmt.Errorf("the tool did not return within %v", late.After)
	} else if e, ok := errors.AsType[*chat.CallbackError](err); ok {
		err = fmt.Errorf("the tool failed: %w", e.Err)
	}
	return cmp.Or(strings.TrimSpace(plaintext.Cut(strings.ToValidUTF8(err.Error(), "�"), maxReason)), "The tool failed.")
}

// AnswerAll answers calls, up to eight at once, and calls add with each result as it ends, never concurrently. It returns
// the calls that no toolbox has. The error is that of add, or the cause of the context's end; a call that was not answered
// by then stays without a result.
func (b *Boxes) AnswerAll(ctx context.Context, calls []chat.ToolCall, add func(chat.ToolCall, chat.Message) error) (open []chat.ToolCall, err error) {
	type outcome struct {
		at     int
		result chat.Message
		ok     bool
		err    error
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done, slots := make(chan outcome), make(chan struct{}, parallel)
	for i, call := range calls {
		go func() {
			o := outcome{at: i}
			o.result, o.ok, o.err = b.answer(ctx, call, len(calls), slots)
			done <- o
		}()
	}
	left := make([]bool, len(calls))
	for range calls {
		o := <-done
		switch {
		case o.err == nil && o.ok:
			o.err = add(calls[o.at], o.result)
		case o.err == nil:
			left[o.at] = true
		}
		if o.err != nil && err == nil {
			err = o.err
			cancel(err)
		}
	}
	for i, call := range calls {
		if left[i] {
			open = append(open, call)
		}
	}
	return open, err
}
