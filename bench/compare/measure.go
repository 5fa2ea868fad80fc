package main

import (
	"context"
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
}

// defaultPace is steady enough for comparisons, and takes some minutes for all of them.
var defaultPace = pace{rounds: 7, warmUp: 100 * time.Millisecond, lap: 50 * time.Millisecond}

// maxTimes is the maximum number of jobs in a round, so that a job that takes no time ends.
const maxTimes = 1 << 20

// measurement is the result for a contestant.
type measurement struct {
	// times of one job, one per round. Empty if the contestant was skipped.
	times []time.Duration
	// allocs of one job, and the bytes that they took: those of the round with the fewest; below 0 if they are not known.
	allocs, bytes float64
}

// measure lets the contestants of a comparison run in turns: each is warmed up, then all are measured once in each
// round, which starts with another contestant each time.
func measure(ctx context.Context, c comparison, p pace) (results, error) {
	r := results{}
	times := make([]int, len(c.contestants)) // jobs per round of each contestant; 0 means that it does not run
	for i, who := range c.contestants {
		if who.lap == nil {
			continue
		}
		var err error
		if times[i], err = warm(ctx, who, p); err != nil {
			return nil, fmt.Errorf("%s: %w", who.name, err)
		}
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

// warm runs a contestant until it is warm, and returns its jobs per round.
func warm(ctx context.Context, who contestant, p pace) (times int, err error) {
	atLeast := max(p.warmUp, who.warmUp)
	times = 1
	for total := time.Duration(0); ; {
		spent, err := who.lap(ctx, times)
		if err != nil {
			return 0, err
		}
		total += spent.time
		one := max(spent.time/time.Duration(times), 1)
		times = int(min(max((p.lap+one-1)/one, 1), maxTimes))
		if total >= atLeast {
			return times, nil
		}
	}
}

func (m *measurement) add(spent cost, times int) {
	allocs := float64(spent.allocs) / float64(times)
	if len(m.times) == 0 || allocs < m.allocs { // concurrent allocations count too
		m.allocs, m.bytes = allocs, float64(spent.bytes)/float64(times)
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
			all.bytes += spent.bytes
		}
		return all, nil
	}
}

// watch is a running measurement.
type watch struct {
	allocs, bytes uint64
	began         time.Time
}

func start() watch {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return watch{allocs: m.Mallocs, bytes: m.TotalAlloc, began: time.Now()}
}

func (w watch) stop() cost {
	spent := time.Since(w.began)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return cost{time: spent, allocs: int64(m.Mallocs - w.allocs), bytes: int64(m.TotalAlloc - w.bytes)}
}
