package history

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
)

// Compact adds a compaction after the leaf. From then on the path shows its messages in place of what it covers.
//
// The place at which it cuts is held by the id of an entry, and found again here, however long the summary took: what
// was appended meanwhile is kept. Where the entry is no longer on the path, because of an undo or a switch of branch,
// or another compaction has covered it, the compaction is dropped with a [*BoundaryError]: the session is as it was.
func (s *Session) Compact(c Compaction) error {
	_, err := s.Add(Entry{Body: c})
	return err
}

// BoundaryError is the error of a compaction that was dropped because the entry at which it cuts is not there to cut at any more.
type BoundaryError struct {
	// ID of the entry: the compaction's FirstKept, or its LastCovered.
	ID string
	// Reason why it cannot be cut there.
	Reason BoundaryReason
}

// BoundaryReason says why a compaction was dropped.
type BoundaryReason string

// The reasons.
const (
	// BoundaryMissing: the session has no such entry.
	BoundaryMissing BoundaryReason = "is not in the session"
	// BoundaryLeft: the entry is on another branch than the one that is compacted.
	BoundaryLeft BoundaryReason = "is on another branch"
	// BoundaryCovered: a compaction that was made before covers the entry.
	BoundaryCovered BoundaryReason = "is covered by an earlier compaction"
)

func (e *BoundaryError) Error() string {
	return fmt.Sprintf("it is dropped, for entry %q %s", e.ID, e.Reason)
}

// checkCompaction returns what keeps a compaction from following an entry.
func (a *adding) checkCompaction(c Compaction, parent int32) error {
	if len(c.Messages) == 0 {
		return errors.New("it has no messages to show")
	}
	for i, m := range c.Messages {
		if m.Role != chat.RoleUser {
			return fmt.Errorf("message %d is from %s: what stands for history is the user's", i+1, m.Role)
		}
		if err := checkText(m); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	for i, th := range c.Thinking {
		if !whole(th) {
			return fmt.Errorf("thinking %d is neither signed nor encrypted: no provider takes it back", i+1)
		}
	}
	if err := checkText(begun(chat.Message{Role: chat.RoleAssistant}, c.Thinking)); err != nil {
		return fmt.Errorf("its thinking: %w", err)
	}
	id := c.boundary()
	if id == "" {
		return nil
	}
	at, ok := a.find(id)
	if !ok {
		return &BoundaryError{ID: id, Reason: BoundaryMissing}
	}
	if !a.follows(parent, at) {
		return &BoundaryError{ID: id, Reason: BoundaryLeft}
	}
	if c.FirstKept != "" && !a.mayCut(at, parent) {
		return fmt.Errorf("entry %q is no place to cut: nothing may be parted from its tool result, and no compaction kept", id)
	}
	before, _, _, err := a.boundary(parent)
	if err != nil {
		return err
	}
	kept := at // the first that is
	if c.FirstKept == "" {
		kept = a.next(at, parent)
	}
	if kept < before {
		return &BoundaryError{ID: id, Reason: BoundaryCovered}
	}
	return nil
}

// next is the place after one on the path to a leaf, or the first that is free.
func (t *tree) next(at, leaf int32) int32 {
	next := int32(len(t.nodes))
	for i := range t.up(leaf) {
		if i == at {
			break
		}
		next = i
	}
	return next
}

// follows reports whether an entry is on the path to another.
func (t *tree) follows(at, ancestor int32) bool {
	for at > ancestor {
		at = t.nodes[at].parent
	}
	return at == ancestor
}

// mayCut reports whether an entry on the path to a leaf may be the first that is kept: one that is shown and no tool
// result, or what the session knows about such a one that follows.
func (t *tree) mayCut(at, leaf int32) bool {
	if k := t.nodes[at].kind; k == kindTool || k == kindCompaction {
		return false
	}
	next := at // the first shown entry from there on
	for i := range t.up(leaf) {
		if i < at {
			break
		}
		if k := t.nodes[i].kind; k.shown() || k == kindCompaction {
			next = i
		}
	}
	return t.nodes[next].kind != kindTool
}

// boundary is the id of the entry that says where it cuts, "" where it covers everything.
func (c Compaction) boundary() string {
	if c.FirstKept != "" {
		return c.FirstKept
	}
	return c.LastCovered
}

// boundary returns the place of the first entry that the latest compaction on a path does not cover, the place after that
// compaction's entry, and the compaction. Without one the places are 0.
func (t *tree) boundary(leaf int32) (first, after int32, c Compaction, err error) {
	for at := range t.up(leaf) {
		if t.nodes[at].kind != kindCompaction {
			continue
		}
		e, err := t.load(at)
		if err != nil {
			return 0, 0, Compaction{}, err
		}
		c := e.Compaction()
		return t.cut(c, at, at+1), at + 1, c, nil
	}
	return 0, 0, Compaction{}, nil
}

// cut is where a compaction cuts the path to a leaf, which is after all of it where it does not say. Places grow along
// a path, so that one number parts it.
func (t *tree) cut(c Compaction, leaf, all int32) int32 {
	id := c.boundary()
	if id == "" {
		return all
	}
	for at := range t.up(leaf) {
		switch {
		case t.nodes[at].id != id:
		case c.FirstKept == "":
			return at + 1
		default:
			return at
		}
	}
	return all
}
