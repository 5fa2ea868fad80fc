package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// taking returns a measurement of one round.
func taking(d time.Duration) measurement { return measurement{times: []time.Duration{d}, allocs: -1} }

func TestATargetIsMetMissedOrNotMeasured(t *testing.T) {
	r := results{
		"ours": taking(time.Millisecond), "peer": taking(40 * time.Millisecond), "skipped": {},
		"clean": {times: []time.Duration{1}, allocs: 0.2}, "dirty": {times: []time.Duration{1}, allocs: 2},
		"over": {times: []time.Duration{10 * time.Millisecond}, allocs: -1, over: true},
	}
	heap := &child{heap: 9 << 20}
	tests := []struct {
		name   string
		target target
		state  state
		shown  string
	}{
		{"as fast as asked is met", faster("ours", 40, "peer"), met, "40.0×"},
		{"not as fast as asked is missed", faster("ours", 41, "peer"), missed, "40.0×"},
		{"faster than a skipped contestant is not measured", faster("ours", 2, "skipped"), notMeasured, ""},
		{"a skipped contestant is not measured", faster("skipped", 2, "ours"), notMeasured, ""},
		{"just within is met", within("peer", 40, "ours"), met, "40.0×"},
		{"beyond is missed", within("peer", 39.9, "ours"), missed, "40.0×"},
		{"just in time is met", under("ours", time.Millisecond), met, "1.00 ms"},
		{"too late is missed", under("ours", time.Millisecond-1), missed, "1.00 ms"},
		{"the time of a skipped contestant is not measured", under("skipped", time.Hour), notMeasured, ""},
		{"cancelled after missing the target is missed", within("over", 9, "ours"), missed, ">10.0×"},
		{"cancelled before missing the target is not measured", within("over", 11, "ours"), notMeasured, ">10.0×"},
		{"cancelled while still fast enough is not measured", faster("over", 4, "peer"), notMeasured, "<4.00×"},
		{"faster than a cancelled contestant is met", faster("ours", 10, "over"), met, "10.0×"},
		{"no allocations are met", noAllocs("clean"), met, "0"},
		{"allocations are missed", noAllocs("dirty"), missed, "2"},
		{"unknown allocations are not measured", noAllocs("ours"), notMeasured, ""},
		{"too large a heap is missed", heap.heapTarget("ours", 8<<20), missed, "9.00 MB"},
		{"an unknown heap is not measured", (&child{}).heapTarget("ours", 8<<20), notMeasured, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := test.target.judge(r)
			require.Equal(t, test.state, v.State)
			require.Equal(t, test.shown, v.Shown)
			require.NotEmpty(t, v.Asks)
		})
	}
}
