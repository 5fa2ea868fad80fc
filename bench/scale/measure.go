package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// part is one measurement.
type part struct {
	kind string
	of   promptree
}

// The kinds of parts.
const (
	rotation = "rotation"
	entries  = "entries"
)

func (p part) name() string {
	return p.kind + " " + p.of.name()
}

// The rounds of views that are compacted: few enough for a session of 10 messages, and as many as a session of the
// rotation has.
const (
	fewRounds  = 4
	manyRounds = rounds
)

// parts returns the measurements.
func parts() []part {
	return []part{
		{rotation, promptree{}}, {entries, promptree{view: fewRounds}}, {entries, promptree{view: manyRounds}},
	}
}

// row is the result at a size.
type row struct {
	Part string
	Name string
	// Size is the number of sessions in rotation, or of messages of one session.
	Size int
	// Steps is the number of steps measured one after the other, without those that compacted.
	Steps int
	P50   time.Duration
	// P99 is 0 if there were fewer than 100 steps.
	P99 time.Duration
	// Compacted is the number of steps that compacted, and Compaction their median.
	Compacted  int
	Compaction time.Duration
	// Shown is the maximum number of messages in a prompt, the system message included.
	Shown int
	// Memory is the program's maximum memory, in bytes.
	Memory int64
}

func (p part) measure(ctx context.Context, o options, url string) ([]row, error) {
	if p.kind == rotation {
		return p.rotate(ctx, o, url)
	}
	return p.lengthen(ctx, o, url)
}

// in calls f with a new schema that holds the tables of sessions.
func (p part) in(ctx context.Context, url string, f func(*place) error) (err error) {
	place, err := newPlace(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.remove(ctx)) }()
	if err := p.of.prepare(ctx, place); err != nil {
		return err
	}
	return f(place)
}

// rotate steps increasing numbers of sessions in turns.
func (p part) rotate(ctx context.Context, o options, url string) (rows []row, err error) {
	return rows, p.in(ctx, url, func(place *place) error {
		have := 0
		for _, size := range o.sessions {
			if err := p.of.fill(ctx, place, have+1, size-have, 2*rounds); err != nil {
				return fmt.Errorf("making sessions: %w", err)
			}
			r := row{Part: p.kind, Name: p.of.name(), Size: size}
			stop := watchMemory()
			err := p.oneAfterTheOther(ctx, o, place, &r, have+1, size, 2*rounds)
			r.Memory = stop()
			if err != nil {
				return err
			}
			rows = append(rows, r)
			have = size
		}
		return nil
	})
}

// lengthen steps sessions of increasing length, each length in new tables.
func (p part) lengthen(ctx context.Context, o options, url string) (rows []row, err error) {
	for _, size := range o.entries {
		err := p.in(ctx, url, func(place *place) error {
			each := max(size/5, 10) / 2 // steps of a session, which add a fifth to it, or 10 messages
			sessions := (o.steps + warmUp + each - 1) / each
			if err := p.of.fill(ctx, place, 1, sessions, size); err != nil {
				return fmt.Errorf("making a session of %d messages: %w", size, err)
			}
			r := row{Part: p.kind, Name: p.of.name(), Size: size}
			stop := watchMemory()
			err := p.oneAfterTheOther(ctx, o, place, &r, 1, sessions, size)
			r.Memory = stop()
			rows = append(rows, r)
			return err
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// warmUp is the number of steps made before any is measured.
const warmUp = 10

// oneAfterTheOther makes steps of sessions in turns. untouched is the number of a session without
// steps.
func (p part) oneAfterTheOther(ctx context.Context, o options, place *place, r *row, untouched, sessions, messages int) (err error) {
	if _, err := place.Exec(ctx, "VACUUM ANALYZE promptree_sessions, promptree_lines"); err != nil {
		return err
	}
	steps, err := p.of.open(ctx, place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, steps.close()) }()
	for _, n := range []int{untouched, sessions} {
		got, first, err := steps.check(ctx, sessionName(n))
		if err != nil {
			return err
		}
		if got != messages || !strings.HasPrefix(first, sessionName(n)+" ") {
			return fmt.Errorf("session %s has %d messages, and begins with %.20q: it should have %d", sessionName(n), got, first, messages)
		}
	}
	var took, compacting []time.Duration
	begun := time.Now()
	for i := range warmUp + o.steps {
		if i == warmUp {
			begun = time.Now()
		}
		if i > warmUp && time.Since(begun) > o.limit {
			break
		}
		at := time.Now()
		d, err := steps.step(ctx, sessionName(1+i%sessions))
		passed := time.Since(at)
		switch {
		case err != nil:
			return err
		case i < warmUp:
			continue
		case d.compacted:
			compacting = append(compacting, passed)
		default:
			took = append(took, passed)
		}
		r.Shown = max(r.Shown, d.shown)
	}
	r.Steps, r.P50, r.P99 = len(took), quantile(took, 0.5), quantile(took, 0.99)
	r.Compacted, r.Compaction = len(compacting), quantile(compacting, 0.5)
	if len(took) < 100 {
		r.P99 = 0
	}
	return nil
}

// quantile returns a quantile of times, 0 if there are none.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[int(q*float64(len(sorted)-1))]
}
