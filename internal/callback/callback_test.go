package callback_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/test/errtest"
)

func TestCallReturnsTheResultsOfTheFunction(t *testing.T) {
	n, err := callback.Call(t.Context(), func(context.Context) (int, error) { return 3, io.EOF })
	require.Equal(t, 3, n)
	require.Equal(t, io.EOF, err)
	require.NoError(t, callback.Do(t.Context(), func(context.Context) error { return nil }))
}

func TestAPanicIsAnErrorWithItsStack(t *testing.T) {
	err := callback.Do(t.Context(), func(context.Context) error { panic(io.ErrClosedPipe) })
	panicked := errtest.As[*callback.PanicError](t, err)
	require.Equal(t, io.ErrClosedPipe, panicked.Value)
	require.Contains(t, string(panicked.Stack), "callback_test.go")
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.EqualError(t, callback.Do(t.Context(), func(context.Context) error { panic("no") }), "it panicked: no")
	require.Error(t, callback.Do(t.Context(), func(context.Context) error { panic(nil) }))
}

func TestAFunctionThatEndsItsGoroutineIsAnError(t *testing.T) {
	require.ErrorIs(t, callback.Do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil }), callback.ErrExited)
}

func TestAnErrorThatAFunctionReturnedIsNotMisbehaviour(t *testing.T) {
	panicked := callback.Do(t.Context(), func(context.Context) error { panic("no") })
	require.True(t, callback.Misbehaved(panicked))
	require.True(t, callback.Misbehaved(callback.ErrExited))
	require.True(t, callback.Misbehaved(&callback.LeftError{Cause: io.EOF}))
	require.False(t, callback.Misbehaved(nil))
	require.False(t, callback.Misbehaved(io.EOF))
	require.False(t, callback.Misbehaved(fmt.Errorf("another function: %w", panicked)))
}

func TestAFunctionHasASecondToReturnAfterItsContextEnded(t *testing.T) {
	why := errors.New("enough")
	for name, c := range map[string]struct {
		returns time.Duration // after the context has ended
		left    bool
	}{"at once": {0, false}, "in time": {900 * time.Millisecond, false}, "too late": {1100 * time.Millisecond, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(why) })
				began := time.Now()
				n, err := callback.Call(ctx, func(ctx context.Context) (int, error) {
					<-ctx.Done()
					time.Sleep(c.returns)
					return 3, nil
				})
				if c.left {
					require.ErrorIs(t, err, why)
					require.IsType(t, &callback.LeftError{}, err)
					require.Equal(t, time.Minute+callback.Grace, time.Since(began))
					time.Sleep(time.Second)
					return
				}
				require.NoError(t, err)
				require.Equal(t, 3, n)
				require.Equal(t, time.Minute+c.returns, time.Since(began))
			})
		})
	}
}

func TestAContextOfOutliveEndsTenSecondsAfterTheOther(t *testing.T) {
	why := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		longer, done := callback.Outlive(ctx)
		defer done()
		began := time.Now()
		time.AfterFunc(time.Hour, func() { cancel(why) })
		<-longer.Done()
		require.Equal(t, time.Hour+callback.WriteTime, time.Since(began))
		require.ErrorIs(t, context.Cause(longer), why)

		again, done := callback.Outlive(ctx)
		require.NoError(t, again.Err(), "the context given has ended already")
		done()
		require.Error(t, again.Err())
	})
}
