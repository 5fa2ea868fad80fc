package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// print writes the results of a comparison for people.
func (r results) print(w io.Writer, p plan, c comparison) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s\n", p.name, p.about)
	cells := [][]string{{"contestant", "median", "min – max", "ratio", "speed", "allocs", "bytes", "target"}}
	notes := slices.Clone(c.notes)
	for _, who := range c.contestants {
		row := []string{who.name, "–", "", "", "", "", "", ""}
		if m := r[who.name]; len(m.times) > 0 {
			_, ratio := r.ratio(who.name, c.contestants[0].name)
			copy(row[1:], []string{
				duration(median(m.times)), duration(slices.Min(m.times)) + " – " + duration(slices.Max(m.times)), ratio, who.speed(m), who.allocs(m), who.allocated(m),
			})
			if who.note != "" {
				notes = append(notes, who.name+": "+who.note)
			}
		} else if who.skipped != "" {
			notes = append(notes, who.name+": skipped, "+who.skipped)
		}
		for _, t := range c.targets {
			if t.of == who.name {
				_, row[len(row)-1] = t.judge(r)
				cells = append(cells, row)
				row = make([]string, len(row))
			}
		}
		if row[0] != "" {
			cells = append(cells, row)
		}
	}
	align(&out, cells, "lrrrrrrl")
	for _, note := range notes {
		fmt.Fprintf(&out, "  - %s\n", note)
	}
	out.WriteByte('\n')
	_, err := io.WriteString(w, out.String())
	return err
}

// speed returns the bytes that were read by time, "" if that is meaningless.
func (who contestant) speed(m measurement) string {
	if who.bytes == 0 {
		return ""
	}
	return short(float64(who.bytes)/max(median(m.times), 1).Seconds()/1e6) + " MB/s"
}

// allocs returns the allocations for each piece, or else for a job; "" if they are not known.
func (who contestant) allocs(m measurement) string {
	switch {
	case m.allocs < 0:
		return ""
	case who.pieces > 0:
		return fmt.Sprintf("%.2f/piece", m.allocs/float64(who.pieces))
	}
	return fmt.Sprintf("%.0f", m.allocs)
}

// allocated returns the bytes that were allocated for each piece; "" without pieces, or if they are not known.
func (who contestant) allocated(m measurement) string {
	if m.allocs < 0 || who.pieces == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f/piece", m.bytes/float64(who.pieces))
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
