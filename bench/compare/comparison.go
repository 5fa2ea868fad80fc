package main

import (
	"context"
	"time"
)

// plan is a comparison that can be run: its name for -run, what it is about, and how it is made ready.
type plan struct {
	name, about string
	prepare     func(ctx context.Context, b *bench) (comparison, error)
}

// plans are all comparisons, in the order in which they run.
func plans() []plan {
	return []plan{
		countPlan("o200k_base"),
		countPlan("cl100k_base"),
		startUpPlan(),
		hostilePlan(),
		promptTSXPlan(),
		growthPlan(flatTree),
		growthPlan(nestedTree),
		growthPlan(equalTree),
		growthPlan(keepWithTree),
		growthPlan(legacyTree),
		stepPlan(),
		fitPlan(),
		trimPlan(),
	}
}

// comparison is some contestants that do the same job, measured in turns, and what is asked of them.
type comparison struct {
	// notes are what a reader must know of the job, a line each.
	notes       []string
	contestants []contestant
	targets     []target
	// stretch is how many times as long as usual a contestant runs in a round. Defaults to 1.
	stretch int
}

// contestant is one way to do the job.
type contestant struct {
	name string
	// lap does the job some times. Nil where the contestant cannot run here, and skipped says why.
	lap     lap
	skipped string
	// against names the contestant that its time is divided by. Defaults to the first of the comparison.
	against string
	// bytes that the job reads, and pieces that it decides on; 0 where that says nothing.
	bytes, pieces int
	// warmUp is how long it runs before it is measured. Defaults to the bench's.
	warmUp time.Duration
	// note is asked, once all has run, for what is to be said about the outcome. May be nil.
	note func() string
}

// lap does a job n times and tells what that took in all, without what had to be set up for it.
type lap func(ctx context.Context, n int) (cost, error)

// cost of a number of jobs.
type cost struct {
	time time.Duration
	// allocs is the number of allocations, below 0 where it is not known.
	allocs int64
}

// says is a note that is known beforehand.
func says(s string) func() string { return func() string { return s } }
