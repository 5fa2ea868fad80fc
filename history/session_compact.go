package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/history/storage"
)

// Compact adds a compaction after the leaf. From then on, the path shows its messages in place of what it covers.
//
// The compaction names the entry at which it cuts, so however long the summary took, what was appended in the meantime
// is kept. If that entry is no longer on the path because of an undo or a switch of branch, if another compaction has
// covered it, or if the plan has ended, the compaction is dropped with a [*entry.BoundaryError], and the session stays
// as it was.
func (s *Session) Compact(ctx context.Context, c entry.Compaction) error {
	_, err := s.Add(ctx, entry.Entry{Body: c})
	return err
}

// checkCompaction returns an error if a compaction cannot follow the entry before.
func (a *adding) checkCompaction(ctx context.Context, c entry.Compaction) error {
	if len(c.Messages) == 0 {
		return errors.New("no messages to show")
	}
	for i, m := range c.Messages {
		if m.Role != chat.RoleUser {
			return fmt.Errorf("message %d is from %s: only user messages may replace history", i+1, m.Role)
		}
		if err := checkText(m); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	for i, th := range c.Thinking {
		if !sendable.Whole(th) {
			return fmt.Errorf("thinking %d is neither signed nor encrypted: no provider takes it back", i+1)
		}
	}
	if err := checkText(sendable.WithThinking(chat.Message{Role: chat.RoleAssistant}, c.Thinking)); err != nil {
		return fmt.Errorf("its thinking: %w", err)
	}
	if n := a.path.compaction(); n >= 0 && c.Plan != "" && a.path.nodes[n].compaction.Plan == c.Plan {
		return &entry.BoundaryError{ID: cmp.Or(c.Boundary(), c.Plan), Reason: entry.BoundaryCovered} // another compaction has carried out the plan
	}
	if ended, err := a.hasEnded(ctx, c.Plan); err != nil {
		return err
	} else if ended {
		return &entry.BoundaryError{ID: c.Plan, Reason: entry.BoundaryEnded}
	}
	i, err := a.r.checkBoundary(ctx, a.path, a.end, c)
	if err == nil && c.FirstKept != "" && !a.path.mayCut(i) {
		err = fmt.Errorf("cannot cut at entry %q: a tool result stays with its call, and a compaction is not kept", c.FirstKept)
	}
	return err
}

// hasEnded reports whether a plan was given up, by the entries after it.
func (a *adding) hasEnded(ctx context.Context, plan string) (bool, error) {
	for _, n := range slices.Backward(a.path.nodes) {
		if plan == "" || n.id == plan {
			break
		}
		if n.kind != entry.KindPlanEnd {
			continue
		}
		e, err := a.r.load(ctx, n)
		if err != nil {
			return false, err
		}
		if end, ok := e.Body.(entry.PlanEnd); ok && end.Plan == plan && end.Outcome != entry.PlanRetried {
			return true, nil
		}
	}
	return false, nil
}

// checkBoundary returns the index of the entry at which a compaction cuts a path, -1 if it covers everything. The error
// is a [*entry.BoundaryError] if it cannot cut there.
func (r *reader) checkBoundary(ctx context.Context, p path, before storage.Position, c entry.Compaction) (int, error) {
	id := c.Boundary()
	if id == "" {
		return -1, nil
	}
	i, reason, err := r.locate(ctx, p, before, id)
	if err != nil {
		return 0, err
	}
	if covered, _, last := p.boundary(); reason == "" && p.nodes[i].at < covered && id != last.Boundary() {
		reason = entry.BoundaryCovered
	}
	if reason != "" {
		return 0, &entry.BoundaryError{ID: id, Reason: reason}
	}
	return i, nil
}

// locate returns the index of an entry on the part of a path that the newest compaction left, or the reason why it is
// not there.
func (r *reader) locate(ctx context.Context, p path, before storage.Position, id string) (int, entry.BoundaryReason, error) {
	if i := p.index(id); i >= 0 {
		return i, "", nil
	}
	if r.store == nil {
		return 0, entry.BoundaryMissing, nil
	}
	at := storage.Position(-1)
	for s, err := range r.store.Back(ctx, before, id) {
		if missing(err) {
			return 0, entry.BoundaryMissing, nil
		} else if err != nil {
			return 0, "", err
		}
		at = s.At
		break
	}
	for s, err := range r.back(ctx, p, before) {
		switch {
		case err != nil:
			return 0, "", err
		case s.at == at:
			return 0, entry.BoundaryCovered, nil
		case s.at < at:
			return 0, entry.BoundaryLeft, nil
		}
	}
	return 0, entry.BoundaryLeft, nil
}

// mayCut reports whether the entry at an index may be the first that is kept. It must be one that is shown and not a
// tool result, or an entry that only the session knows followed by one.
func (p path) mayCut(i int) bool {
	for _, n := range p.nodes[i:] {
		switch {
		case n.kind == entry.KindTool || n.id == p.nodes[i].id && n.kind == entry.KindCompaction:
			return false
		case n.kind.Shown() || n.kind == entry.KindCompaction:
			return true
		}
	}
	return true
}
