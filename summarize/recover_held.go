package summarize

import (
	"context"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
)

// MaxOutput returns how many tokens of an answer to ask for, given the nominal number: less if the model gives no more; 0
// for no limit.
func (c *Compactor) MaxOutput(ctx context.Context, nominal int) int {
	c.init()
	l, err := c.read(ctx)
	if err != nil {
		return nominal
	}
	return plan.Learnt(l.Remembered, c.Current()).MaxOutput(nominal)
}

// Oversized reports whether an error says that the connection was closed without an answer to a request with more bytes
// than any that the model accepted, and which had this error before, or is as large as one that was refused. Then the bytes
// may be the cause, and [Compactor.Recover] answers it with a smaller one.
func (c *Compactor) Oversized(ctx context.Context, err error, before bool) bool {
	if refusal.Of(err).Kind != refusal.Dropped {
		return false
	}
	l, err := c.read(ctx)
	if err != nil {
		return false
	}
	learnt := plan.Learnt(l.Remembered, c.Current())
	bytes := c.lastSent().bytes
	return bytes > learnt.Body && (before || learnt.Bytes.Tries > 0 && bytes >= learnt.Bytes.Tokens)
}

// changed answers a request that was refused for something else than its tokens.
func (w *walker) changed(ctx context.Context, before *plan.Rendered, counted, bytes int, said refusal.Refusal, refused error) (*render.Result, error) {
	l, err := w.c.read(ctx)
	if err != nil {
		return nil, err
	}
	learnt, held := plan.Learnt(l.Remembered, w.target), l.HeldFor(w.target.Name, plan.Server(w.target))
	lost := &RecoveryError{Refused: refused, Attempts: max(learnt.Doubt.Attempts, learnt.Bytes.Attempts-1, learnt.Output.Attempts), Err: errStillRefused}
	lost.tried(held, learnt)
	switch said.Kind {
	case refusal.Output:
		if f := learnt.Output; f.Attempts > 0 && f.Tokens <= said.Limit {
			return nil, refused
		}
		return w.taught(ctx, lost, entry.Refusal{Unit: entry.UnitOutput, Limit: said.Limit, Counted: said.Limit})
	case refusal.Filter:
		return w.filtered(ctx, before, held, lost)
	case refusal.Dropped:
		if bytes <= learnt.Body {
			return nil, refused
		}
	}
	if lost.Attempts >= mostTries {
		return nil, lost
	}
	suspects, unanswered := plan.Suspects(before.View, "", said.Held)
	if said.Kind == refusal.Dropped || said.Kind == refusal.Body && (said.Held == refusal.HeldUnknown || len(suspects) == 0) {
		r := entry.Refusal{Unit: entry.UnitBytes, Counted: bytes}
		if said.Kind == refusal.Dropped {
			r = entry.Refusal{Unit: entry.UnitHeld, Held: held, Bytes: bytes}
			w.mostBytes = bytes / 2
		}
		result, err := w.taught(ctx, lost, r)
		if err == nil && learnt.BodyOf(plan.Bytes(result.Messages, plan.Declared(w.target, result.Tools))) >= bytes {
			return nil, lost
		}
		return result, err
	}
	r := entry.Refusal{Unit: entry.UnitHeld, Held: w.blame(ctx, before, held, suspects, said, refused)}
	if slices.ContainsFunc(r.Held, blamed) {
		return w.taught(ctx, lost, r)
	}
	first, opaque := learnt.Doubt.Attempts == 0, said.Kind == refusal.Opaque
	sized := said.Sized || opaque && first && learnt.Agent.Tries > 0 // as it was before
	if sized {
		suspects = nil
	} else if first && len(unanswered) > 0 {
		suspects = unanswered
	}
	larger := opaque && (counted > learnt.Counted || learnt.Agent.Tries > 0) // than what was accepted
	if !first || larger && (sized || len(suspects) == 0) {
		if w.most = counted / 2; larger {
			r.Counted = counted
		}
	}
	if len(suspects) == 0 && w.most == 0 {
		if first {
			return nil, refused
		}
		return nil, lost
	}
	r.Held = append(r.Held, suspects...)
	result, err := w.taught(ctx, lost, r)
	if err == nil && w.most > 0 && result.Tokens+before.Size.Tools >= counted {
		return nil, lost
	}
	return result, err
}

