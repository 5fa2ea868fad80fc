package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/golden"
)

func TestATableShowsMediansRatiosAndTargets(t *testing.T) {
	ms := func(times ...float64) []time.Duration {
		var out []time.Duration
		for _, v := range times {
			out = append(out, time.Duration(v*float64(time.Millisecond)))
		}
		return out
	}
	lap := repeated(nil)
	c := comparison{
		notes: []string{"what was counted"},
		contestants: []contestant{
			{name: "ours", lap: lap, bytes: 1_000_000, note: says("differs")},
			{name: "ours, größer", lap: lap, pieces: 10},
			{name: "peer", lap: lap},
			{name: "once", lap: lap},
			{name: "in JavaScript", skipped: "it needs Node"},
		},
		targets: []target{
			faster("ours", 40, "peer"), faster("ours", 50, "peer"), faster("ours", 2, "in JavaScript"), within("once", 2, "ours"),
		},
	}
	r := results{
		"ours": {times: ms(10, 9, 11.5), allocs: 0}, "ours, größer": {times: ms(0.0005), allocs: 55},
		"peer": {times: ms(420, 400), allocs: -1}, "once": {times: ms(12_345), allocs: -1},
	}
	var out bytes.Buffer
	require.NoError(t, r.print(&out, plan{name: "count", about: "counting"}, c))
	golden.Equal(t, "table.golden", out.String())
	for line := range strings.Lines(out.String()) {
		require.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no white space at the end")
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1_000: "1.00 µs", 12_345: "12.3 µs", 999_400: "999 µs", 25 * time.Millisecond: "25.0 ms",
		1234 * time.Millisecond: "1.23 s", 90 * time.Second: "90.0 s", time.Hour: "3600 s",
	} {
		require.Equal(t, want, duration(d))
	}
	for v, want := range map[float64]string{0: "0.00×", 0.0123: "0.01×", 0.001: "0.001×", 1: "1.00×", 99.94: "99.9×", 312.5: "312×"} {
		require.Equal(t, want, factor(v))
	}
}
