package layout

import (
	"context"
	"sync"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// concurrently lays out elements, those of the caller's own types in goroutines, and waits for all of them. If elements
// fail, it returns the error of the first one in document order, and cancels those after it.
func (s *site) concurrently(ctx context.Context, items []item, lazy bool) error {
	type outcome struct {
		account  account
		err      error
		returned bool
	}
	results := make([]outcome, len(items))
	contexts := make([]context.Context, len(items))
	cancels := make([]context.CancelFunc, len(items))
	for i := range items {
		contexts[i], cancels[i] = context.WithCancel(ctx)
		if items[i].own == nil {
			items[i].own = tree.New()
		}
	}
	do := func(i int) (ok bool) {
		in := &site{tree: items[i].own}
		err := s.element(contexts[i], in, &items[i], lazy)
		results[i] = outcome{in.account, err, true}
		if err != nil {
			for _, cancel := range cancels[i+1:] {
				cancel()
			}
		}
		return err == nil
	}
	var running sync.WaitGroup
	defer func() { // in case an inline element ends the goroutine
		for _, cancel := range cancels {
			cancel()
		}
		running.Wait()
	}()
	var inline []int // elements that run in this goroutine
	for i := range items {
		if !items[i].kind.caller || !s.watch.Acquire() {
			inline = append(inline, i)
			continue
		}
		running.Go(func() {
			defer s.watch.Release()
			do(i)
		})
	}
	for _, i := range inline {
		if !do(i) {
			break
		}
	}
	running.Wait()
	for i, result := range results {
		switch {
		case result.err != nil:
			return result.err
		case !result.returned: // the element ended its goroutine
			return s.watch.Exited(s.of(&items[i]))
		}
		s.charge(result.account)
	}
	return nil
}
