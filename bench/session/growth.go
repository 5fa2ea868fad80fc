package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
)

// marks are the numbers of entries at which a session is measured.
var marks = []int{1_000, 3_000, 10_000, 30_000, 50_000, 100_000, 300_000, 1_000_000}

// marks returns the marks below the maximum number of entries, and the maximum.
func (o options) marks() []int {
	list := slices.DeleteFunc(slices.Clone(marks), func(mark int) bool { return mark >= o.entries })
	return append(list, o.entries)
}

// base is the number of entries that larger sessions are compared with.
const base = 10_000

// openingFrom is the smallest number of entries with a target for opening.
const openingFrom = 50_000

// cacheBytes is the size of the cache: the default of package history.
const cacheBytes = 64 << 20

// grown holds the measurements of a session at one of the marks.
type grown struct {
	rounds   int   // maximum of a view
	mark     int   // entries wanted
	lines    int   // entries that the session had
	log      int64 // bytes
	took     taken
	heap     int64 // bytes in use after a collection
	opening  opening
	building time.Duration // since the session began
}

// opening holds the cost of opening a log and making its view.
type opening struct {
	took      time.Duration
	shown     int   // rounds in the view
	allocated int64 // bytes, an upper bound of the peak
	held      int64 // bytes in use afterwards
	read      int64 // bytes of the log
}

// measureGrowth measures a session for each of o.rounds.
func measureGrowth(ctx context.Context, o options, dir string, stdout, stderr io.Writer) error {
	var rows []grown
	var failed error
	for _, rounds := range o.rounds {
		more, err := growOne(ctx, o, rounds, filepath.Join(dir, fmt.Sprint("view-", rounds, ".jsonl")), func(g grown) {
			fmt.Fprintf(stderr, "views of %d rounds, %d entries: %.0f s\n", rounds, g.lines, g.building.Seconds())
		})
		rows = append(rows, more...)
		if failed = err; err != nil {
			break
		}
	}
	verdicts := judge(rows)
	if err := printGrowth(stdout, o, rows, verdicts); err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.met {
			failed = errors.Join(failed, errMissed)
			break
		}
	}
	return failed
}

// growOne builds a session with views of up to the given rounds, and measures it at each mark. It calls report with
// each result.
func growOne(ctx context.Context, o options, rounds int, path string, report func(grown)) (rows []grown, err error) {
	before := heap()
	a := &agent{path: path, rounds: rounds, turn: o.turn, cache: history.NewCache(cacheBytes), speaker: newSpeaker()}
	if err := a.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close(), os.Remove(path)) }()
	begun := time.Now()
	for _, mark := range o.marks() {
		a.took = taken{}
		if err := a.grow(ctx, mark); err != nil {
			return rows, err
		}
		g := grown{rounds: rounds, mark: mark, took: a.took, building: time.Since(begun)}
		if g.lines, err = a.session.Lines(ctx); err != nil {
			return rows, err
		}
		g.lines-- // the header
		a.entries = g.lines
		g.heap = heap() - before
		if err := a.close(); err != nil {
			return rows, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return rows, err
		}
		g.log = info.Size()
		if g.opening, err = openLog(ctx, path); err != nil {
			return rows, err
		}
		a.cache = history.NewCache(cacheBytes)
		if err := a.open(); err != nil {
			return rows, err
		}
		rows = append(rows, g)
		report(g)
	}
	return rows, nil
}

// openLog opens a log several times, each with an empty cache. After the first time the operating system has the log in
// memory.
func openLog(ctx context.Context, path string) (opening, error) {
	var o opening
	var took times
	for range 7 {
		before, from := heap(), allocated()
		begun := time.Now()
		s, err := history.Open(path, history.Options{Cache: history.NewCache(cacheBytes)})
		if err != nil {
			return o, err
		}
		view, err := s.View(ctx)
		if err != nil {
			return o, errors.Join(err, s.Close())
		}
		took.since(begun)
		o.allocated = allocated() - from
		o.held = heap() - before
		o.shown = 0
		for _, t := range view.Turns {
			o.shown += len(t.Rounds)
		}
		if err := s.Close(); err != nil {
			return o, err
		}
	}
	o.took = took.median()
	s, err := history.Open(path, history.Options{
		Cache: history.NewCache(cacheBytes), File: storage.FileOptions{Disk: countingDisk{&o.read}},
	})
	if err != nil {
		return o, err
	}
	_, err = s.View(ctx)
	return o, errors.Join(err, s.Close())
}
