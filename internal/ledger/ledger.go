// Package ledger reads what a session's entries record about compaction.
package ledger

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// Ledger holds what the entries on a path record about compaction: plans and their ends, and what providers reported
// and refused. It is read from the session alone, so every process that opens the session has the same ledger.
type Ledger struct {
	leaf string // the last entry that was read
	// Steps is the number of answers of the agent since the last compaction.
	Steps int
	// Answered is the time of the newest answer since the last compaction or change of model, zero if there is none.
	Answered time.Time
	// The report for the newest request since the last compaction, clearing or change of model.
	reported report
	// Inputs of the reported requests since the last compaction, in tokens by the provider's count.
	Inputs []int
	// Last is the report for the newest request with [history.Usage.Sent] set, since the last compaction or change of
	// model. Cleared reports whether old tool output was cleared since.
	Last    history.Usage
	Cleared bool
	// Pending is the plan without an end, nil if there is none.
	Pending *Plan
	// Ended is the last plan that ended, and End its end.
	Ended history.Plan
	End   history.PlanEnd
	// Failures is the number of consecutive failures since the last compaction, and Failure the newest of them or a
	// later cancellation.
	Failures int
	Failure  history.PlanEnd
	// FailedAt is the value of Steps at the time of Failure.
	FailedAt int
	failed   time.Time
	// Refused holds the requests for a summary that failed for a permanent reason since the last compaction.
	Refused map[history.SummaryRequest]bool
	// Finished holds the answers for parts of an unfinished summary since the last compaction.
	Finished map[history.SummaryRequest]string
	// The last refusal of each model for a request that was too large.
	refusals map[string]history.Refusal
	// Attempts is the number of times that the agent's request was refused since the newest message.
	Attempts int
	// Preambles holds references to the entries of stored preambles, by digest.
	Preambles map[string]history.Ref
}

// report holds the usage that a provider reported for a request, and our own count of it.
type report struct {
	model          string
	input, counted int
}

// Plan is a plan that has not ended, with the id of its entry.
type Plan struct {
	ID string
	history.Plan
}

// planPlaced is the outcome of a plan that a compaction ended.
const planPlaced history.PlanOutcome = "placed"

// maxPause is the longest pause, in steps.
const maxPause = 64

// Read returns the ledger of the path to a session's leaf. It extends the given one if the path continues from there.
// Otherwise it reads back to the newest compaction, which carries forward what a ledger needs of earlier entries.
func (l *Ledger) Read(ctx context.Context, s *history.Session) (*Ledger, error) {
	leaf := s.Leaf()
	if l != nil && l.leaf == leaf {
		return l, nil
	}
	var added []history.Entry // the newest first
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
		if !concerns(e) { // its presence is enough
			e.Body = nil
		}
		added = append(added, e)
		c, compaction := e.Body.(history.Compaction)
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
	next.Refused, next.Finished = maps.Clone(next.Refused), maps.Clone(next.Finished)
	next.Inputs = slices.Clip(next.Inputs)
	next.refusals, next.Preambles = maps.Clone(next.refusals), maps.Clone(next.Preambles)
	for i := len(added) - 1; i >= 0; i-- {
		next.add(added[i])
	}
	next.leaf = leaf
	return next, nil
}

// concerns reports whether a ledger reads the body of an entry.
func concerns(e history.Entry) bool {
	switch b := e.Body.(type) {
	case history.Message:
		return b.Role == chat.RoleAssistant || b.Role == chat.RoleUser
	case history.Compaction, history.Clearing, history.ModelChange, history.Usage, history.Plan, history.PlanEnd, history.Refusal,
		history.Preamble:
		return true
	}
	return false
}

// add records the next entry of the path.
func (l *Ledger) add(e history.Entry) {
	switch b := e.Body.(type) {
	case history.Message:
		l.Attempts = 0 // something said ends a series of refusals
		if b.Role == chat.RoleAssistant {
			l.Steps++
			l.Answered = e.Time
		}
	case history.Compaction:
		l.compacted(b)
	case history.Clearing:
		l.reported, l.Cleared = report{}, true
	case history.ModelChange:
		l.reported, l.Last, l.Answered = report{}, history.Usage{}, time.Time{}
		delete(l.refusals, b.Model) // another model may have the same name
	case history.Usage:
		if b.Input > 0 {
			l.Inputs = append(l.Inputs, b.Input)
		}
		if len(b.Sent.Marks) > 0 {
			l.Last, l.Cleared = b, false
		}
		if b.Input > 0 && b.Counted > 0 {
			l.reported = report{b.Model, b.Input, b.Counted}
		}
		if r, ok := l.refusals[b.Model]; ok && (r.Limit > 0 && b.Input > r.Limit || b.Counted > 0 && b.Counted >= r.Counted) {
			delete(l.refusals, b.Model) // the model accepted more than it refused
		}
	case history.Plan:
		l.Pending = &Plan{e.ID, b}
	case history.PlanEnd:
		if b.Plan != "" && (l.Pending == nil || l.Pending.ID != b.Plan) {
			return // the plan is on another branch
		}
		if b.Outcome != history.PlanRetried {
			l.ended(e.Time, b)
		}
		for _, r := range b.Refused {
			if l.Refused == nil {
				l.Refused = map[history.SummaryRequest]bool{}
			}
			l.Refused[r] = true
		}
		for _, a := range b.Finished {
			if l.Finished == nil {
				l.Finished = map[history.SummaryRequest]string{}
			}
			l.Finished[a.SummaryRequest] = a.Text
		}
	case history.Refusal:
		if l.refusals == nil {
			l.refusals = map[string]history.Refusal{}
		}
		l.refusals[b.Model] = b
		if !b.Summary {
			l.Attempts++
		}
	case history.Preamble:
		if l.Preambles == nil {
			l.Preambles = map[string]history.Ref{}
		}
		l.Preambles[b.Digest] = history.Ref{ID: e.ID}
	}
}

