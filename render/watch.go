package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/sizing"
)

// The most that a tree may have.
const (
	maxDepth   = 500     // elements, and lists, in each other
	mostPieces = 1 << 20 // as many as the windows of models have tokens
	mostBytes  = 1 << 28 // of texts, each as often as it stands there
	mostTokens = 1 << 40 // of one count, so that those of all pieces can be added up
	mostAtOnce = 1 << 8  // elements of the caller's that render at the same time
)

// watch is one call of the caller's code and ours together: it bounds what is rendered, and knows whose code is running.
type watch struct {
	pieces, bytes, atOnce atomic.Int64
	holds                 atomic.Bool                  // the layout's turn
	over                  atomic.Pointer[ElementError] // the tree does not end: nothing more is laid out

	mu      sync.Mutex
	calls   int           // that began
	running map[*node]int // elements of which a method is being called, with the number of the call
	exited  *ElementError // the first that ended its goroutine
}

// guarded runs a stage of a render in a goroutine of its own, for elements and tokenizers may panic, end their goroutine or never
// return.
func guarded[T any](ctx context.Context, l *layouter, stage func(context.Context, *watch) (T, error)) (T, *watch, error) {
	w := &watch{}
	value, err := callback.Call(ctx, func(ctx context.Context) (T, error) { return stage(ctx, w) })
	return value, w, w.explain(l, err)
}

// explain names whoever kept a stage from returning.
func (w *watch) explain(l *layouter, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := err.(type) { // of the call itself: what a stage returned is explained already
	case *callback.PanicError:
		if known, ok := e.Value.(*TokenizerError); ok {
			return fmt.Errorf("render: %w", known)
		}
		return fmt.Errorf("render: %w", counting(l.own, e, e.Stack))
	case *callback.LeftError:
		if len(w.running) > 0 {
			first := slices.MinFunc(slices.Collect(maps.Keys(w.running)), func(a, b *node) int { return w.running[a] - w.running[b] })
			return &ElementError{Path: first.names(), Err: e}
		}
		return fmt.Errorf("render: %w", counting(l.own, e, nil))
	}
	switch {
	case err != callback.ErrExited:
		return err
	case w.exited != nil:
		return w.exited
	}
	return fmt.Errorf("render: %w", counting(l.own, err, nil))
}

// begins takes note that a method of an element is called.
func (w *watch) begins(e *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		w.running = map[*node]int{}
	}
	w.calls++
	w.running[e] = w.calls
}

// ended takes note that it is not running any more, and whether it ended its goroutine.
func (w *watch) ended(e *node, exited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, e)
	if exited && w.exited == nil {
		w.exited = &ElementError{Path: e.path(), Err: callback.ErrExited}
	}
}

// entry returns that of metadata in an element.
func (w *watch) entry(e *node, n metadata) elements.MetaEntry {
	returned := false
	w.begins(e)
	defer func() { w.ended(e, !returned) }() // or it panicked, which is told of before
	entry := n.Entry()
	returned = true
	return entry
}

// exit returns the error of an element that ended its goroutine, in the one given or further in.
func (w *watch) exit(e *node) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exited != nil {
		return w.exited
	}
	return &ElementError{Path: e.path(), Err: callback.ErrExited}
}

// another reports whether one more element may have a goroutine of its own.
func (w *watch) another() bool {
	if w.atOnce.Add(1) <= mostAtOnce {
		return true
	}
	w.atOnce.Add(-1)
	return false
}

// meets takes note of so much in an element, and returns an error if that is too much.
func (w *watch) meets(e *node, pieces, bytes int) error {
	switch {
	case w.pieces.Add(int64(pieces)) > mostPieces:
		return w.endless(e, fmt.Errorf("%w: it has more than %d pieces", ErrEndless, mostPieces))
	case bytes > 0 && w.bytes.Add(int64(bytes)) > mostBytes:
		return w.endless(e, fmt.Errorf("%w: its texts have more than %d bytes", ErrEndless, mostBytes))
	}
	return nil
}

// endless is the error of a tree without an end, at the element at which that was first noticed. Its path may be long.
func (w *watch) endless(e *node, err error) error {
	if w.over.Load() == nil {
		w.over.CompareAndSwap(nil, &ElementError{Path: plaintext.Cut(e.path(), maxDepth), Err: err})
	}
	return w.over.Load()
}

// names is the path of an element without the numbers of siblings, for which they would have to be looked at.
func (n *node) names() string {
	var list []string
	for ; n != nil; n = n.parent {
		if n.own != 0 {
			list = append(list, n.elementName())
		}
	}
	slices.Reverse(list)
	return strings.Join(list, " > ")
}

// counting is the error of the caller's tokenizer.
func counting(own sizing.Tokenizer, err error, stack []byte) *TokenizerError {
	return &TokenizerError{Tokenizer: fmt.Sprintf("%T", own), Err: err, Stack: stack}
}

// checked is a tokenizer of the caller's of which each count is looked at. One that cannot be, and a panic, are a panic with a
// [*TokenizerError].
type checked struct{ sizing.Tokenizer }

// checkedJoiner is one that is a [sizing.Joiner].
type checkedJoiner struct {
	checked
	joiner sizing.Joiner
}

// check returns what counts as a tokenizer does, and looks at it.
func check(t sizing.Tokenizer) sizing.Tokenizer {
	if joiner, ok := t.(sizing.Joiner); ok {
		return checkedJoiner{checked{t}, joiner}
	}
	return checked{t}
}

func (c checked) CountText(text string) (tokens int) {
	defer c.look("CountText", &tokens)
	return c.Tokenizer.CountText(text)
}

func (c checked) CountPart(part chat.Part) (tokens int) {
	defer c.look("CountPart", &tokens)
	return c.Tokenizer.CountPart(part)
}

func (c checked) CountMessage(m chat.Message) (tokens int) {
	defer c.look("CountMessage", &tokens)
	return c.Tokenizer.CountMessage(m)
}

func (c checkedJoiner) CountFrame(m chat.Message) (tokens int, joined bool) {
	defer c.look("CountFrame", &tokens)
	return c.joiner.CountFrame(m)
}

func (c checkedJoiner) SafeCut(before, after rune) bool { return c.joiner.SafeCut(before, after) }

// look looks at what a method returned.
func (c checked) look(method string, tokens *int) {
	if p := recover(); p != nil {
		panicked := callback.Panicked(p)
		panic(counting(c.Tokenizer, fmt.Errorf("%s: %w", method, panicked), panicked.Stack))
	}
	if *tokens < 0 || *tokens > mostTokens {
		panic(counting(c.Tokenizer, fmt.Errorf("%s counted %d tokens: it is 0 to %d", method, *tokens, mostTokens), nil))
	}
}
