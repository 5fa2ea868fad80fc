// Package growth tests that work grows no faster than what it works on.
package growth

import (
	"runtime"
	"testing"
)

// Check calls work with 1,000 and with 10,000 items, and with 100,000 if many is set. It fails if ten times the items
// take more than twenty times the memory or the allocations: n·log n takes up to 13 times, n² a hundred. Work must use one
// goroutine, and the test must not run in parallel with others.
func Check(t testing.TB, many bool, work func(items int)) {
	t.Helper()
	sizes := []int{1000, 10_000}
	if many {
		sizes = append(sizes, 100_000)
	}
	var before used
	for i, items := range sizes {
		now := measure(func() { work(items) })
		if i > 0 && (now.bytes > 20*before.bytes || now.allocations > 20*before.allocations) {
			t.Errorf("%d items took %d bytes in %d allocations, %d items %d bytes in %d", sizes[i-1], before.bytes, before.allocations, items, now.bytes, now.allocations)
		}
		before = now
	}
}

type used struct{ bytes, allocations uint64 }

func measure(work func()) used {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return used{after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}
}
