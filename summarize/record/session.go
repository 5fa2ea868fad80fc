package record

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
)

// Session returns the steps of a finished session, from its log alone. Each assistant message on the path to the leaf
// is a step. It shows what the session's view was before the message, and the compactions and clearings since the last
// step.
//
// System messages, tools and budgets are not in a log, so they are missing; apart is the number of their tokens in each
// request, 0 if unknown. Tokens are those of the messages, counted by the tokenizer, and apart. Dollars are those that
// were recorded, or else computed from the prices. A request whose cache was lost is one of which the provider read
// less than half of what it had. The errors are those of the session and of the tokenizer.
//
// The log holds each different text of the session once, as the page does; the session itself is read one view at a
// time. A session of 500 requests takes some seconds.
func Session(ctx context.Context, s *history.Session, t chat.Tokenizer, apart int, prices sizing.Prices) (*inspect.Steps, error) {
	w := walk{session: s, tokenizer: t, apart: apart, prices: prices, usage: map[string]entry.Usage{}}
	for e, err := range s.PathTo(ctx, "") { // first, because an answer's usage comes after it
		if err != nil {
			return nil, fmt.Errorf("record: entry %s: %w", e.ID, err)
		}
		if body, is := e.Body.(entry.Usage); is {
			w.usage[cmp.Or(body.Of, e.Parent)] = body
		}
	}
	log := new(inspect.Steps)
	for e, err := range s.PathTo(ctx, "") {
		if err == nil {
			err = w.entry(ctx, e, log)
		}
		if err != nil {
			return log, fmt.Errorf("record: entry %s: %w", e.ID, err)
		}
	}
	return log, nil
}

// walk makes the steps of a session from its entries.
type walk struct {
	session   *history.Session
	tokenizer chat.Tokenizer
	apart     int
	prices    sizing.Prices
	usage     map[string]entry.Usage // by the answer's entry
	model     string
	plan      entry.Plan   // the last
	next      inspect.Step // collects what happened since the last step
	last      inspect.Step
	kept      time.Duration // at least, of what it wrote for the longer lifetime
}

// entry adds an entry to the next step. If it is an answer, the step is complete, and is added to the log.
func (w *walk) entry(ctx context.Context, e entry.Entry, log *inspect.Steps) error {
	switch body := e.Body.(type) {
	case entry.ModelChange:
		w.model = body.Model
	case entry.Plan:
		w.plan = body
	case entry.Compaction:
		before, after, err := viewsAround(ctx, w.session, e)
		done := inspect.StepCompaction{
			Before: cmp.Or(body.TokensBefore, w.count(before)), After: cmp.Or(body.TokensAfter, w.count(after)), Mode: body.Mode, Model: body.Model,
			Shown: body.Messages, Covered: removed(before, after),
		}
		if body.Plan != "" {
			done.Reason, done.Why = w.plan.Occasion, w.plan.Why
		}
		w.next.Compactions = append(w.next.Compactions, done)
		return err
	case entry.Clearing:
		before, after, err := viewsAround(ctx, w.session, e)
		w.next.Cleared += w.count(before) - w.count(after)
		return err
	case entry.Message:
		if body.Role != chat.RoleAssistant {
			return nil
		}
		result, err := w.render(ctx, e.Parent)
		if err != nil || len(result.Messages) == 0 {
			return err
		}
		usage := w.usage[e.ID]
		step := w.next
		step.Rendered = inspect.Rendered{Result: result, Model: w.model, Tokenizer: w.tokenizer, Prices: w.prices, NoBudget: true, Apart: w.apart}
		step.At, step.Did, step.Usage, step.Dollars = e.Time, oneLine(body.Message), usage.Usage, cmp.Or(usage.Cost, w.prices.Of(usage.Usage).Total())
		step.Break, step.Lost = w.cacheLost(step)
		if w.kept = 0; step.Usage.CacheWriteLong > 0 {
			w.kept = cmp.Or(w.prices.LongLifetime, time.Hour)
		}
		w.next, w.last = inspect.Step{}, step
		return log.Add(ctx, step)
	}
	return nil
}

// cacheLost returns a cache break if the provider read less than half of what it had of the request before, although
// nothing was compacted or cleared, or if that is because the cache had expired, says so.
func (w *walk) cacheLost(step inspect.Step) (broke, expired *inspect.StepCacheBreak) {
	was, is := w.last.Usage, step.Usage
	n := min(was.CacheRead+was.CacheWrite, is.Input)
	if is.CacheUnknown || 2*is.CacheRead >= n || len(step.Compactions) > 0 || step.Cleared > 0 {
		return nil, nil
	}
	n -= is.CacheRead
	written, read := w.prices.Of(chat.Usage{Input: n, CacheWrite: n}), w.prices.Of(chat.Usage{Input: n, CacheRead: n})
	after := step.At.Sub(w.last.At)
	lost := &inspect.StepCacheBreak{
		Why:    fmt.Sprintf("The provider read %d tokens from its cache, %v after the request before", is.CacheRead, after.Round(time.Second)),
		Tokens: n, Dollars: written.Total() - read.Total(),
	}
	if after > max(cmp.Or(w.prices.Lifetime, 5*time.Minute), w.kept) {
		return nil, lost
	}
	return lost, nil
}

// render renders the session's view at an entry.
func (w *walk) render(ctx context.Context, at string) (*render.Result, error) {
	view, err := w.session.ViewAt(ctx, at)
	if err != nil {
		return nil, err
	}
	prompt := history.All{Session: w.session}
	return render.Render(w.session.WithView(ctx, view), prompt, render.Options{
		Budget: math.MaxInt32, Tokenizer: w.tokenizer,
	})
}

// count returns the tokens of a request with a view.
func (w *walk) count(v history.View) (tokens int) {
	tokens = w.apart
	for _, m := range v.Messages() {
		tokens += w.tokenizer.CountMessage(m)
	}
	return tokens
}
