package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheMedianIsTheMiddleOfTheTimes(t *testing.T) {
	tests := []struct {
		name  string
		times []time.Duration
		want  time.Duration
	}{
		{"of one is itself", []time.Duration{5}, 5},
		{"of an odd number is the one in the middle", []time.Duration{9, 1, 4}, 4},
		{"of an even number is the mean of the two in the middle", []time.Duration{1, 100, 6, 4}, 5},
		{"is not affected by an outlier", []time.Duration{3, 3, 3, 1_000_000}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := append([]time.Duration(nil), test.times...)
			require.Equal(t, test.want, median(test.times))
			require.Equal(t, before, test.times, "the times stay in the order of the rounds")
		})
	}
}

func TestARatioNeedsBothMedians(t *testing.T) {
	r := results{"a": {times: []time.Duration{30}}, "b": {times: []time.Duration{10}}, "c": {}}
	v, ok := r.ratio("a", "b")
	require.True(t, ok)
	require.InDelta(t, 3, v, 1e-9)
	for _, pair := range [][2]string{{"a", "c"}, {"c", "a"}, {"a", "none"}, {"none", "a"}} {
		_, ok := r.ratio(pair[0], pair[1])
		require.False(t, ok, pair)
	}
}
