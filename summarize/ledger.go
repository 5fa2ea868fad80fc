package summarize

import (
	"maps"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// ledger is what the entries on a path say about compaction: plans and how they ended, what providers reported and refused.
// It is read from the session alone, so that any process that opens it knows the same.
type ledger struct {
	leaf  string // the entry up to which it was read
	steps int    // answers of the agent
	// What was reported of the newest request since the last compaction, clearing or change of model.
	reported report
	// The plan that has not ended.
	pending *pendingPlan
	// The plan that ended last, and how.
	plan history.Plan
	end  history.PlanEnd
	// Failures since the last compaction that was placed, and when the last one was.
	failures int
	failedAt int // in steps
	failed   time.Time
	failure  history.PlanEnd
	refused  map[history.RefusedRequest]bool
	// What each model refused last as too large, and how often the agent's was since its last answer.
	refusals map[string]history.Refusal
	attempts int
	// The entries of the preambles that are stored, by their digests.
	preambles map[string]string
}

// report is what a provider said that a request took, and our own count of it.
type report struct {
	model          string
	input, counted int
}

// pendingPlan is a plan that has not ended.
type pendingPlan struct {
	id string
	history.Plan
}

// planPlaced is the outcome of a plan that a compaction ended.
const planPlaced history.PlanOutcome = "placed"

// maxPause is the longest pause, in steps.
const maxPause = 64

// read returns the ledger of the path to a session's leaf. What was read before is taken over if the path goes on from it.
func (l *ledger) read(s *history.Session) (*ledger, error) {
	leaf := s.Leaf()
	if l != nil && l.leaf == leaf {
		return l, nil
	}
	var added []history.Entry // the newest first
	known := false
	for e, err := range s.Back(leaf) {
		if err != nil {
			return nil, err
		}
		if l != nil && e.ID == l.leaf {
			known = true
			break
		}
		if !tells(e) { // the rest matters by its kind alone
			e.Body = nil
		}
		added = append(added, e)
	}
	next := &ledger{}
	if known {
		*next = *l
	}
	next.refused, next.refusals, next.preambles = maps.Clone(next.refused), maps.Clone(next.refusals), maps.Clone(next.preambles)
	for i := len(added) - 1; i >= 0; i-- {
		next.add(added[i])
	}
	next.leaf = leaf
	return next, nil
}

// tells reports whether a ledger looks at more of an entry than that it is there.
func tells(e history.Entry) bool {
	switch b := e.Body.(type) {
	case history.Message:
		return b.Role == chat.RoleAssistant || b.Role == chat.RoleUser
	case history.Compaction, history.Clearing, history.ModelChange, history.Usage, history.Plan, history.PlanEnd, history.Refusal,
		history.Preamble:
		return true
	}
	return false
}

// add takes in the next entry of the path.
func (l *ledger) add(e history.Entry) {
	switch b := e.Body.(type) {
	case history.Message:
		l.attempts = 0 // what is said ends a series of refusals
		if b.Role == chat.RoleAssistant {
			l.steps++
		}
	case history.Compaction:
		l.reported, l.failures, l.failure, l.refused = report{}, 0, history.PlanEnd{}, nil
		if l.pending != nil && l.pending.id == b.Plan {
			l.plan, l.pending, l.end = l.pending.Plan, nil, history.PlanEnd{Plan: b.Plan, Outcome: planPlaced}
		}
	case history.Clearing:
		l.reported = report{}
	case history.ModelChange:
		l.reported = report{}
		delete(l.refusals, b.Model) // it may be another by that name
	case history.Usage:
		if b.Input > 0 && b.Counted > 0 {
			l.reported = report{b.Model, b.Input, b.Counted}
		}
		if r, ok := l.refusals[b.Model]; ok && (r.Limit > 0 && b.Input > r.Limit || b.Counted > 0 && b.Counted >= r.Counted) {
			delete(l.refusals, b.Model) // it took more than it refused
		}
	case history.Plan:
		l.pending = &pendingPlan{e.ID, b}
	case history.PlanEnd:
		if b.Plan != "" {
			if l.pending == nil || l.pending.id != b.Plan {
				return // of a plan on another branch
			}
			l.plan, l.pending = l.pending.Plan, nil
		}
		l.end = b
		switch {
		case b.Outcome == history.PlanFailed || b.Outcome == history.PlanVetoed:
			l.failures++
			l.failedAt, l.failed, l.failure = l.steps, e.Time, b
		case b.ErrorType == "cancelled" && l.failures == 0: // which is not begun again at once
			l.failedAt, l.failed, l.failure = l.steps, e.Time, b
		}
		for _, r := range b.Refused {
			if l.refused == nil {
				l.refused = map[history.RefusedRequest]bool{}
			}
			l.refused[r] = true
		}
	case history.Refusal:
		if l.refusals == nil {
			l.refusals = map[string]history.Refusal{}
		}
		l.refusals[b.Model] = b
		if !b.Summary {
			l.attempts++
		}
	case history.Preamble:
		if l.preambles == nil {
			l.preambles = map[string]string{}
		}
		l.preambles[b.Digest] = e.ID
	}
}

// ratio is how many tokens of the provider's are one of ours for a model, from 0.5 to 4; 1 if nothing was reported.
func (l *ledger) ratio(model string) float64 {
	r := l.reported
	if r.counted == 0 || r.model != "" && model != "" && r.model != model {
		return 1
	}
	return max(0.5, min(4, float64(r.input)/float64(r.counted)))
}

// pause returns what is left of the pause after failures. It is 1 step after the first failure, or after a compaction that
// was cancelled, and doubles with each further failure; retryAfter, if it is set, ends it sooner. It lasts at least until the
// time that providers named.
func (l *ledger) pause(now time.Time, retryAfter time.Duration) Pause {
	if l.failure.Outcome == "" {
		return Pause{}
	}
	p := Pause{Failures: l.failures, Err: l.failure.Error, Until: l.failure.NotBefore}
	if retryAfter > 0 && !now.Before(l.failed.Add(retryAfter)) {
		return p
	}
	steps := maxPause
	if l.failures < 7 { // 2^6 is the longest
		steps = 1 << max(0, l.failures-1)
	}
	p.Steps = max(0, l.failedAt+steps-l.steps)
	return p
}

// limitOf returns what a model's provider said of its context window, and how many tokens of its are one of ours by what it
// refused. Without a refusal the limit is 0 and the ratio 1.
func (l *ledger) limitOf(model string) (limit int, ratio float64) {
	r, ok := l.refusals[model]
	if !ok {
		return 0, 1
	}
	return r.Limit, refusedRatio(r)
}

// bound is the most tokens by our own count that a request to a model may take, messages and tools: less than one that was
// refused without a word about its size. 0 is no bound.
func (l *ledger) bound(model string) int {
	if r, ok := l.refusals[model]; ok && r.Limit == 0 && r.Tokens == 0 {
		return r.Counted
	}
	return 0
}

// refusedRatio is how many tokens of the provider's are one of ours, by a request that was refused: what the provider
// counted, or at least its limit.
func refusedRatio(r history.Refusal) float64 {
	if r.Counted <= 0 {
		return 1
	}
	tokens := r.Tokens
	if tokens == 0 {
		tokens = max(r.Limit, r.Counted)
	}
	return max(1, min(8, float64(tokens)/float64(r.Counted)))
}
