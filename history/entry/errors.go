package entry

import "fmt"

// PairingError is returned for a tool call and a result that do not match.
type PairingError struct {
	CallID string
	Reason string
}

func (e *PairingError) Error() string { return fmt.Sprintf("tool call %q %s", e.CallID, e.Reason) }

// BoundaryError is returned for a compaction that was dropped because it can no longer cut at its entry.
type BoundaryError struct {
	// ID of the entry: the compaction's FirstKept, or its LastCovered.
	ID string
	// Reason why the compaction cannot cut there.
	Reason BoundaryReason
}

// BoundaryReason is the reason why a compaction was dropped.
type BoundaryReason string

// The reasons.
const (
	// BoundaryMissing: the session has no such entry.
	BoundaryMissing BoundaryReason = "is not in the session"
	// BoundaryLeft: the entry is on another branch than the one that is compacted.
	BoundaryLeft BoundaryReason = "is on another branch"
	// BoundaryCovered: an earlier compaction covers the entry.
	BoundaryCovered BoundaryReason = "is covered by an earlier compaction"
	// BoundaryEnded: the plan that the compaction carries out has already ended. ID is the plan's entry.
	BoundaryEnded BoundaryReason = "is a plan that has ended"
)

func (e *BoundaryError) Error() string {
	return fmt.Sprintf("dropped: entry %q %s", e.ID, e.Reason)
}
