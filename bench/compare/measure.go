package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// pace says how long measurements take.
type pace struct {
	// rounds is the number of measurements of each contestant.
	rounds int
	// warmUp is how long a contestant runs unmeasured, lap the minimum time of a round's jobs.
	warmUp, lap time.Duration
	// slow is the time from which a single job is enough: its first run is the only one.
	slow time.Duration
	// limit is the time after which a first job is cancelled and counts as having taken that long.
	limit time.Duration
}

// defaultPace is steady enough for comparisons, and takes some minutes for all of them.
var defaultPace = pace{rounds: 7, warmUp: 100 * time.Millisecond, lap: 50 * time.Millisecond, slow: 5 * time.Second, limit: time.Minute}

// maxTimes is the maximum number of jobs in a round, so that a job that takes no time ends.
const maxTimes = 1 << 20

// measurement is the result for a contestant.
type measurement struct {
	// times of one job, one per round. Empty if the contestant was skipped.
	times []time.Duration
	// allocs of one job, those of the round with the fewest; below 0 if they are not known.
	allocs float64
	// once reports whether a single job was enough, over whether it was cancelled and would have taken longer.
	once, over bool
}

// measure lets the contestants of a comparison run in turns: each is warmed up, then all are measured once in each
// round, which starts with another contestant each time.
func measure(ctx context.Context, c comparison, p pace) (results, error) {
	r := results{}
	p.lap *= time.Duration(max(1, c.stretch))
	times := make([]int, len(c.contestants)) // jobs per round of each contestant; 0 means that it does not run
	for i, who := range c.contestants {
		if who.lap == nil {
			continue
		}
		m, n, err := warm(ctx, who, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", who.name, err)
		}
		r[who.name], times[i] = m, n
	}
	for round := range p.rounds {
		for i := range c.contestants {
			i = (i + round) % len(c.contestants)
			if times[i] == 0 {
				continue
			}
			who := c.contestants[i]
			runtime.GC() // garbage of other contestants
			spent, err := who.lap(ctx, times[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", who.name, err)
			}
			m := r[who.name]
			m.add(spent, times[i])
			r[who.name] = m
		}
	}
	return r, nil
}

// warm runs a contestant until it is warm and determines its jobs per round. For a slow one this is the measurement.
func warm(ctx context.Context, who contestant, p pace) (m measurement, times int, err error) {
	atLeast := max(p.warmUp, who.warmUp)
	times = 1
	limited, stop := context.WithTimeout(ctx, p.limit)
	defer stop()
	for total := time.Duration(0); ; {
		spent, err := who.lap(limited, times)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return measurement{times: []time.Duration{p.limit}, allocs: -1, once: true, over: true}, 0, nil
		}
		if err != nil {
			return m, 0, err
		}
		if total += spent.time; spent.time >= p.slow && times == 1 {
			m.add(spent, 1)
			m.once = true
			return m, 0, nil
		}
		one := max(spent.time/time.Duration(times), 1)
		times = int(min(max((p.lap+one-1)/one, 1), maxTimes))
		if total >= atLeast {
			return m, times, nil
		}
	}
}

func (m *measurement) add(spent cost, times int) {
	allocs := float64(spent.allocs) / float64(times)
	if len(m.times) == 0 || allocs < m.allocs { // concurrent allocations count too
		m.allocs = allocs
	}
	m.times = append(m.times, spent.time/time.Duration(times))
}

// repeated returns a lap of a job without a set-up.
func repeated(job func() error) lap {
	return func(ctx context.Context, n int) (cost, error) {
		watch := start()
		for range n {
			if err := ctx.Err(); err != nil {
				return cost{}, err
			}
			if err := job(); err != nil {
				return cost{}, err
			}
		}
		return watch.stop(), nil
	}
}

// afresh returns a lap of a job with a set-up each time, which is not measured.
func afresh[T any](setUp func(ctx context.Context) (T, error), job func(ctx context.Context, t T) error) lap {
	return func(ctx context.Context, n int) (cost, error) {
		var all cost
		for range n {
			if err := ctx.Err(); err != nil {
				return cost{}, err
			}
			t, err := setUp(ctx)
			if err != nil {
				return cost{}, err
			}
			watch := start()
			if err := job(ctx, t); err != nil {
				return cost{}, err
			}
			spent := watch.stop()
			all.time += spent.time
			all.allocs += spent.allocs
		}
		return all, nil
	}
}

// watch is a running measurement.
type watch struct {
	allocs uint64
	began  time.Time
}

func start() watch {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return watch{allocs: m.Mallocs, began: time.Now()}
}

func (w watch) stop() cost {
	spent := time.Since(w.began)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return cost{time: spent, allocs: int64(m.Mallocs - w.allocs)}
}
