// Package retry does something again if its failure may pass.
package retry

import (
	"context"
	"errors"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Policy says how often, and after which time, something is done again.
type Policy struct {
	// Attempts in all. Less than 1 is 1.
	Attempts int
	// Wait before the second attempt. It doubles with each further one up to Most, and is at least what the provider asks
	// for. Default to 2 and 30 seconds. A provider that asks for more than Most is given up.
	Wait, Most time.Duration
	// Before, if set, is called before a wait, and reports whether it is worth it.
	Before func(err error, wait time.Duration) bool
}

// Do calls f until it succeeds, fails with anything but a [*chat.TransientError], or the attempts are over, and returns what
// it returned last. A context that ends ends the wait, and the error is its cause.
func Do[T any](ctx context.Context, p Policy, f func() (T, error)) (T, error) {
	wait, most := p.Wait, p.Most
	if wait <= 0 {
		wait = 2 * time.Second
	}
	if most <= 0 {
		most = 30 * time.Second
	}
	for n := 1; ; n, wait = n+1, min(2*wait, most) {
		got, err := f()
		transient, passes := errors.AsType[*chat.TransientError](err)
		if passes {
			_, large := errors.AsType[*chat.ContextLimitError](transient.Err)
			passes = !large // the same request is as large another time
		}
		if !passes || n >= p.Attempts || transient.RetryAfter > most || ctx.Err() != nil {
			return got, err
		}
		pause := max(min(wait, most), transient.RetryAfter)
		if p.Before != nil && !p.Before(err, pause) {
			return got, err
		}
		if err := Sleep(ctx, pause); err != nil {
			return got, err
		}
	}
}

// Sleep waits, or until the context ends, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
