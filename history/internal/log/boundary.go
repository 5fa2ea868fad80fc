package log

// The reasons of an [entry.BoundaryError].
const (
	// BoundaryMissing: the session has no such entry.
	BoundaryMissing = "is not in the session"
	// BoundaryLeft: the entry is on another branch than the one that is compacted.
	BoundaryLeft = "is on another branch"
	// BoundaryCovered: an earlier compaction covers the entry.
	BoundaryCovered = "is covered by an earlier compaction"
	// BoundaryEnded: the plan of the compaction has already ended, or something was erased since. ID is the plan's entry.
	BoundaryEnded = "is a plan that has ended"
)
