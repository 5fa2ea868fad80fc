package entry

import (
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Remembered is what a session remembers of bad moments: requests that were refused, for their size or for what they hold, and
// compactions that failed. It says whether and when to try again, and with how much. It is read from the entries of a
// path, and a compaction retains what it would hide ([Retained].Models), so every process that opens the session has
// the same memory. Each is a [Fact] of one model at one server, which holds for 2^Tries accepted requests of it and ends
// sooner by evidence:
//
//	fact              from                     says                                        ends
//	Learnt.Agent      Refusal, Doubt           the budget is nine tenths of Tokens         with an accepted request of its size
//	Learnt.Summaries  Refusal                  the same for requests for summaries         as above
//	Learnt.Bytes      Refusal                  the same for the bytes of a body            as above
//	Learnt.Output     Refusal                  the most tokens of an answer                after 2^Tries accepted requests
//	Learnt.Failed     PlanEnd                  compaction pauses, for 10 requests at most  with a compaction, and one of content
//	                                                                                       with a new turn or a tenth more tokens
//
// Nothing ends a pause before the requests that were made in vain are paid for, so a new turn ends one of content only if
// nothing is owed: each costs 10 accepted requests, of which the first 30 are free. A failure of transport costs one request,
// and so does a process that was killed. An attempt that got an answer for a part costs nothing and starts no pause, because
// it has moved forward: the next one begins where it ended.
//
// A pause also has a longest time, which the caller of [Learnt.Pause] knows. [Held] says what requests leave out; it
// comes back with accepted requests, one thing with each, and stays away only if it is refused again. Three things more
// are remembered: Fact.Attempts, how small the next attempt is, until anything is said; Learnt.Accepted, which says
// what numbers are believed and bounds nothing; and TurnFailed, until the user says something.
type Remembered struct {
	// Models holds what was learnt of models and their servers, the one that was heard of last at the end; at most
	// [MaxModels].
	Models []Learnt
	// Held is what requests leave out because servers refuse it, or may; at most [MaxHeld].
	Held []Held
	// TurnFailed reports that a compaction failed for which a prompt of this turn waited.
	TurnFailed bool

	plan     Plan // the newest, of which only some fields are set
	answered bool // for a part of it there is an answer
}

// Of returns what was learnt of a model at a server, "" if that is not known. If nothing was, it is what was learnt of the
// model where its server was not known, or is not now.
func (m Remembered) Of(model, server string) Learnt {
	found := Learnt{}
	for _, l := range m.Models {
		if l.Server == server && l.Model == model {
			return l
		}
		if l.of(model, server) {
			found = l // the newest
		}
	}
	found.Model, found.Server = model, server
	return found
}

// change changes what was learnt of a model at a server, and moves it to the end. The list that was there before stays as
// it is.
func (m *Remembered) change(model, server string, f func(*Learnt)) {
	l := m.Of(model, server)
	f(&l)
	m.Models = slices.DeleteFunc(slices.Clone(m.Models), func(o Learnt) bool { return o.Model == model && o.Server == server })
	m.Models = append(m.Models, l)
	m.Models = m.Models[max(0, len(m.Models)-MaxModels):]
}

// Add records the next entry of a path.
func (m *Remembered) Add(e Entry) {
	switch b := e.Body.(type) {
	case Message:
		m.said(b.Message)
	case Usage:
		m.change(b.Model, b.Server, func(l *Learnt) {
			l.accept(b.Size(), b.Counted)
			l.Agent.fits(b.Counted)
			l.sent(b.Bytes, b.Body)
		})
	case Refusal:
		m.change(b.Model, b.Server, func(l *Learnt) { l.Refuse(b) })
		if b.Unit == UnitHeld {
			m.hold(b)
		}
	case Plan:
		m.plan, m.answered = Plan{Model: b.Model, Server: b.Server, Used: b.Used, Background: b.Background}, false
	case PlanEnd:
		m.ended(b, e.Time)
	case Compaction:
		*m = Remembered{Models: m.Models, Held: m.Held}
		m.each(func(l *Learnt) {
			l.Summaries.endRow()
			l.Failed = Fact{}
		})
		if b.Answers > 0 {
			m.change(b.Model, b.Server, func(l *Learnt) { l.Summarized(b.Answers, b.Asked) })
			m.comeBack(func(h Held) bool { return h.of(b.Model, b.Server) })
		}
	}
}

// said records that a message was appended. An assistant's is the answer to an accepted request of the model that it names,
// or of each, if nothing is known of a model of that name: an application may use another one than the server.
func (m *Remembered) said(message chat.Message) {
	role, by, server := message.Role, message.Origin.Model, message.Origin.Server
	if role == chat.RoleUser {
		m.TurnFailed = false
	}
	named := by != "" && slices.ContainsFunc(m.Models, func(l Learnt) bool { return l.Model == by })
	if role == chat.RoleAssistant {
		m.comeBack(func(h Held) bool { return !named || h.of(by, server) })
	}
	m.each(func(l *Learnt) {
		if role == chat.RoleAssistant && (!named || l.of(by, server)) {
			l.accepted()
		} else if role == chat.RoleUser && l.Failed.Tokens > 0 {
			l.Failed.Left = min(l.Failed.Left, l.Failed.due())
		}
		l.Agent.endRow()
		l.Bytes.endRow()
		l.Output.endRow()
		l.Doubt = Doubt{}
	})
}

// each changes what was learnt of all models. The list that was there before stays as it is; it is copied only if
// something changes, because this runs for each message.
func (m *Remembered) each(f func(*Learnt)) {
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

// ended records the end of a plan, of an attempt to run it, or of one that could not be made.
func (m *Remembered) ended(end PlanEnd, at time.Time) {
	m.each(func(l *Learnt) { l.Summaries.endRow() })
	failed := end.Outcome == PlanFailed || end.Outcome == PlanVetoed
	if len(end.Finished) > 0 {
		m.answered = true
		m.change(m.plan.Model, m.plan.Server, func(l *Learnt) { l.Failed.Halved /= 2 })
	}
	gone := end.ErrorType == "runner_gone"
	if end.Outcome == PlanRetried || !failed && !gone && end.ErrorType != "cancelled" {
		return
	}
	of := Plan{Model: end.Model, Server: end.Server, Used: end.Used}
	if end.Plan != "" {
		of = m.plan
		m.TurnFailed = m.TurnFailed || failed && !m.plan.Background
	}
	if (failed || gone) && end.Plan != "" && m.answered { // it has moved forward, and goes on at once
		return
	}
	m.change(of.Model, of.Server, func(l *Learnt) {
		switch {
		case failed:
			l.Failed.failed(end, of.Used, at)
		case gone:
			l.Failed.gone(end, at)
		case l.Failed.Cause == "": // a cancelled plan is not retried at once
			l.Failed = Fact{Since: at, Left: 1}
		}
	})
}

// ofContent lists the types of errors that depend on what the history holds, or on what was asked.
var ofContent = []string{"summary_refused", "context_limit", "refused", "no_room", "nothing_to_compact"}

// A failure holds for [longestPause] accepted requests at most, and each of its requests costs as many, beyond a credit.
const longestPause, credit = 10, 30

// failed records one more failure in a row. One of transport costs a single request, and one of content has Tokens.
func (f *Fact) failed(end PlanEnd, used int, at time.Time) {
	next, requests := Fact{Cause: end.Error, Since: at, Halved: f.Halved}, min(1, end.Requests)
	content := slices.Contains(ofContent, end.ErrorType)
	if content {
		next.Tokens, requests = used, end.Requests
	}
	if f.Cause != "" {
		next.Tries = f.Tries + 1
		if end.Requests > 0 && content || end.ErrorType == "timeout" { // which less history may not have
			next.Halved++
		}
	}
	next.Owed = min(f.Owed, credit) + longestPause*requests
	next.Left = max(min(hold(next.Tries), longestPause), next.due())
	*f = next
}

// gone records that nobody runs a plan any more, as after a kill. How many requests it made is not known: it costs one, and
// starts no pause beyond that.
func (f *Fact) gone(end PlanEnd, at time.Time) {
	if f.Owed = min(f.Owed, credit) + longestPause; f.due() > f.Left {
		f.Cause, f.Since, f.Left = end.Error, at, f.due()
	}
}

// due returns for how many accepted requests nothing is asked, because of what failures cost.
func (f Fact) due() int { return max(0, f.Owed-credit) }

// Pause returns the failure for which the compaction of a model's prompts still pauses, the zero value if none. Used is
// what the policy measures now, and longest returns the most time that a failure holds.
func (l Learnt) Pause(now time.Time, used int, longest func(Fact) time.Duration) Fact {
	f := l.Failed
	if f.Tokens > 0 && used >= f.Tokens+f.Tokens/10 {
		f.Left = min(f.Left, f.due())
	}
	if f.Left == 0 || now.Sub(f.Since).Abs() >= longest(f) { // a clock that was ahead then holds nothing
		return Fact{}
	}
	return f
}
