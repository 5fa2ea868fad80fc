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
	return l.Of(c.Current().Name).MaxOutput(nominal)
}

// Oversized reports whether an error says that the connection was closed without an answer to a request with more bytes
// than any that the model accepted, so that [Compactor.Recover] may answer it with a smaller one.
func (c *Compactor) Oversized(ctx context.Context, err error) bool {
	if refusal.Of(err).Kind != refusal.Dropped {
		return false
	}
	l, err := c.read(ctx)
	name := c.Current().Name
	c.inner.mu.Lock()
	defer c.inner.mu.Unlock()
	return err == nil && c.inner.sent.bytes > l.Of(name).Body
}

// changed answers a request that was refused for something else than its tokens.
func (w *walker) changed(ctx context.Context, before *plan.Rendered, counted, bytes int, said refusal.Refusal, refused error) (*render.Result, error) {
	l, err := w.c.read(ctx)
	if err != nil {
		return nil, err
	}
	learnt, held := l.Of(w.target.Name), l.HeldFor(w.target.Name)
	lost := &RecoveryError{Refused: refused, Attempts: learnt.Refused.Attempts, Err: errStillRefused}
	if n := len(held); n > 0 {
		lost.Tried = append(lost.Tried, fmt.Sprintf("without %d of the parts that it holds", n))
	}
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
	if said.Kind == refusal.Dropped || said.Kind == refusal.Body && said.Held == refusal.HeldUnknown {
		lost.Attempts = max(0, learnt.Bytes.Attempts-1)
		lost.Tried = append(lost.Tried, "with half of its bytes")
		if lost.Attempts >= mostTries {
			return nil, lost
		}
		result, err := w.taught(ctx, lost, entry.Refusal{Unit: entry.UnitBytes, Counted: bytes})
		if err == nil && plan.Bytes(result.Messages, plan.Declared(w.target, result.Tools)) >= bytes {
			return nil, lost
		}
		return result, err
	}
	if i := slices.IndexFunc(held, entry.Held.Shown); i >= 0 { // it came back
		held[i].State = entry.HeldRefused
		w.c.emit(ctx, event.Event{Kind: event.Withheld, Reason: before.Occasion, Written: event.Written{Entry: held[i].Entry}, Err: refused})
		for k := range held { // a server that cannot read one thought reads none of them
			if said.Held == refusal.HeldThinking && held[k].State == entry.HeldSuspect {
				held[k].State = entry.HeldRefused
			}
		}
		held = slices.DeleteFunc(held, func(h entry.Held) bool { return h.State == entry.HeldSuspect })
		return w.taught(ctx, lost, entry.Refusal{Unit: entry.UnitHeld, Held: held})
	}
	w.c.inner.mu.Lock()
	tries := w.c.inner.sent.tries
	w.c.inner.mu.Unlock()
	if said.Sized || said.Kind == refusal.Opaque && learnt.Agent.Tries > 0 && tries == 0 { // a size was refused before
		return w.unexplained(ctx, before, counted, learnt, refused)
	}
	suspects, unanswered := plan.Suspects(before.View, said.Held)
	if learnt.Refused.Attempts == 0 && len(unanswered) > 0 {
		suspects = unanswered
	} else if learnt.Refused.Attempts > 0 {
		w.most = counted / 2
	}
	switch {
	case learnt.Refused.Attempts >= mostTries:
		return nil, lost
	case len(suspects) > 0:
		return w.taught(ctx, lost, entry.Refusal{Unit: entry.UnitHeld, Held: append(held, suspects...)})
	case said.Kind != refusal.Opaque && learnt.Refused.Attempts == 0:
		return nil, refused
	}
	return w.unexplained(ctx, before, counted, learnt, refused)
}

// taught records what a refusal teaches and returns the prompt as it is now.
func (w *walker) taught(ctx context.Context, lost *RecoveryError, r entry.Refusal) (*render.Result, error) {
	r.Model = w.target.Name
	err := w.c.journal().Refused(ctx, r)
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
	again := slices.ContainsFunc(held, func(h entry.Held) bool { return h.State == entry.HeldNewest })
	ids := slices.DeleteFunc(plan.Unanswered(before.View), func(id string) bool {
		return slices.ContainsFunc(held, func(h entry.Held) bool { return h.Entry == id && h.Part == plan.Whole })
	})
	if len(ids) == 0 {
		lost.Err = errFilteredOlder
		if again {
			held = slices.DeleteFunc(held, func(h entry.Held) bool { return h.State == entry.HeldNewest })
			if err := w.c.journal().Refused(ctx, entry.Refusal{Model: w.target.Name, Unit: entry.UnitHeld, Held: held}); err != nil {
				lost.Err = err
			}
		}
		return nil, lost
	}
	for _, id := range ids {
		held = append(held, entry.Held{Entry: id, Part: plan.Whole, State: entry.HeldNewest})
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
