// Package guard protects a render from the code of its callers: elements and tokenizers may panic, end their goroutine,
// never return, or describe a tree without an end.
//
// [Run] runs a stage of a render on a goroutine of its own, with a [Watch] that records which element's code is
// running. [Check] wraps a tokenizer. Whatever the callers' code does, Run returns, at the latest a second after its
// context ended, and its error names the element or the tokenizer: [ElementError], [TokenizerError]. The limits on
// trees are constants here.
package guard

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Limits of a tree.
const (
	MaxDepth      = 500     // nested elements, and nested lists
	maxPieces     = 1 << 20 // the largest context windows have as many tokens
	maxBytes      = 1 << 28 // of texts; a text that is used twice counts twice
	maxConcurrent = 1 << 8  // elements of the caller's own types that render at the same time
)

// Element is an element whose methods are called.
type Element interface {
	// Path returns the path of the element from the root.
	Path() string
	// PathWithoutNumbers returns the path without the numbers of siblings. It does not read the siblings, which may
	// change meanwhile.
	PathWithoutNumbers() string
}

// Watch belongs to one call of a stage of a render. It records whose code is running, and counts the pieces and bytes
// of the tree.
type Watch struct {
	pieces, bytes, concurrent atomic.Int64
	endless                   atomic.Pointer[ElementError]

	mu      sync.Mutex
	calls   int             // number of calls so far
	running map[Element]int // elements whose code is running, with the number of the call
	exited  *ElementError   // of the first element that ended its goroutine
}

// Run runs a stage of a render on a goroutine of its own and waits until it returns, or until a second after the
// context ended.
func Run[T any](ctx context.Context, t chat.Tokenizer, stage func(context.Context, *Watch) (T, error)) (T, error) {
	w := &Watch{}
	value, err := callback.Call(ctx, func(ctx context.Context) (T, error) { return stage(ctx, w) })
	return value, w.explain(t, err)
}

// explain returns an error that names the element or the tokenizer that kept a stage from returning.
func (w *Watch) explain(t chat.Tokenizer, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := err.(type) { // not errors.As: an error that the stage returned is explained already
	case *callback.PanicError:
		if known, ok := e.Value.(*TokenizerError); ok {
			return known
		}
		return tokenizerError(t, e, e.Stack)
	case *callback.LeftError:
		if len(w.running) > 0 {
			first := slices.MinFunc(slices.Collect(maps.Keys(w.running)), func(a, b Element) int { return w.running[a] - w.running[b] })
			return &ElementError{Path: first.PathWithoutNumbers(), Err: e}
		}
		return tokenizerError(t, e, nil)
	}
	switch {
	case err != callback.ErrExited:
		return err
	case w.exited != nil:
		return w.exited
	}
	return tokenizerError(t, err, nil)
}

// Call calls a method of an element. A panic is an [*ElementError].
func (w *Watch) Call(e Element, method func()) (err error) {
	returned := false
	w.begin(e)
	defer func() {
		p := recover()
		if p != nil {
			err = Panicked(e, p)
		}
		w.end(e, !returned && p == nil)
	}()
	method()
	returned = true
	return nil
}

// Panicked returns the error of a panic in an element. Call it in the deferred function that recovers, while the stack
// still shows where the panic was.
func Panicked(e Element, p any) error {
	if counting, ok := p.(*TokenizerError); ok {
		return &ElementError{Path: e.Path(), Err: counting, Stack: counting.Stack}
	}
	return &ElementError{Path: e.Path(), Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
}

// begin records that a method of an element is called.
func (w *Watch) begin(e Element) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		w.running = map[Element]int{}
	}
	w.calls++
	w.running[e] = w.calls
}

// end records that the method is no longer running, and whether it ended its goroutine.
func (w *Watch) end(e Element, exited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, e)
	if exited && w.exited == nil {
		w.exited = &ElementError{Path: e.Path(), Err: callback.ErrExited}
	}
}

// Exited returns the error of an element that ended its goroutine: e itself, or an element in it.
func (w *Watch) Exited(e Element) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exited != nil {
		return w.exited
	}
	return &ElementError{Path: e.Path(), Err: callback.ErrExited}
}

// Acquire reports whether one more element may have a goroutine of its own, which calls Release when it is done.
func (w *Watch) Acquire() bool {
	if w.concurrent.Add(1) <= maxConcurrent {
		return true
	}
	w.Release()
	return false
}

// Release is called by a goroutine that Acquire allowed.
func (w *Watch) Release() { w.concurrent.Add(-1) }

// Count adds the pieces and bytes in an element to those of the tree, and returns an error if there are too many.
func (w *Watch) Count(e Element, pieces, bytes int) error {
	switch {
	case w.pieces.Add(int64(pieces)) > maxPieces:
		return w.SetEndless(e, fmt.Errorf("%w: it has more than %d pieces", tree.ErrEndless, maxPieces))
	case bytes > 0 && w.bytes.Add(int64(bytes)) > maxBytes:
		return w.SetEndless(e, fmt.Errorf("%w: its texts have more than %d bytes", tree.ErrEndless, maxBytes))
	}
	return nil
}

// SetEndless records that a tree does not end, and returns the error of the element at which that was first noticed.
func (w *Watch) SetEndless(e Element, err error) error {
	if w.endless.Load() == nil { // its path may be long
		w.endless.CompareAndSwap(nil, &ElementError{Path: plaintext.Cut(e.Path(), maxPath), Err: err})
	}
	return w.endless.Load()
}

// maxPath is the maximum length of a path in the error of a tree without an end, in bytes.
const maxPath = 120

// Endless returns the error of a tree that does not end, nil while the tree seems to end.
func (w *Watch) Endless() error {
	if err := w.endless.Load(); err != nil {
		return err
	}
	return nil
}
