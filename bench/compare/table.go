package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// outcome is a comparison that was run.
type outcome struct {
	Name        string
	About       string
	Notes       []string
	Contestants []row
}

// row is the result of a contestant.
type row struct {
	Name string
	// Skipped says why it was not measured.
	Skipped string
	// Rounds are the times of one job, in nanoseconds, in the order in which they were measured.
	Rounds []time.Duration
	Median time.Duration
	Min    time.Duration
	Max    time.Duration
	// Ratio of the median to that of the contestant Against.
	Ratio   float64
	Against string
	// BytesPerSecond that were read, and allocations per job and per piece; nil if they are meaningless.
	BytesPerSecond *float64
	Allocs         *float64
	AllocsPerPiece *float64
	Note           string
	Targets        []verdict
}

// outcomeOf assembles the outcome of a comparison.
func outcomeOf(p plan, c comparison, r results) outcome {
	o := outcome{Name: p.name, About: p.about, Notes: c.notes}
	for _, who := range c.contestants {
		line := row{Name: who.name, Skipped: who.skipped}
		if m := r[who.name]; len(m.times) > 0 {
			line.Rounds, line.Median = m.times, median(m.times)
			line.Min, line.Max = slices.Min(m.times), slices.Max(m.times)
			line.Against = who.against
			if line.Against == "" {
				line.Against = c.contestants[0].name
			}
			line.Ratio, _ = r.ratio(who.name, line.Against)
			if who.bytes > 0 {
				line.BytesPerSecond = new(float64(who.bytes) / max(line.Median, 1).Seconds())
			}
			if m.allocs >= 0 {
				line.Allocs = new(m.allocs)
				if who.pieces > 0 {
					line.AllocsPerPiece = new(m.allocs / float64(who.pieces))
				}
			}
			if who.note != nil {
				line.Note = who.note()
			}
		}
		for _, t := range c.targets {
			if t.of == who.name {
				line.Targets = append(line.Targets, t.judge(r))
			}
		}
		o.Contestants = append(o.Contestants, line)
	}
	return o
}

// tally counts the targets by their state.
func tally(outcomes []outcome) map[state]int {
	n := map[state]int{}
	for _, o := range outcomes {
		for _, line := range o.Contestants {
			for _, v := range line.Targets {
				n[v.State]++
			}
		}
	}
	return n
}

// unsteady returns the number of rows whose rounds differ more than twofold, and of all rows with more than one round.
// If there are many, the machine was busy with something else.
func unsteady(outcomes []outcome) (n, of int) {
	for _, o := range outcomes {
		for _, line := range o.Contestants {
			if len(line.Rounds) < 2 {
				continue
			}
			of++
			if line.Max > 2*line.Min {
				n++
			}
		}
	}
	return n, of
}

// print writes a comparison for people.
func (o outcome) print(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", o.Name, o.About)
	cells := [][]string{{"contestant", "median", "min – max", "ratio", "speed", "allocs", "target"}}
	for _, line := range o.Contestants {
		cells = append(cells, line.cells()...)
	}
	align(&out, cells, "lrrrrrl")
	for _, note := range o.notes() {
		fmt.Fprintf(&out, "  - %s\n", note)
	}
	out.WriteByte('\n')
	_, err := io.WriteString(w, out.String())
	return err
}

// notes returns the notes of the comparison, followed by those of its rows.
func (o outcome) notes() []string {
	notes := slices.Clone(o.Notes)
	for _, line := range o.Contestants {
		if line.Skipped != "" {
			notes = append(notes, line.Name+": skipped, "+line.Skipped)
		}
		if line.Note != "" {
			notes = append(notes, line.Name+": "+line.Note)
		}
	}
	return notes
}

// cells returns the cells of a row, with one more line for each target after the first.
func (line row) cells() [][]string {
	cells := [][]string{{line.Name, "–", "", "", "", "", ""}}
	if line.Skipped == "" && len(line.Rounds) > 0 {
		speed, allocs := "", ""
		if line.BytesPerSecond != nil {
			speed = short(*line.BytesPerSecond/1e6) + " MB/s"
		}
		switch {
		case line.AllocsPerPiece != nil:
			allocs = fmt.Sprintf("%.1f/piece", *line.AllocsPerPiece)
		case line.Allocs != nil:
			allocs = fmt.Sprintf("%.0f", *line.Allocs)
		}
		cells[0] = []string{
			line.Name, duration(line.Median), duration(line.Min) + " – " + duration(line.Max), factor(line.Ratio), speed, allocs, "",
		}
	}
	for i, v := range line.Targets {
		if i > 0 {
			cells = append(cells, make([]string, len(cells[0])))
		}
		text := fmt.Sprintf("%s: %s", v.Asks, v.State)
		if v.Shown != "" {
			text = fmt.Sprintf("%s: %s, %s", v.Asks, v.Shown, v.State)
		}
		cells[i][len(cells[i])-1] = text
	}
	return cells
}

// align writes cells in columns, aligned left (l) or right (r).
func align(out *strings.Builder, cells [][]string, sides string) {
	widths := make([]int, len(sides))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range cells {
		var text strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			text.WriteString("  ")
			if sides[i] == 'r' {
				text.WriteString(pad + cell)
			} else {
				text.WriteString(cell + pad)
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// duration formats a duration with three digits.
func duration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.unit {
			return short(float64(d)/float64(u.unit)) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

func factor(v float64) string { return short(v) + "×" }

// short formats a number with three significant digits.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.01 || v == 0:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}
