// Package journal reads and writes what a session records about compaction.
package journal

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/summarize/internal/failure"
)

// Ledger holds what the entries on a path record about compaction: plans and their ends, and what providers reported
// and refused. It is read from the session alone, so every process that opens the session has the same ledger.
type Ledger struct {
	entry.Remembered        // of bad moments
	leaf             string // the last entry that was read
	// Answers is the number of answers of the agent since the last compaction.
	Answers int
	// Answered is the time of the newest answer since the last compaction or change of model, zero if there is none.
	Answered time.Time
	// The report for the newest request since the last compaction, clearing or change of model.
	reported entry.Usage
	// Inputs of the reported requests since the last compaction, in tokens by the provider's count.
	Inputs []int
	// Last is the report for the newest request with [entry.Usage.Sent] set, since the last compaction or change of
	// model. Cleared reports whether old tool output was cleared since.
	Last    entry.Usage
	Cleared bool
	// Pending is the plan without an end, nil if there is none.
	Pending *Plan
	// Ended is the last plan that ended, and End its end.
	Ended entry.Plan
	End   entry.PlanEnd
	// parts holds the answers for parts of unfinished summaries since the last compaction, and moves reports whether that
	// put such a part in place, or the newest plan ended with one, so that the next goes on from there.
	parts []part
	moves bool
	// Preambles holds references to the entries of stored preambles, by digest.
	Preambles map[string]entry.Ref
}

// part is an answer for a part of a summary, with the instructions that it follows.
type part struct {
	entry.SummaryAnswer
	instructions string
}

// Parts returns the answers for parts of an unfinished summary with some instructions, the oldest first.
func (l *Ledger) Parts(instructions string) (list []entry.SummaryAnswer) {
	for _, p := range l.parts {
		if p.instructions == instructions {
			list = append(list, p.SummaryAnswer)
		}
	}
	return list
}

// Plan is a plan that has not ended, with the id and the time of its entry.
type Plan struct {
	ID   string
	Time time.Time
	entry.Plan
	Moves bool          // a part of it was answered, or it goes on from one that was put in place
	given time.Duration // from Time until the plan expires if nothing is answered
}

// planPlaced is the outcome of a plan that a compaction ended.
const planPlaced entry.PlanOutcome = "placed"

// Read returns the ledger of the path to a session's leaf. It extends the given one if the path continues from there.
// Otherwise it reads back to the newest compaction, which retains what a ledger needs of earlier entries.
func (l *Ledger) Read(ctx context.Context, s *history.Session) (*Ledger, error) {
	leaf := s.Leaf()
	if l != nil && l.leaf == leaf {
		return l, nil
	}
	var added []entry.Entry // the newest first
	known, compacted := false, false
	first := "" // the first entry to read, once the plan of a compaction is known
	for e, err := range s.Back(ctx, leaf) {
		if err != nil {
			return nil, err
		}
		if l != nil && e.ID == l.leaf {
			known = true
			break
		}
		if concerns(e) {
			added = append(added, e)
		}
		c, compaction := e.Body.(entry.Compaction)
		switch {
		case compaction && !compacted: // the newest compaction
			compacted, first = true, c.Plan
		case e.ID != first && !compaction:
			continue
		}
		if first == "" || e.ID == first || c.Plan != first { // no earlier entry is needed
			break
		}
	}
	next := &Ledger{}
	if known {
		*next = *l
	}
	next.parts = slices.Clip(next.parts)
	next.Inputs = slices.Clip(next.Inputs)
	next.Preambles = maps.Clone(next.Preambles)
	for _, e := range slices.Backward(added) {
		next.add(e)
		if _, ok := e.Body.(entry.Branch); ok && next.Pending != nil {
			if err := next.endedElsewhere(ctx, s, e.ID); err != nil {
				return nil, err
			}
		}
	}
	next.leaf = leaf
	return next, nil
}

// endedElsewhere ends the pending plan if its end stands on a branch that the session left, before an entry of the log.
func (l *Ledger) endedElsewhere(ctx context.Context, s *history.Session, before string) error {
	for e, err := range s.Entries(ctx) {
		if err != nil || e.ID == before || l.Pending == nil {
			return err
		}
		switch b := e.Body.(type) {
		case entry.PlanEnd:
			if b.Plan != "" && b.Outcome != entry.PlanRetried {
				l.add(e)
			}
		case entry.Compaction: // it was undone
			if b.Plan == l.Pending.ID {
				l.ended(entry.PlanEnd{Plan: b.Plan, Outcome: entry.PlanDropped})
			}
		}
	}
	return nil
}

