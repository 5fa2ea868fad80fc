package summarize

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/write"
)

// work holds a compactor's own goroutines, and the contexts that [Compactor.Abort] ends.
type work struct {
	open       context.Context // ends when the compactor is closed
	shut       context.CancelCauseFunc
	goroutines sync.WaitGroup

	mu   sync.Mutex
	ends map[*context.CancelCauseFunc]bool // of the contexts that abort ends
	task *task                             // the summary that is being made or ready, if any
}

// task is a summary that a goroutine of the compactor makes. A render puts it in place, the one that waits for it or a later
// one, or Close, never the goroutine, so that the agent's messages do not change in the middle of its work.
type task struct {
	order
	cancel   context.CancelCauseFunc
	activity *callback.Activity
	waited   atomic.Bool                           // a render has waited for it alone as long as it may
	done     chan struct{}                         // closed once the fields below are set
	within   func(context.Context) context.Context // returns a context in which the summary was written; nil if no prompt waited for it
	end      func(*render.Result, error)           // ends the work for observers, unless it has ended
	err      error                                 // why there is no summary
	ready    bool
	written  write.Written
}

// abortable returns a context that also ends with [Compactor.Abort] and when the compactor is closed.
func (w *work) abortable(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[&cancel] = true
	if w.open.Err() != nil {
		cancel(ErrCompactorClosed)
	}
	return ctx, func() {
		w.mu.Lock()
		delete(w.ends, &cancel)
		w.mu.Unlock()
		cancel(context.Canceled)
	}
}

// abort ends every abortable context.
func (w *work) abort(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for cancel := range w.ends {
		(*cancel)(why)
	}
}

// spawn runs f in a goroutine that close ends and waits for. It returns false, and runs nothing, once the work is
// closed.
func (w *work) spawn(f func(context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open.Err() != nil {
		return false
	}
	w.goroutines.Go(func() { f(w.open) })
	return true
}

// current returns the task in the background, nil if there is none, and reports whether its summary is ready.
func (w *work) current() (t *task, ready bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.task, w.task != nil && w.task.ready
}

// replace replaces a task by another, and reports whether the old one was there.
func (w *work) replace(old, with *task) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.task != old {
		return false
	}
	w.task = with
	return true
}

// finish makes the summary of a task ready, unless it was cancelled.
func (w *work) finish(ctx context.Context, t *task) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := context.Cause(ctx)
	t.ready = err == nil
	return err
}

// close ends all contexts and goroutines, and waits for the goroutines.
func (w *work) close() {
	w.shut(ErrCompactorClosed)
	w.abort(ErrCompactorClosed) // once what is being spawned is among the goroutines
	w.goroutines.Wait()
}
