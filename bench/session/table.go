package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// verdict says whether a target is met, and by how much.
type verdict struct {
	says string
	met  bool
}

// Targets.
const (
	maxGrowth    = 1.5 // of a median, relative to that at base
	maxOpening   = 100 * time.Millisecond
	maxAllocated = 20 << 20 // bytes, by opening
	maxHeap      = cacheBytes + 16<<20
)

// at returns the row of a mark.
func at(rows []grown, rounds, mark int) (grown, bool) {
	for _, g := range rows {
		if g.rounds == rounds && g.mark == mark {
			return g, true
		}
	}
	return grown{}, false
}

// judge compares the results with the targets.
func judge(rows []grown) (list []verdict) {
	for _, g := range rows {
		is := func(met bool, format string, args ...any) {
			list = append(list, verdict{fmt.Sprintf("views of %d, %d entries: ", g.rounds, g.mark) + fmt.Sprintf(format, args...), met})
		}
		if g.mark < base {
			continue
		}
		if first, ok := at(rows, g.rounds, base); ok && g.mark > base {
			step, compaction := ratio(g.took.step, first.took.step), ratio(g.took.compaction, first.took.compaction)
			is(step <= maxGrowth, "a step takes %.2f× of that at %d (at most %.1f×)", step, base, maxGrowth)
			is(compaction <= maxGrowth, "a compaction takes %.2f× of that at %d (at most %.1f×)", compaction, base, maxGrowth)
		}
		is(g.heap <= maxHeap, "the heap has %s (at most %s, of which the cache %s)", mega(g.heap), mega(maxHeap), mega(cacheBytes))
		if g.mark >= openingFrom {
			is(g.opening.took < maxOpening, "opening a view of %d rounds takes %s (below %s)", g.opening.shown, milli(g.opening.took), milli(maxOpening))
			is(g.opening.allocated < maxAllocated, "… and allocates %s (below %s)", mega(g.opening.allocated), mega(maxAllocated))
		}
	}
	return list
}

func ratio(t, of times) float64 { return float64(t.median()) / float64(max(1, of.median())) }

// printGrowth writes the tables, in one piece.
func printGrowth(w io.Writer, o options, rows []grown, verdicts []verdict) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "One session with a message of the user every %d rounds, rendered through summarize.Compactor, without fsync. Views are compacted to half.\n", o.turn)
	fmt.Fprintf(&b, "A step appends a round and renders. A compaction is a render that compacts. Medians of the last %d, with p10 and p90: "+
		"other load on the machine slows compactions most.\n", sample)
	for _, rounds := range o.rounds {
		steps := table{{"entries", "log", "step", "p10", "p90", "ratio", "compaction", "p10", "p90", "ratio", "add", "view", "heap", "built in"}}
		opened := table{{"entries", "log", "rounds", "open and view", "allocated", "held", "read"}}
		for _, g := range rows {
			if g.rounds != rounds {
				continue
			}
			first, ok := at(rows, rounds, base)
			over := func(t, of times) string {
				if !ok || len(t.list) == 0 || len(of.list) == 0 {
					return "-"
				}
				return fmt.Sprintf("%.2f×", ratio(t, of))
			}
			steps = append(steps, []string{
				fmt.Sprint(g.lines), mega(g.log), milli(g.took.step.median()), milli(g.took.step.at(0.1)), milli(g.took.step.at(0.9)), over(g.took.step, first.took.step),
				milli(g.took.compaction.median()), milli(g.took.compaction.at(0.1)), milli(g.took.compaction.at(0.9)), over(g.took.compaction, first.took.compaction),
				milli(g.took.add.median()), milli(g.took.view.median()), mega(g.heap),
				fmt.Sprintf("%.0f s", g.building.Seconds()),
			})
			p := g.opening
			opened = append(opened, []string{fmt.Sprint(g.lines), mega(g.log), fmt.Sprint(p.shown), milli(p.took), mega(p.allocated), mega(p.held), mega(p.read)})
		}
		fmt.Fprintf(&b, "\nviews of up to %d rounds\n", rounds)
		steps.write(&b)
		fmt.Fprintf(&b, "\nopening the log of views of up to %d rounds\n", rounds)
		opened.write(&b)
	}
	writeVerdicts(&b, verdicts)
	_, err := w.Write(b.Bytes())
	return err
}

func writeVerdicts(b *bytes.Buffer, verdicts []verdict) {
	if len(verdicts) == 0 {
		return
	}
	b.WriteString("\ntargets\n")
	for _, v := range verdicts {
		word := "met   "
		if !v.met {
			word = "MISSED"
		}
		fmt.Fprintf(b, "%s  %s\n", word, v.says)
	}
}

// table is rows of cells, all of them numbers below the first row.
type table [][]string

func (t table) write(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range t {
		fmt.Fprintln(tw, strings.Join(row, "\t")+"\t")
	}
	tw.Flush()
}

func milli(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func mega(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
