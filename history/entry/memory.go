package entry

import (
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Memory is what a session remembers of bad moments: requests that were refused as too large, and compactions that
// failed. It says whether and when to try again, and with how much. It is read from the entries of a path, and a
// compaction retains what it would hide ([Retained].Models), so every process that opens the session has the same
// memory. Each fact has an end:
//
//	fact                   from                         says                                    forgotten
//	Ceiling.Attempts       Refusal, Usage.Refused       how small the next attempt is           when anything is said
//	Ceiling.Once           a first refusal that names   the next refusal makes a ceiling        after 3 accepted requests
//	                       no number to believe
//	Ceiling.Refused        any later refusal, or one    the budget is nine tenths of it         when a request of its size is
//	                       with a number to believe     for Holds accepted requests, then       accepted
//	                                                    the nominal one again
//	Learnt.Accepted        Usage, Compaction.Asked      which numbers are believed              never: it bounds no request, and
//	                                                                                            an accepted request stays so
//	Failures, Failed       PlanEnd                      how long compaction pauses              at the next compaction
//	Unusable               PlanEnd                      smaller requests for a summary          at the next compaction
//	TurnFailed             PlanEnd                      whether a prompt waits for a summary    when the user says something
type Memory struct {
	// Models holds what was learnt of models, the one that was heard of last at the end; at most [MaxModels].
	Models []Learnt
	// Failures is the number of compactions that failed in a row, Failed the newest of them or a later cancellation,
	// and FailedAt its time. Steps is the number of the agent's answers since then.
	Failures int
	Failed   PlanEnd
	FailedAt time.Time
	Steps    int
	// Unusable is the number of failures in a row, up to the newest, because an answer could not be used as a summary.
	Unusable int
	// TurnFailed reports that a compaction failed for which a prompt of this turn waited.
	TurnFailed bool

	foreground bool // the pending plan is one for which a prompt waits
}

// Of returns what was learnt of a model.
func (m Memory) Of(model string) Learnt {
	if i := slices.IndexFunc(m.Models, func(l Learnt) bool { return l.Model == model }); i >= 0 {
		return m.Models[i]
	}
	return Learnt{Model: model}
}

// change changes what was learnt of a model, and moves it to the end. The list that was there before stays as it is.
func (m *Memory) change(model string, f func(*Learnt)) {
	l := m.Of(model)
	f(&l)
	m.Models = slices.DeleteFunc(slices.Clone(m.Models), func(o Learnt) bool { return o.Model == model })
	m.Models = append(m.Models, l)
	m.Models = m.Models[max(0, len(m.Models)-MaxModels):]
}

// Add records the next entry of a path.
func (m *Memory) Add(e Entry) {
	switch b := e.Body.(type) {
	case Message:
		m.said(b.Role)
	case Usage:
		m.change(b.Model, func(l *Learnt) {
			if b.Refused > 0 { // recorded with the answer to a smaller request
				l.Refuse(Refusal{Counted: b.Refused})
				l.Agent.accepted()
			}
			l.accept(b.Input, b.Counted)
			l.Agent.fits(b.Counted)
		})
	case Refusal:
		m.change(b.Model, func(l *Learnt) { l.Refuse(b) })
	case Plan:
		m.foreground = !b.Background
	case PlanEnd:
		m.ended(b, e.Time)
	case Compaction:
		*m = Memory{Models: m.Models}
		m.each((*Learnt).attempted)
		if b.Answers > 0 {
			m.change(b.Model, func(l *Learnt) { l.Summarised(b.Answers, b.Asked) })
		}
	}
}

// said records that a message was appended. An assistant's is the answer to an accepted request.
func (m *Memory) said(role chat.Role) {
	if role == chat.RoleUser {
		m.TurnFailed = false
	}
	if role == chat.RoleAssistant {
		m.Steps++
	}
	m.each(func(l *Learnt) {
		if l.Agent.endRow(); role == chat.RoleAssistant {
			l.Agent.accepted()
		}
	})
}

// each changes what was learnt of all models. The list that was there before stays as it is; it is copied only if
// something changes, because this runs for each message.
func (m *Memory) each(f func(*Learnt)) {
	was := m.Models
	for i, l := range was {
		if f(&l); l == was[i] {
			continue
		}
		if &m.Models[0] == &was[0] {
			m.Models = slices.Clone(was)
		}
		m.Models[i] = l
	}
}

// ended records the end of a plan, or of an attempt to run it.
func (m *Memory) ended(end PlanEnd, at time.Time) {
	m.each((*Learnt).attempted)
	switch {
	case end.Outcome == PlanRetried: // the plan is pending
	case end.Outcome == PlanFailed || end.Outcome == PlanVetoed:
		m.Failures++
		m.Failed, m.FailedAt, m.Steps = end, at, 0
		if m.Unusable++; end.ErrorType != "summary_refused" {
			m.Unusable = 0
		}
		m.TurnFailed = m.TurnFailed || m.foreground && end.Plan != ""
	case end.ErrorType == "cancelled" && m.Failures == 0: // a cancelled plan is not retried at once
		m.Failed, m.FailedAt, m.Steps = end, at, 0
	}
}

// longestPause is the longest pause, in steps of the agent.
const longestPause = 64

// Pause returns the number of steps left in the pause after failures, and the time until which it lasts at least. The
// pause is 1 step after the first failure or a cancelled compaction, and doubles with each further failure, up to 64
// steps; retryAfter, if set, ends it sooner, but not before the time that providers named.
func (m Memory) Pause(now time.Time, retryAfter time.Duration) (steps int, until time.Time) {
	if m.Failed.Outcome == "" {
		return 0, time.Time{}
	}
	until = m.Failed.NotBefore
	if retryAfter > 0 && !now.Before(m.FailedAt.Add(retryAfter)) {
		return 0, until
	}
	steps = longestPause
	if m.Failures < 7 { // 2^6 is the longest
		steps = 1 << max(0, m.Failures-1)
	}
	return max(0, steps-m.Steps), until
}