// blamed reports whether a part is left out since the last refusal, as its cause.
func blamed(h entry.Held) bool { return h.State == entry.HeldBlamed && h.Part != plan.Whole }

// blame returns what is held once a request is refused. What came back in it is to blame, and what was held with it is
// innocent. What was to blame before is not: the request did not have it. All thinking is to blame if the words name some:
// a server that cannot read one thought reads none, and one that binds a thought to what stood before it takes no later
// one alone.
func (w *walker) blame(ctx context.Context, before *plan.Rendered, held, suspects []entry.Held, said refusal.Refusal, refused error) (now []entry.Held) {
	in := func(list []entry.Held, h entry.Held) bool { return slices.ContainsFunc(list, h.Same) }
	to := func(h entry.Held) {
		h.State = entry.HeldBlamed
		now = append(now, h)
		w.c.emit(ctx, event.Event{Kind: event.Withheld, Reason: before.Occasion, Written: event.Written{Entry: h.Entry}, Err: refused})
	}
	came := slices.IndexFunc(held, func(h entry.Held) bool { return h.Shown() && in(suspects, h) })
	for i, h := range held {
		switch {
		case blamed(h):
			h.State = entry.HeldSuspect
			now = append(now, h)
		case i == came:
			to(h)
		case h.Shown(), came >= 0 && h.State == entry.HeldSuspect:
		default:
			now = append(now, h)
		}
	}
	for _, h := range suspects {
		if said.Held == refusal.HeldThinking && !in(now, h) {
			to(h)
		}
	}
	return now
}

// tried records what is changed in requests to a model because of its refusals.
func (e *RecoveryError) tried(held []entry.Held, l entry.Learnt) {
	add := func(is bool, format string, args ...any) {
		if is {
			e.Tried = append(e.Tried, fmt.Sprintf(format, args...))
		}
	}
	add(len(held) > 0, "without %d of the parts that it holds", len(held))
	add(l.Doubt.Tokens > 0, "with half of its tokens")
	add(l.Doubt.Bytes > 0 || l.Bytes.Attempts > 0, "with half of its bytes")
	add(l.Output.Attempts > 0, "with an answer of %d tokens", l.Output.Tokens)
}

// taught records what a refusal teaches and returns the prompt as it is now.
func (w *walker) taught(ctx context.Context, lost *RecoveryError, r entry.Refusal) (*render.Result, error) {
	r.Model, r.Server = w.target.Name, plan.Server(w.target)
	_, err := w.c.journal().Write(ctx, r)
	var result *render.Result
	if err == nil {
		result, err = w.resized(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return nil, guard.EndCause(ctx, err)
	}
	if err != nil {
		lost.Err = err
		return nil, lost
	}
	return result, nil
}

// filtered answers a filter's refusal: what was said last gets a line in its place from the next step on. If the line of
// what was said last is refused too, what else no model answered is left out, and if that is refused, all of it is shown
// again: it was something earlier.
func (w *walker) filtered(ctx context.Context, before *plan.Rendered, held []entry.Held, lost *RecoveryError) (*render.Result, error) {
	again := slices.ContainsFunc(held, func(h entry.Held) bool { return h.State == entry.HeldBlamed })
	ids := slices.DeleteFunc(plan.Unanswered(before.View), func(id string) bool {
		return slices.ContainsFunc(held, func(h entry.Held) bool { return h.Entry == id && h.Part == plan.Whole })
	})
	if len(ids) == 0 {
		lost.Err = errFilteredOlder
		if again {
			held = slices.DeleteFunc(held, func(h entry.Held) bool { return h.State == entry.HeldBlamed })
			if _, err := w.c.journal().Write(ctx, entry.Refusal{Model: w.target.Name, Server: plan.Server(w.target), Unit: entry.UnitHeld, Held: held}); err != nil {
				lost.Err = err
			}
		}
		return nil, lost
	}
	for _, id := range ids {
		held = append(held, entry.Held{Entry: id, Part: plan.Whole, State: entry.HeldBlamed})
		w.c.emit(ctx, event.Event{Kind: event.Withheld, Reason: before.Occasion, Written: event.Written{Entry: id}, Err: lost.Refused})
		if !again { // the newest alone
			break
		}
	}
	result, err := w.taught(ctx, lost, entry.Refusal{Unit: entry.UnitHeld, Held: held})
	if again || err != nil {
		return result, err
	}
	lost.Entry, lost.Err = ids[0], errFiltered
	return nil, lost
}
