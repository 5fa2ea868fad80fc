package layout

import (
	"context"
	"sync"
)

// concurrently lays out elements with those of the caller's own types in goroutines, and waits for all of them. The error is that
// of the first element that failed, in document order, and those after it are cancelled.
func (s *site) concurrently(ctx context.Context, items []item, lazy bool) error {
	type outcome struct {
		room     room
		err      error
		returned bool
	}
	results := make([]outcome, len(items))
	contexts := make([]context.Context, len(items))
	cancels := make([]context.CancelFunc, len(items))
	for i := range items {
		contexts[i], cancels[i] = context.WithCancel(ctx)
		defer cancels[i]()
	}
	do := func(i int) (ok bool) {
		in := &site{}
		err := s.element(contexts[i], in, &items[i], lazy)
		results[i] = outcome{in.room, err, true}
		if err != nil {
			for _, cancel := range cancels[i+1:] {
				cancel()
			}
		}
		return err == nil
	}
	var running sync.WaitGroup
	defer func() { // if one of those here ends the goroutine
		for _, cancel := range cancels {
			cancel()
		}
		running.Wait()
	}()
	var here []int // those that run in this goroutine
	for i := range items {
		if !items[i].kind.caller || !s.watch.Acquire() {
			here = append(here, i)
			continue
		}
		running.Go(func() {
			defer s.watch.Release()
			do(i)
		})
	}
	for _, i := range here {
		if !do(i) {
			break
		}
	}
	running.Wait()
	for i, result := range results {
		switch {
		case result.err != nil:
			return result.err
		case !result.returned: // its goroutine ended in the middle
			return s.watch.Exited(items[i].node)
		}
		s.charge(result.room)
	}
	return nil
}