// concerns reports whether a ledger reads the body of an entry.
func concerns(e entry.Entry) bool {
	switch b := e.Body.(type) {
	case entry.Message:
		return b.Role == chat.RoleAssistant || b.Role == chat.RoleUser
	case entry.Compaction, entry.Clearing, entry.ModelChange, entry.Usage, entry.Plan, entry.PlanEnd, entry.Refusal,
		entry.Preamble, entry.Erasure, entry.Branch:
		return true
	}
	return false
}

// add records the next entry of the path.
func (l *Ledger) add(e entry.Entry) {
	if end, ok := e.Body.(entry.PlanEnd); ok && end.Plan != "" && (l.Pending == nil || l.Pending.ID != end.Plan) {
		return // the plan is on another branch
	}
	if c, ok := e.Body.(entry.Compaction); ok {
		l.compacted(c)
	}
	l.Remembered.Add(e)
	switch b := e.Body.(type) {
	case entry.Message:
		if b.Role == chat.RoleAssistant {
			l.Answers++
			l.Answered = e.Time
		}
	case entry.Clearing:
		if !b.Preview { // no request showed what it replaces
			l.reported, l.Cleared = entry.Usage{}, true
		}
	case entry.ModelChange:
		l.reported, l.Last, l.Answered = entry.Usage{}, entry.Usage{}, time.Time{}
	case entry.Usage:
		if b.Input > 0 {
			l.Inputs = append(l.Inputs, b.Size())
		}
		if len(b.Sent.Marks) > 0 {
			l.Last, l.Cleared = b, false
		}
		if b.Input > 0 && b.Counted > 0 {
			l.reported = b
		}
	case entry.Plan:
		l.Pending = &Plan{ID: e.ID, Time: e.Time, Plan: b, Moves: l.moves, given: b.Until.Sub(e.Time)}
	case entry.PlanEnd:
		for _, a := range b.Finished {
			p := part{SummaryAnswer: a}
			if l.Pending != nil {
				p.instructions = l.Pending.Instructions
			}
			l.parts = append(l.parts, p)
		}
		if b.Outcome != entry.PlanRetried {
			l.ended(b)
		} else if p := *l.Pending; len(b.Finished) > 0 {
			if p.Moves = true; !p.Until.IsZero() { // there is as much time again
				p.Until = e.Time.Add(p.given)
			}
			l.Pending = &p
		}
	case entry.Erasure: // answers may hold what was erased
		if l.parts = nil; l.Pending != nil {
			l.ended(entry.PlanEnd{Plan: l.Pending.ID, Outcome: entry.PlanDropped})
		}
	case entry.Preamble:
		if l.Preambles == nil {
			l.Preambles = map[string]entry.Ref{}
		}
		l.Preambles[b.Digest] = entry.Ref{ID: e.ID}
	}
}

// ended records the end of a plan, or of one that could not be made.
func (l *Ledger) ended(end entry.PlanEnd) {
	if l.End, l.moves = end, end.ErrorType == failure.Type(failure.ErrPart); end.Plan != "" {
		l.Ended, l.Pending = l.Pending.Plan, nil
	}
}

// compacted resets the ledger to what a compaction retains. It ends any pending plan.
func (l *Ledger) compacted(c entry.Compaction) {
	next := Ledger{
		Remembered: entry.Remembered{Models: c.Retained.Models, Held: c.Retained.Held}, Preambles: maps.Clone(c.Retained.Preambles),
		moves: c.Answers == 0 && c.Model != "", // no model was asked for what one had written
	}
	if l.Pending != nil && l.Pending.ID == c.Plan {
		next.Ended, next.End = l.Pending.Plan, entry.PlanEnd{Plan: c.Plan, Outcome: planPlaced}
	}
	*l = next
}

// Ratio returns how many tokens the provider of a model counts for each of ours, from 0.5 to 4. It is 1 if nothing was
// reported.
func (l *Ledger) Ratio(model string) float64 {
	if r := l.reported; r.Model == "" || model == "" || r.Model == model {
		return ratio(r)
	}
	return 1
}

// LastRatio is like [Ledger.Ratio], but uses the newest request, whatever was cleared since.
func (l *Ledger) LastRatio(model string) float64 {
	if l.Last.Model != model {
		return 1
	}
	return ratio(l.Last)
}

func ratio(u entry.Usage) float64 {
	if u.Counted == 0 {
		return 1
	}
	return max(0.5, min(4, float64(u.Size())/float64(u.Counted)))
}

// Jitter returns a number from -1 to 1 that depends on a session and its leaf.
func Jitter(s *history.Session) float64 {
	h := fnv.New64a()
	h.Write([]byte(s.Header().ID + "\x00" + s.Leaf()))
	sum := h.Sum(nil)
	n := binary.BigEndian.Uint64(sum) * 0x9E3779B97F4A7C15 // ids that differ at their end differ in the high bits too
	return 2*float64(n>>11)/(1<<53) - 1
}
