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
	}
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
		{"no allocations are met", noAllocs("clean"), met, "0"},
		{"allocations are missed", noAllocs("dirty"), missed, "2"},
		{"unknown allocations are not measured", noAllocs("ours"), notMeasured, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			state, text := test.target.judge(r)
			require.Equal(t, test.state, state)
			require.Regexp(t, "^"+test.target.asks+": "+test.shown, text)
		})
	}
}
