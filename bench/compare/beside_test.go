package compare

import (
	"slices"
	"testing"
	"time"
)

// A job does the work of a contestant once, and returns how long that took without what it prepared.
type job func() time.Duration

// timed is a job that prepares nothing.
func timed(work func()) job {
	return func() time.Duration {
		start := time.Now()
		work()
		return time.Since(start)
	}
}

// turn is how long a contestant does its job again and again before the other one's turn.
const turn = 50 * time.Millisecond

// beside reports how many times as fast ours is as the peer, by the medians of their turns, and the target if there is
// one. They take turns so that other load on the machine slows both.
func beside(b *testing.B, target float64, ours, peer job) {
	var times [2][]float64 // of one job, in nanoseconds
	for b.Loop() {
		for i, do := range []job{ours, peer} {
			var total time.Duration
			n := 0
			for ; total < turn; n++ {
				total += do()
			}
			times[i] = append(times[i], float64(total)/float64(n))
		}
	}
	var medians [2]float64
	for i := range times {
		slices.Sort(times[i])
		medians[i] = times[i][len(times[i])/2]
	}
	b.ReportMetric(medians[0], "ns/op")
	b.ReportMetric(medians[1], "peer-ns/op")
	b.ReportMetric(medians[1]/medians[0], "times-as-fast")
	if target > 0 {
		b.ReportMetric(target, "target")
	}
}