// ended records the end of a plan, or of one that could not be made.
func (l *Ledger) ended(at time.Time, end history.PlanEnd) {
	if l.End = end; end.Plan != "" {
		l.Ended, l.Pending = l.Pending.Plan, nil
	}
	switch {
	case end.Outcome == history.PlanFailed || end.Outcome == history.PlanVetoed:
		l.Failures++
		l.FailedAt, l.failed, l.Failure = l.Steps, at, end
	case end.ErrorType == "cancelled" && l.Failures == 0: // a cancelled plan is not retried at once
		l.FailedAt, l.failed, l.Failure = l.Steps, at, end
	}
}

// compacted resets the ledger to what a compaction carries forward. It ends any pending plan.
func (l *Ledger) compacted(c history.Compaction) {
	next := Ledger{Attempts: c.Carried.Attempts, Preambles: maps.Clone(c.Carried.Preambles)}
	if l.Pending != nil && l.Pending.ID == c.Plan {
		next.Ended, next.End = l.Pending.Plan, history.PlanEnd{Plan: c.Plan, Outcome: planPlaced}
	}
	for _, r := range c.Carried.Refusals {
		if next.refusals == nil {
			next.refusals = map[string]history.Refusal{}
		}
		next.refusals[r.Model] = r
	}
	*l = next
}

// Ratio returns how many tokens the provider of a model counts for each of ours, from 0.5 to 4. It is 1 if nothing was
// reported.
func (l *Ledger) Ratio(model string) float64 {
	r := l.reported
	if r.counted == 0 || r.model != "" && model != "" && r.model != model {
		return 1
	}
	return r.ratio()
}

func (r report) ratio() float64 { return max(0.5, min(4, float64(r.input)/float64(r.counted))) }

// LastRatio is like [Ledger.Ratio], but uses the newest request, whatever was cleared since.
func (l *Ledger) LastRatio(model string) float64 {
	if l.Last.Counted == 0 || l.Last.Model != model {
		return 1
	}
	return report{input: l.Last.Input, counted: l.Last.Counted}.ratio()
}

// Pause returns the number of steps left in the pause after failures, and the time until which it lasts at least. The
// pause is 1 step after the first failure or a cancelled compaction, and doubles with each further failure; retryAfter,
// if set, ends it sooner, but not before the time that providers named.
func (l *Ledger) Pause(now time.Time, retryAfter time.Duration) (steps int, until time.Time) {
	if l.Failure.Outcome == "" {
		return 0, time.Time{}
	}
	until = l.Failure.NotBefore
	if retryAfter > 0 && !now.Before(l.failed.Add(retryAfter)) {
		return 0, until
	}
	steps = maxPause
	if l.Failures < 7 { // 2^6 is the longest
		steps = 1 << max(0, l.Failures-1)
	}
	return max(0, l.FailedAt+steps-l.Steps), until
}

// Limit returns the context window that a model's provider stated when it refused a request, and its tokens for one of
// ours. Without a refusal the limit is 0 and the ratio 1.
func (l *Ledger) Limit(model string) (limit int, ratio float64) {
	r, ok := l.refusals[model]
	if !ok {
		return 0, 1
	}
	return r.Limit, RefusedRatio(r)
}

// Bound returns the maximum size of a request to a model by our own count, messages and tools: below one that was
// refused without stating its size. 0 means no bound.
func (l *Ledger) Bound(model string) int {
	if r, ok := l.refusals[model]; ok && r.Limit == 0 && r.Tokens == 0 {
		return r.Counted
	}
	return 0
}

// RefusedRatio returns the provider's tokens for one of ours, from 1 to 8, by a refused request: from the provider's
// count, or else from its limit, which the request exceeded.
func RefusedRatio(r history.Refusal) float64 {
	if r.Counted <= 0 {
		return 1
	}
	tokens := r.Tokens
	if tokens == 0 {
		tokens = max(r.Limit, r.Counted)
	}
	return max(1, min(8, float64(tokens)/float64(r.Counted)))
}
