package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Observer hears of a compactor's work: where it begins and ends, and the events in it. [OnEvent] hears events alone, [Log]
// logs them, and package summarize/tracing, a separate module, turns all of it into OpenTelemetry spans and metrics.
//
// The methods of an observer are called one at a time and in order, also from goroutines of the compactor. They must not
// call the compactor. A call that takes more than a quarter of a second goes on beside the compactor's work. An observer
// that panics, that takes more than 5 seconds for a call, or that is 1,000 calls behind, is not called again: the other
// observers hear an [event.HookFailed], and [Compactor.Close] returns its error.
type Observer interface {
	// Start is called when work begins. It returns a context derived from ctx, with which elements, models and hooks are
	// called if it returns in time; nil stands for ctx.
	Start(ctx context.Context, w Work) context.Context
	// Event is called with each event, in the context of the work in which it happened. That may have ended.
	Event(ctx context.Context, e event.Event)
	// End is called when work ends, with the context that Start returned. The result is nil unless a render succeeded.
	End(ctx context.Context, result *render.Result, err error)
}

// OnEvent is an [Observer] that is called with each event.
type OnEvent func(event.Event)

// Start does nothing.
func (o OnEvent) Start(context.Context, Work) context.Context { return nil }

// Event calls o.
func (o OnEvent) Event(_ context.Context, e event.Event) { o(e) }

// End does nothing.
func (o OnEvent) End(context.Context, *render.Result, error) {}

// Log is an [Observer] that logs each event at [event.Event.Level], with its fields in the group "compaction".
type Log struct{ *slog.Logger }

// Start does nothing.
func (l Log) Start(context.Context, Work) context.Context { return nil }

// Event logs an event.
func (l Log) Event(ctx context.Context, e event.Event) {
	l.LogAttrs(context.WithoutCancel(ctx), e.Level(), "compaction "+string(e.Kind), slog.Any("compaction", e))
}

// End does nothing.
func (l Log) End(context.Context, *render.Result, error) {}

// Work describes the work that an [Observer] hears of.
type Work struct {
	Kind WorkKind
	// Reason is the occasion of a render.
	Reason policy.Occasion
	// Plan is the id of the plan's entry, for a compaction.
	Plan string
}

// WorkKind is the kind of work.
type WorkKind string

// The kinds of work.
const (
	// WorkRender is a call of [Compactor.Render], [Compactor.Recover], [Compactor.SwitchModel] or
	// [Compactor.AfterTurn], including its waits.
	WorkRender WorkKind = "render"
	// WorkCompaction is running a plan, until the compaction is in the session, a summary is ready for a later render,
	// or the attempt has failed. In the background it may outlive the render that began it.
	WorkCompaction WorkKind = "compaction"
)

const (
	observerLimit    = 5 * time.Second        // for one call
	observerPatience = 250 * time.Millisecond // of the compactor, for one call
	observerBehind   = 1000                   // calls that an observer may be behind
)

// observers calls the observers of a compactor.
type observers struct {
	list []*listener
	fill func(event.Event) event.Event // fills in what each event has

	mu     sync.Mutex // held while calls are handed out, so that all observers hear of events in one order
	failed error      // of those that are not called any more, for Close
}

func newObservers(list []Observer, fill func(event.Event) event.Event) *observers {
	o := &observers{fill: fill}
	for _, one := range list {
		o.list = append(o.list, &listener{Observer: one, name: fmt.Sprintf("observer %T", one), fail: o.fail})
	}
	return o
}

// event passes an event on.
func (o *observers) event(ctx context.Context, e event.Event) {
	e = o.fill(e)
	var done []<-chan struct{}
	o.mu.Lock()
	for _, l := range o.list {
		done = append(done, l.call(func() { l.Event(ctx, e) }))
	}
	o.mu.Unlock()
	for i, l := range o.list {
		l.await(done[i])
	}
}

// start says that work begins. It returns the context of the work, and a function that says that it has ended.
func (o *observers) start(ctx context.Context, w Work) (context.Context, func(*render.Result, error)) {
	var ends []func(*render.Result, error)
	for _, l := range o.list {
		own, started := ctx, make(chan context.Context, 1)
		l.await(l.call(func() {
			if from := l.Start(own, w); from != nil {
				own = from
			}
			started <- own
		}))
		select {
		case ctx = <-started:
		default: // it takes longer, or is not called any more
		}
		ends = append(ends, func(r *render.Result, err error) { l.await(l.call(func() { l.End(own, r, err) })) })
	}
	return ctx, func(r *render.Result, err error) {
		for _, end := range slices.Backward(ends) {
			end(r, err)
		}
	}
}

