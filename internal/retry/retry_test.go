package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/retry"
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
		{"a success is not", retry.Policy{Attempts: 3}, []error{nil}, 1, 0, false},
		{"what does not pass is not", retry.Policy{Attempts: 3}, []error{errDown, nil}, 1, 0, true},
		{"what is too large is not", retry.Policy{Attempts: 3}, []error{&chat.TransientError{Err: &chat.ContextLimitError{Limit: 1}}, nil}, 1, 0, true},
		{"what may pass is", retry.Policy{Attempts: 3}, []error{&chat.TransientError{Err: errDown}, nil}, 2, 2 * time.Second, false},
		{"the wait doubles", retry.Policy{Attempts: 3}, []error{&chat.TransientError{Err: errDown}, &chat.TransientError{Err: errDown}, nil}, 3, 6 * time.Second, false},
		{"no more often than that", retry.Policy{Attempts: 2}, []error{&chat.TransientError{Err: errDown}, &chat.TransientError{Err: errDown}, nil}, 2, 2 * time.Second, true},
		{"as late as the provider asks", retry.Policy{Attempts: 2}, []error{&chat.TransientError{Err: errDown, RetryAfter: 9 * time.Second}, nil}, 2, 9 * time.Second, false},
		{"but not later than the longest wait", retry.Policy{Attempts: 2, Most: time.Second}, []error{&chat.TransientError{Err: errDown, RetryAfter: 9 * time.Second}, nil}, 1, 0, true},
		{"not if it is not worth it", retry.Policy{Attempts: 2, Before: func(error, time.Duration) bool { return false }}, []error{&chat.TransientError{Err: errDown}, nil}, 1, 0, true},
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
