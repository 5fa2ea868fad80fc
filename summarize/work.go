package summarize

import (
	"context"
	"sync"
)

// work is what a compactor does in goroutines of its own, and what [Compactor.Abort] ends.
type work struct {
	life  context.Context
	end   context.CancelCauseFunc
	owned sync.WaitGroup // goroutines

	mu     sync.Mutex
	closed bool
	aborts map[*context.CancelCauseFunc]bool
	task   *task // in the background
}

// task is a summary that is made in the background by a goroutine of the compactor. A later render puts it in place, and never
// the goroutine itself: what the agent sends does not change under it.
type task struct {
	id     string // of the plan
	cancel context.CancelCauseFunc
	stage  *stage
	done   chan struct{} // closed once the rest is set
	ready  bool
	job    *job
	writer *writer
	draft  draft
}

func (w *work) init() {
	w.life, w.end = context.WithCancelCause(context.Background())
	w.aborts = map[*context.CancelCauseFunc]bool{}
}

// abortable returns a context that ends with an abort and when the compactor is closed.
func (w *work) abortable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	key := new(cancel)
	w.mu.Lock()
	w.aborts[key] = true
	closed := w.closed
	w.mu.Unlock()
	if closed {
		cancel(ErrClosed)
	}
	return ctx, func() {
		w.mu.Lock()
		delete(w.aborts, key)
		w.mu.Unlock()
		cancel(context.Canceled)
	}
}

// abort ends all that is abortable.
func (w *work) abort(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.aborts {
		(*cancel)(why)
	}
}

// own runs f in a goroutine that close ends and waits for, and reports whether it did: not once the work is closed.
func (w *work) own(f func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.owned.Go(func() { f(w.life) })
	return true
}

// current returns the task in the background, nil if there is none, and reports whether its summary is ready.
func (w *work) current() (t *task, ready bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.task, w.task != nil && w.task.ready
}

// replace puts a task in the place of another, and reports whether that was there.
func (w *work) replace(old, with *task) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.task != old {
		return false
	}
	w.task = with
	return true
}

// finish sets what a task made, unless it was cancelled.
func (w *work) finish(ctx context.Context, t *task, j *job, wr *writer, d draft) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.job, t.writer, t.draft, t.ready = j, wr, d, true
	return nil
}

func (w *work) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// close ends all goroutines and waits for them.
func (w *work) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end(ErrClosed)
	w.abort(ErrClosed)
	w.owned.Wait()
}
