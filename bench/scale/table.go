package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// document holds the printed results.
type document struct {
	Server  string
	Go      string
	CPUs    int
	Rows    []row
	Targets []verdict
}

// print writes the tables in a single write.
func (d document) print(w io.Writer) error {
	d.Go, d.CPUs = runtime.Version(), runtime.GOMAXPROCS(0)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s; %s, %d CPUs for client, service and database. A round is a question of %d bytes and an answer of %d.\n",
		d.Server, d.Go, d.CPUs, askedBytes, answerBytes)
	d.steps(&b, rotation, fmt.Sprintf("sessions of %d rounds in rotation, by the number of sessions", rounds))
	d.steps(&b, entries, "one session, by its messages")
	for i, v := range d.Targets {
		if i == 0 {
			b.WriteString("\ntargets\n")
		}
		word := "met   "
		if !v.Met {
			word = "MISSED"
		}
		fmt.Fprintf(&b, "%s  %s\n", word, v.Says)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// steps writes the table of a part.
func (d document) steps(b *bytes.Buffer, part, title string) {
	took := table{{"measured", "size", "steps", "p50", "p99", "ratio", "shown", "compactions", "p50", "memory"}}
	for _, r := range d.Rows {
		if r.Part != part {
			continue
		}
		p99, ratio, compaction := "–", "–", "–"
		if r.P99 > 0 {
			p99 = milli(r.P99)
		}
		if first, ok := d.smallest(r); ok && first.P50 > 0 {
			ratio = fmt.Sprintf("%.2f×", over(r.P50, first.P50))
		}
		if r.Compacted > 0 {
			compaction = milli(r.Compaction)
		}
		line := []string{
			r.Name, fmt.Sprint(r.Size), fmt.Sprint(r.Steps), milli(r.P50), p99, ratio, fmt.Sprint(r.Shown), fmt.Sprint(r.Compacted), compaction,
			mega(r.Memory),
		}
		took = append(took, line)
	}
	if len(took) == 1 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	took.write(b)
}

// smallest returns the row of the same kind of views at the smallest size.
func (d document) smallest(of row) (row, bool) {
	for _, r := range d.Rows {
		if r.Part == of.Part && r.Name == of.Name {
			return r, r.Size != of.Size
		}
	}
	return row{}, false
}

func over(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }

// table is a table of cells, the first column aligned left, the others right.
type table [][]string

func (t table) write(w io.Writer) {
	widest := 0
	for _, row := range t {
		widest = max(widest, len(row[0]))
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range t {
		fmt.Fprintln(tw, row[0]+strings.Repeat(" ", widest-len(row[0]))+"\t"+strings.Join(row[1:], "\t")+"\t")
	}
	tw.Flush()
}

func milli(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
func mega(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
