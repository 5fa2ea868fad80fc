package entry

import (
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Memory is what a session remembers of bad moments: requests that were refused as too large, and compactions that
// failed. It says whether and when to try again, and with how much. It is read from the entries of a path, and a
// compaction carries on what it would hide ([Carried].Models), so every process that opens the session has the same
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

// Learnt is what a session has learnt of a model from its answers and refusals.
type Learnt struct {
	// Model is the model's name.
	Model string `json:"model,omitempty"`
	// Accepted is the largest input that the model accepted, in tokens by the provider's count, or else by ours. A
	// limit that the provider names is believed only if it is larger. Counted is our count of the same request, 0 if it
	// is not known.
	Accepted int `json:"accepted,omitempty"`
	Counted  int `json:"counted,omitempty"`
	// Agent is the ceiling of the agent's requests, and Summaries that of requests for summaries. A refusal of one kind
	// says nothing of the other.
	Agent     Ceiling `json:"agent,omitzero"`
	Summaries Ceiling `json:"summaries,omitzero"`
}

// Ceiling is a size that was learnt from refusals of one kind of request to one model. Sizes are in tokens by our own
// count, of messages and tools. The zero value bounds nothing.
type Ceiling struct {
	// Refused is the size of the smallest request that was refused, or the limit that the provider named, if that is
	// smaller. 0 for none.
	Refused int `json:"refused,omitempty"`
	// Once reports that there was a single refusal, without a number to believe. It may have been a mistake, and bounds
	// no later request.
	Once bool `json:"once,omitempty"`
	// Holds is for how many accepted requests the ceiling holds, and Left how many of them are left. After that the
	// nominal budget is tried again. Holds is 3 at first, and doubles if the nominal budget is then refused at up to
	// 1.5 times the ceiling.
	Holds int `json:"holds,omitempty"`
	Left  int `json:"left,omitempty"`
	// Attempts is the number of refusals in a row, and Next the size of the next attempt; 0 means half of the nominal
	// size. Resent reports that the first of them may have been a mistake, so that the request was sent again.
	Attempts int  `json:"attempts,omitempty"`
	Next     int  `json:"next,omitempty"`
	Resent   bool `json:"resent,omitempty"`
}

// firstHold is for how many accepted requests a refusal is remembered at first.
const firstHold = 3

// MaxModels is the maximum number of models that a [Memory] holds.
const MaxModels = 64

// Size returns the largest size of the next request, in tokens, given the nominal one.
func (c Ceiling) Size(nominal int) int {
	size := nominal
	switch {
	case c.Attempts > 0 && c.Next == 0:
		size = nominal / 2
	case c.Attempts > 0:
		size = c.Next
	case c.Left > 0 && !c.Once:
		size = nineTenths(c.Refused)
	}
	return max(1, min(size, nominal))
}

// Confirmed returns the number of refusals in a row, without a first one that may have been a mistake.
func (c Ceiling) Confirmed() int {
	if c.Resent {
		return c.Attempts - 1
	}
	return c.Attempts
}

func nineTenths(n int) int { return max(1, clamp.Share(0.9, n)) }

// refuse records that a request of a size was refused. Named is the limit that the provider named, by our count, 0 if
// it named none that is believed.
func (c *Ceiling) refuse(counted, named int) {
	first := c.Attempts == 0
	attempts := c.Attempts + 1
	if named == 0 && c.Refused == 0 {
		*c = Ceiling{Refused: counted, Once: true, Holds: firstHold, Left: firstHold, Attempts: attempts, Resent: true}
		return
	}
	size := counted
	if named > 0 {
		size = min(size, named)
	}
	holds := max(firstHold, c.Holds)
	switch known := c.Refused > 0 && !c.Once; {
	case known && c.Left == 0 && counted <= c.Refused+c.Refused/2:
		holds = clamp.Sum(holds, holds)
	case !known && first: // something was accepted since the only refusal, so its size says nothing
		c.Refused = 0
	}
	if c.Refused > 0 {
		size = min(size, c.Refused)
	}
	next := nineTenths(size)
	if named == 0 || !first {
		next = max(1, min(next, counted/2))
	}
	*c = Ceiling{Refused: max(1, size), Holds: holds, Left: holds, Attempts: attempts, Next: next, Resent: c.Resent}
}

// endRow ends the refusals in a row.
func (c *Ceiling) endRow() { c.Attempts, c.Next, c.Resent = 0, 0, false }

// accepted records that a request was accepted. Its size does not matter.
func (c *Ceiling) accepted() {
	c.endRow()
	if c.Left = max(0, c.Left-1); c.Left == 0 && c.Once {
		*c = Ceiling{}
	}
}

// fits records the size of an accepted request.
func (c *Ceiling) fits(counted int) {
	if !c.Once && c.Refused > 0 && counted >= c.Refused {
		*c = Ceiling{}
	}
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

// Refuse records a refusal.
func (l *Learnt) Refuse(r Refusal) {
	named := 0
	if r.Limit > l.Accepted {
		named = l.ours(r)
	}
	if r.Summary {
		l.Summaries.refuse(max(1, r.Counted), named)
	} else {
		l.Agent.refuse(max(1, r.Counted), named)
	}
}

// Summarised records that the model answered requests for summaries, the largest of a size by our count.
func (l *Learnt) Summarised(answers, largest int) {
	l.accept(0, largest)
	for range min(answers, 1000) {
		l.Summaries.accepted()
	}
	l.Summaries.fits(largest)
}

// ours returns the limit that a refusal names in tokens by our count. The provider's tokens for one of ours are those
// of the refused request, else those of the largest that was accepted, and from 0.5 to 8.
func (l *Learnt) ours(r Refusal) int {
	ratio := 1.0
	switch {
	case r.Tokens > 0 && r.Counted > 0:
		ratio = float64(r.Tokens) / float64(r.Counted)
	case l.Counted > 0:
		ratio = float64(l.Accepted) / float64(l.Counted)
	case r.Counted > 0 && r.Limit > r.Counted: // the request takes more than the limit
		ratio = float64(r.Limit) / float64(r.Counted)
	}
	return max(1, clamp.Int(float64(r.Limit)/max(0.5, min(8, ratio))))
}

// accept records the size of an accepted request, by the provider's count, 0 if that is not known, and by ours.
func (l *Learnt) accept(input, counted int) {
	if input == 0 {
		input = counted
	}
	if input > l.Accepted {
		l.Accepted, l.Counted = input, counted
	}
}

// attempted ends the refusals in a row of an attempt to compact.
func (l *Learnt) attempted() { l.Summaries.endRow() }

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

// ended records the end of a plan, or of an attempt to carry it out.
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
