package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider/retry"
)

var errDown = errors.New("down")

func TestOnlyTransientErrorsAreRetried(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy retry.Policy
		errs   []error
		calls  int
		after  time.Duration
		failed bool
	}{
		{"a success is not retried", retry.Policy{Attempts: 3}, []error{nil}, 1, 0, false},
		{"another error is not retried", retry.Policy{Attempts: 3}, []error{errDown, nil}, 1, 0, true},
		{"a request that is too large is not retried", retry.Policy{Attempts: 3}, []error{&chat.TransientError{Err: &chat.ContextLimitError{Limit: 1}}, nil}, 1, 0, true},
		{"a transient error is retried", retry.Policy{Attempts: 3}, []error{&chat.TransientError{Err: errDown}, nil}, 2, 2 * time.Second, false},
		{"the wait doubles", retry.Policy{Attempts: 3}, []error{&chat.TransientError{Err: errDown}, &chat.TransientError{Err: errDown}, nil}, 3, 6 * time.Second, false},
		{"there are no more attempts than that", retry.Policy{Attempts: 2}, []error{&chat.TransientError{Err: errDown}, &chat.TransientError{Err: errDown}, nil}, 2, 2 * time.Second, true},
		{"the wait is at least what the provider asks for", retry.Policy{Attempts: 2}, []error{&chat.TransientError{Err: errDown, RetryAfter: 9 * time.Second}, nil}, 2, 9 * time.Second, false},
		{"a wait longer than Most is not waited for", retry.Policy{Attempts: 2, Most: time.Second}, []error{&chat.TransientError{Err: errDown, RetryAfter: 9 * time.Second}, nil}, 1, 0, true},
		{"Before may end the attempts", retry.Policy{Attempts: 2, Before: func(error, time.Duration) bool { return false }}, []error{&chat.TransientError{Err: errDown}, nil}, 1, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, calls := time.Now(), 0
				_, err := retry.Do(t.Context(), c.policy, func() (int, error) {
					calls++
					return calls, c.errs[calls-1]
				})
				require.Equal(t, c.failed, err != nil, "%v", err)
				require.Equal(t, c.calls, calls)
				require.Equal(t, c.after, time.Since(begun))
			})
		})
	}
}

func TestACancelledContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errDown) })
		got, err := retry.Do(ctx, retry.Policy{Attempts: 9}, func() (string, error) { return "partial", &chat.TransientError{Err: errors.New("busy")} })
		require.ErrorIs(t, err, errDown)
		require.Equal(t, "partial", got)
	})
}
