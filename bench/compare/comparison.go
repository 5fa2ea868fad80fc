package main

import (
	"context"
	"time"
)

// plan is a comparison that can be run: its name for -run, its subject, and how it is prepared.
type plan struct {
	name, about string
	prepare     func(ctx context.Context, b *bench) (comparison, error)
}

// plans returns all comparisons, in the order in which they run.
func plans() []plan {
	return []plan{
		countPlan("o200k_base"),
		countPlan("cl100k_base"),
		vocabularyPlan(),
		promptTSXPlan(),
	}
}

// comparison is a set of contestants for the same job, measured in turns, and their targets.
type comparison struct {
	// notes tell the reader about the job, one line each.
	notes       []string
	contestants []contestant
	targets     []target
}

// contestant is one way to do the job.
type contestant struct {
	name string
	// lap does the job a number of times. If it is nil the contestant cannot run here, and skipped says why.
	lap     lap
	skipped string
	// bytes that the job reads, and pieces that it decides on; 0 if that is meaningless.
	bytes, pieces int
	// warmUp is the time for which it runs before it is measured. Defaults to the bench's.
	warmUp time.Duration
	// note says something about the outcome.
	note string
}

// lap does a job n times and returns the total cost, without that of the set-up.
type lap func(ctx context.Context, n int) (cost, error)

// cost of a number of jobs.
type cost struct {
	time time.Duration
	// allocs is the number of allocations, below 0 if it is not known, and bytes what they took.
	allocs, bytes int64
}
