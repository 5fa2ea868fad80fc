// Package retry repeats calls that failed with transient errors.
package retry

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Policy says how often, and after which time, a call is repeated.
type Policy struct {
	// Attempts is the maximum number of calls. A number below 1 counts as 1.
	Attempts int
	// Wait is the time before the second attempt. It doubles with each further attempt, up to Most, and is at least the
	// wait that the provider asks for. If the provider asks for more than Most, there are no further attempts. Wait
	// defaults to 2 seconds, Most to 30.
	Wait, Most time.Duration
	// Before, if set, is called before a wait, and reports whether to continue.
	Before func(err error, wait time.Duration) bool
}

// Do calls f until it succeeds, fails with an error other than a [*chat.TransientError], or the attempts are used up,
// and returns its last result. If the context ends during a wait, the error is its cause.
func Do[T any](ctx context.Context, p Policy, f func() (T, error)) (T, error) {
	wait, most := cmp.Or(max(0, p.Wait), 2*time.Second), cmp.Or(max(0, p.Most), 30*time.Second)
	for n := 1; ; n, wait = n+1, min(2*wait, most) {
		got, err := f()
		transient, again := errors.AsType[*chat.TransientError](err)
		if again {
			_, large := errors.AsType[*chat.ContextLimitError](transient.Err)
			again = !large // the same request would be too large again
		}
		if !again || n >= p.Attempts || transient.RetryAfter > most || ctx.Err() != nil {
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

// Sleep waits for d. If the context ends first, it returns its cause.
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
