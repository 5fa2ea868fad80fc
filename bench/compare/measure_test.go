package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recorder makes contestants that record each of their laps and take a given time.
type recorder struct{ laps []string }

func (r *recorder) contestant(name string, took time.Duration) contestant {
	return contestant{name: name, lap: func(_ context.Context, n int) (cost, error) {
		r.laps = append(r.laps, fmt.Sprintf("%s×%d", name, n))
		return cost{time: took * time.Duration(n), allocs: int64(3 * n)}, nil
	}}
}

func TestContestantsTakeTurns(t *testing.T) {
	var r recorder
	got, err := measure(t.Context(), comparison{contestants: []contestant{
		r.contestant("a", 10), r.contestant("b", 25), {name: "none", skipped: "it cannot run"}, r.contestant("c", 100),
	}}, pace{rounds: 3, warmUp: 60, lap: 50})
	require.NoError(t, err)
	require.Equal(t, []string{
		"a×1", "a×5", // warmed up for 60 and fitted to laps of 50
		"b×1", "b×2",
		"c×1",
		"a×5", "b×2", "c×1",
		"b×2", "c×1", "a×5",
		"c×1", "a×5", "b×2",
	}, r.laps)
	require.Equal(t, results{
		"a": {times: []time.Duration{10, 10, 10}, allocs: 3},
		"b": {times: []time.Duration{25, 25, 25}, allocs: 3},
		"c": {times: []time.Duration{100, 100, 100}, allocs: 3},
	}, got)
}

func TestErrorsNameTheContestant(t *testing.T) {
	broken := errors.New("broken")
	for name, lap := range map[string]lap{
		"a job":                repeated(func() error { return broken }),
		"a set-up":             afresh(func(context.Context) (int, error) { return 0, broken }, func(context.Context, int) error { return nil }),
		"a job after a set-up": afresh(func(context.Context) (int, error) { return 0, nil }, func(context.Context, int) error { return broken }),
	} {
		_, err := measure(t.Context(), comparison{contestants: []contestant{{name: name, lap: lap}}}, pace{rounds: 1})
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, name)
	}
}

func TestCancelledLapsEnd(t *testing.T) {
	for name, lapOf := range map[string]func(job func()) lap{
		"repeated": func(job func()) lap { return repeated(func() error { job(); return nil }) },
		"afresh": func(job func()) lap {
			return afresh(func(context.Context) (int, error) { return 0, nil }, func(context.Context, int) error { job(); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := lapOf(cancel)(ctx, 1<<62)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}
