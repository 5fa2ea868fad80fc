package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/promptree-go/promptree/history"
)

// shares are the sizes of the views of all sessions together, as multiples of the cache.
var shares = []float64{0.5, 0.75, 1, 1.25, 1.5, 2, 4}

// sharing holds the measurements of sessions that share a cache.
type sharing struct {
	share    float64
	sessions int
	took     taken
	heap     int64
	views    int64 // bytes of the messages that are shown
}

// perStep returns the median of a step with its share of a compaction.
func (s sharing) perStep() time.Duration {
	return s.took.step.median() + s.took.compaction.median()/(sharedRounds/2)
}

// sharedRounds is the maximum number of rounds in the views of sessions that share a cache.
const sharedRounds = 50

// Targets of sessions that share a cache.
const (
	maxStep     = 1.5       // of a step with its share of a compaction, relative to that at the first of shares
	restSession = 256 << 10 // bytes of a session besides its view
	restProcess = 4 << 20   // bytes besides sessions
)

// measureShared measures sessions that share a cache, first fewer and then more than it has room for.
func measureShared(ctx context.Context, o options, dir string, stdout io.Writer) (err error) {
	sp := newSpeaker()
	var agents []*agent
	closeAll := func() (err error) {
		for _, a := range agents {
			err = errors.Join(err, a.close())
		}
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	var rows []sharing
	for _, share := range shares {
		if err := closeAll(); err != nil {
			return err
		}
		for _, a := range agents {
			a.cache, a.took = nil, taken{}
		}
		before := heap()
		cache := history.NewCache(o.budget)
		count := max(1, int(share*float64(o.budget))/(sharedRounds*roundBytes))
		for i := range count {
			if i == len(agents) {
				agents = append(agents, &agent{path: filepath.Join(dir, fmt.Sprint("shared-", i, ".jsonl")), rounds: sharedRounds, turn: o.turn, speaker: sp})
			}
			a := agents[i]
			a.cache = cache
			if err := a.open(); err != nil {
				return err
			}
			for a.steps < 2*sharedRounds+i%sharedRounds { // so that not all are compacted at the same time
				if err := a.step(ctx); err != nil {
					return err
				}
			}
			a.took = taken{}
		}
		var all taken
		for lap := 0; lap < 3 || len(all.step.list) < sample || len(all.compaction.list) < 40; lap++ {
			for _, a := range agents[:count] {
				if lap > 2 {
					a.took = taken{}
				}
				if err := a.step(ctx); err != nil {
					return err
				}
				if lap > 2 {
					all.join(a.took)
				}
			}
		}
		row := sharing{share: share, sessions: count, took: all, heap: heap() - before}
		for _, a := range agents[:count] {
			view, err := a.session.View(ctx)
			if err != nil {
				return err
			}
			for _, m := range view.Messages() {
				row.views += int64(len(m.Text()))
				for _, c := range m.ToolCalls {
					row.views += int64(len(c.Arguments))
				}
			}
		}
		rows = append(rows, row)
	}
	verdicts := judgeShared(o, rows)
	var b bytes.Buffer
	fmt.Fprintf(&b, "Sessions with views of up to %d rounds that share a cache of %s, stepped in turns.\n", sharedRounds, mega(int64(o.budget)))
	t := table{{"of the cache", "sessions", "step", "p10", "p90", "ratio", "compaction", "p10", "p90", "ratio", "step with its share", "heap", "views", "heap without views and cache"}}
	for _, r := range rows {
		t = append(t, []string{
			fmt.Sprintf("%.2f×", r.share), fmt.Sprint(r.sessions), milli(r.took.step.median()), milli(r.took.step.at(0.1)), milli(r.took.step.at(0.9)),
			fmt.Sprintf("%.2f×", ratio(r.took.step, rows[0].took.step)), milli(r.took.compaction.median()), milli(r.took.compaction.at(0.1)), milli(r.took.compaction.at(0.9)),
			fmt.Sprintf("%.2f×", ratio(r.took.compaction, rows[0].took.compaction)), milli(r.perStep()), mega(r.heap), mega(r.views), mega(r.heap - r.views - int64(o.budget)),
		})
	}
	t.write(&b)
	writeVerdicts(&b, verdicts)
	if _, err := stdout.Write(b.Bytes()); err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.met {
			return errMissed
		}
	}
	return nil
}

// roundBytes is the size of a round in a cache: its lines, and 512 bytes for each.
const roundBytes = saidBytes + editBytes + resultBytes + 3*512 + 1000

// join adds the times of another.
func (t *taken) join(o taken) {
	t.step.list = append(t.step.list, o.step.list...)
	t.compaction.list = append(t.compaction.list, o.compaction.list...)
}

// judgeShared compares the results with the targets.
func judgeShared(o options, rows []sharing) (list []verdict) {
	for _, r := range rows {
		step := float64(r.perStep()) / float64(max(1, rows[0].perStep()))
		rest := r.heap - r.views - int64(o.budget)
		maxRest := int64(r.sessions*restSession + restProcess)
		says := fmt.Sprintf("%.2f× of the cache: a step with its share of a compaction takes %.2f× of that at %.2f× (at most %.1f×)",
			r.share, step, rows[0].share, maxStep)
		list = append(list,
			verdict{says, step <= maxStep},
			verdict{fmt.Sprintf("… %s besides views and cache (at most %s)", mega(rest), mega(maxRest)), rest <= maxRest},
		)
	}
	return list
}