// fail reports to the other observers that one is not called any more.
func (o *observers) fail(gone *listener, err error) {
	err = fmt.Errorf("%w, and is not called again", err)
	e := o.fill(event.Event{Kind: event.HookFailed, Function: gone.name, Err: err})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = errors.Join(o.failed, err)
	for _, l := range o.list {
		if l != gone {
			l.call(func() { l.Event(context.Background(), e) })
		}
	}
}

// close waits until all calls are made. It returns the errors of the observers that are not called any more, once.
func (o *observers) close() error {
	for _, l := range o.list {
		<-l.call(func() {})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.failed
	o.failed = nil
	return err
}

// listener calls an observer, each time in a goroutine that waits for the call before.
type listener struct {
	Observer
	name string
	fail func(*listener, error) // is called once
	gone bool                   // it is not called any more; a call reads and sets it

	mu   sync.Mutex
	last <-chan struct{} // of the newest call, nil before the first
	left int             // calls that were not made yet
	slow bool            // a call takes longer than the compactor's patience; false once all calls were made
}

// call adds a call. The channel is closed once it was made or given up.
func (l *listener) call(f func()) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, done := l.last, make(chan struct{})
	l.last = done
	l.left++
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		l.make(f)
	}()
	return done
}

// make makes a call, unless one before failed.
func (l *listener) make(f func()) {
	if l.gone {
		return
	}
	err := guard.Do(context.Background(), l.name, observerLimit, func(context.Context) error { f(); return nil })
	l.mu.Lock()
	l.left--
	left := l.left
	l.slow = l.slow && left > 0
	l.mu.Unlock()
	if err == nil && left > observerBehind {
		err = fmt.Errorf("summarize: %s is %d calls behind", l.name, left)
	}
	if l.gone = err != nil; l.gone {
		l.fail(l, err)
	}
}

// await waits for a call as long as the compactor's patience lasts, and not at all for an observer that used it up. It
// does so in parts: a process that gets no time for a while uses up one of them, whatever the observer does.
func (l *listener) await(done <-chan struct{}) {
	l.mu.Lock()
	slow := l.slow
	l.mu.Unlock()
	if slow {
		return
	}
	for range 5 {
		select {
		case <-done:
			return
		case <-time.After(observerPatience / 5):
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = l.left > 0
}

// Emit passes an event to the observers, with the session and the policy filled in: for what an agent does between two
// prompts, and for a compaction that a provider or a remote agent made by itself ([event.Reported]).
func (c *Compactor) Emit(ctx context.Context, e event.Event) {
	c.init()
	c.emit(ctx, e)
}

// Shown returns the id of the session's leaf when a prompt was rendered, "" if that is not known because another prompt was
// rendered since.
func (c *Compactor) Shown(result *render.Result) string {
	if last := c.lastSent(); result != nil && last.result == result {
		return last.leaf
	}
	return ""
}

// warn emits an event once what no compaction makes smaller, all but the history before the newest question, takes nine
// tenths of what the prompt may take.
func (w *walker) warn(ctx context.Context, s *plan.Rendered, b render.Breakdown) {
	most := s.Size.Nominal + s.Size.Tools
	near := most - most/10
	fixed := b.Total() - b.History
	if n := len(s.View.Turns); n > 0 && b.Total() >= near {
		if m, says := s.View.Turns[n-1].Message(); says {
			question, err := guard.Value(ctx, guard.NameTokenizer, func() int { return guard.Counted(w.target.Tokenizer.CountMessage(m)) })
			if err != nil {
				return
			}
			fixed += question
		}
	}
	if warned := w.c.inner.warned.Swap(fixed >= near); fixed < near || warned {
		return
	}
	largest := slices.DeleteFunc(s.Result.Report().Kept(), func(p render.Piece) bool { return p.Category == elements.CategoryHistory })
	slices.SortStableFunc(largest, func(a, b render.Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	why := []string{fmt.Sprintf("what cannot be compacted takes %d of %d tokens", fixed, most)}
	for _, p := range largest[:min(3, len(largest))] {
		why = append(why, fmt.Sprintf("%s (%d)", p.Path, p.Tokens))
	}
	w.c.emit(ctx, event.Event{Kind: event.Crowded, Reason: s.Occasion, Why: strings.Join(why, ", "), Size: event.Size{Base: s.Base, TokensAfter: fixed, Breakdown: b}})
}
