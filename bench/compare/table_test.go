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
			{name: "ours", lap: lap, bytes: 1_000_000, note: "differs"},
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
		"ours": {times: ms(10, 9, 11.5), allocs: 0}, "ours, größer": {times: ms(0.0005), allocs: 55, bytes: 1200},
		"peer": {times: ms(420, 400), allocs: -1}, "once": {times: ms(12_345), allocs: -1},
	}
	var out bytes.Buffer
	require.NoError(t, r.print(&out, plan{name: "count", about: "counting"}, c))
	golden.Equal(t, "table.golden", out.String())
	for line := range strings.Lines(out.String()) {
		require.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no white space at the end")
	}
}
