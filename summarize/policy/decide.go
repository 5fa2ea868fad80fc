package policy

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Measurement holds the numbers on which a policy bases its decision. They depend only on the session, the prompt, the
// policy and the time, so they are the same wherever the session is opened.
type Measurement struct {
	// Occasion of the measurement.
	Occasion Occasion
	// Time of the measurement, by the session's clock.
	Time time.Time
	// Count is our own count of the prompt's messages, in tokens, with all the history that the view shows and without
	// other pieces that are offered to pruning. If the prompt does not fit, it is the count that is needed.
	Count int
	// Tools is the number of tokens of the tool definitions: the target's, or those in the prompt that are not offered
	// to pruning.
	Tools int
	// Ratio that multiplies Count and Tools ([CountBy]).
	Ratio float64
	// Used is Ratio × (Count + Tools), rounded up. Limits are compared with it.
	Used int
	// Base is the number of tokens that ratios are of: the context window, or the smaller number that the policy sets
	// ([Counting]).
	Base int
	// Budget of the prompt's messages, in tokens.
	Budget int
	// Bytes is how many bytes the request's body has, by our count and what models say of theirs, and MaxBytes the most
	// that it may have, 0 if that is not known ([Target].MaxBytes).
	Bytes, MaxBytes int
	// Fits reports whether the prompt fits.
	Fits bool
	// Messages is how many messages of the session the prompt shows.
	Messages int
	// ToolRounds reports whether the agent completed a round of tool calls in this turn.
	ToolRounds bool
	// Jitter is the part of a condition's Jitter that is added to its Ratio, from -1 to 1.
	Jitter float64
	// Covered is how many tokens of history a compaction would cover for the first time, and Room how many its summary
	// may take. A compaction that covers less than Room would rewrite the earlier summary for nothing. If the prompt
	// does not fit, Covered includes the messages of the earlier compaction, and Room is that of a short summary. Both
	// are 0 until a limit is reached.
	Covered, Room int
	// Part is how many tokens of history the segments cover that were answered of an unfinished summary: 0 if the prompt
	// fits, and if that part of the summary would neither make it fit nor be shown while history is let go, or the policy
	// asks for the whole ([Ask].Whole).
	Part int
	// Clearable is how many tokens clearing old tool output would save now.
	Clearable int
	// Pending is the progress of a compaction that was started before.
	Pending Pending
	// Waited reports whether this render has waited for that compaction already, or an earlier one has in vain and no part
	// of it was answered. Tried reports whether this render has tried to compact.
	Waited, Tried bool
	// Pause after failures.
	Pause Pause
	// TurnFailed reports whether a compaction failed for which a prompt of this turn waited.
	TurnFailed bool
	// Sendable reports whether the prompt fits, or the last resort makes it fit ([Overflow]).
	Sendable bool
	// Managed reports whether requests ask the provider to compact or edit the context ([Target.Managed]).
	Managed bool
	// ReadOnly reports whether the session is open for reading only, so that nothing can be compacted.
	ReadOnly bool
	// Foretold is the usage that the provider is expected to report for the prompt, without its output; zero if the
	// target has no prices. It depends on the time and on the session's record of the last request.
	Foretold chat.Usage
	// Cold reports whether the provider's cache holds nothing of the prompt, because it has expired or the start of the
	// prompt changed. It is false if the target's prices name no lifetime of the cache.
	Cold bool
	// Carried is the cost of carrying the history since the last compaction, this prompt included, in dollars: the
	// price at which the requests read the tokens that a compaction now would take out. Compacting is the cost of that
	// compaction. Both are 0 if nothing would be relieved, and may be 0 if no condition has CostFactor.
	Carried, Compacting float64
	// CarriedOutput is the cost of carrying the old tool output since it could first have been cleared, this prompt
	// included, in dollars. Breaking is the cost of the cache break. Both are 0 unless Clear.CostFactor is set. If clearing
	// is due, Compacting leaves Breaking out, because it is paid in any case.
	CarriedOutput, Breaking float64
}

// Pending is the progress of a compaction that was started before.
type Pending string

// The stages of a pending compaction.
const (
	// PendingNone: there is none.
	PendingNone Pending = ""
	// PendingRunning: this compactor makes the summary in the background.
	PendingRunning Pending = "running"
	// PendingElsewhere: another process, or a summarize.Runner, runs the plan.
	PendingElsewhere Pending = "running elsewhere"
	// PendingReady: a summary is ready to be put in place.
	PendingReady Pending = "ready"
)

// Pause says how long compaction pauses after failures.
type Pause struct {
	// Failures in a row.
	Failures int
	// Steps is how many accepted requests the pause still lasts, 0 if it is over.
	Steps int
	// Until is the time at which it ends in any case; zero for none.
	Until time.Time
	// Err is the last failure.
	Err string
}

// Active reports whether the pause is not over.
func (p Pause) Active(now time.Time) bool {
	return p.Steps > 0 && (p.Until.IsZero() || now.Before(p.Until))
}

// String returns the pause in words.
func (p Pause) String() string {
	if p.Failures == 0 {
		return "paused until the next step: " + p.Err
	}
	left := fmt.Sprintf("for %d more steps", p.Steps)
	if p.Steps == 1 {
		left = "for 1 more step"
	}
	return fmt.Sprintf("paused %s after %d failures, the last: %s", left, p.Failures, p.Err)
}

// Share returns the part of the base that is used.
func (m Measurement) Share() float64 {
	if m.Base <= 0 {
		return 0
	}
	return float64(m.Used) / float64(m.Base)
}

// over reports whether more than the base is used. The prompt may fit all the same, by our own count.
func (m Measurement) over() bool { return m.Base > 0 && m.Used > m.Base }

// Relief returns how many tokens a compaction would save at least, below 0 if a summary could take more than it
// replaces.
func (m Measurement) Relief() int { return m.Covered - m.Room }

// Action is what a policy does about a prompt.
type Action string

// The actions.
const (
	// ActNothing leaves everything as it is.
	ActNothing Action = "nothing"
	// ActClear replaces old tool output by placeholders, and measures again.
	ActClear Action = "clear"
	// ActCompact compacts before the prompt is returned.
	ActCompact Action = "compact"
	// ActPart puts the answered part of an unfinished summary in place.
	ActPart Action = "part"
	// ActStart starts a summary in the background.
	ActStart Action = "start"
	// ActWait waits for the summary that is being made.
	ActWait Action = "wait"
	// ActPlace puts a finished summary in place.
	ActPlace Action = "place"
	// ActDiscard throws a finished summary away.
	ActDiscard Action = "discard"
)

// Decision is a policy's decision, with every number that led to it.
type Decision struct {
	Measurement Measurement
	// Findings of the conditions, in the order of [Policy.Trigger].
	Findings []Finding
	// Held is the index of the condition that decides, -1 if none holds.
	Held int
	// Do is the action, and Why its reason in words.
	Do  Action
	Why string
}

// Limit returns the number of tokens at which the condition that decides holds, 0 if there is none or it has no limits.
func (d Decision) Limit() int {
	if d.Held < 0 {
		return 0
	}
	return d.Findings[d.Held].At
}

// Reason returns the reason of the decision with its numbers: those of the condition that decides, if one does.
func (d Decision) Reason() string {
	if d.Held < 0 || d.Do == ActPart {
		return d.Why
	}
	return d.Findings[d.Held].Why
}

// Decide returns the policy's decision for a measurement. It depends on nothing else.
func (p Policy) Decide(m Measurement) Decision {
	p = p.WithDefaults()
	d := Decision{Measurement: m, Held: -1, Do: ActNothing}
	for i, c := range p.Trigger {
		f := c.evaluate(m)
		if f.Holds && d.Held < 0 {
			d.Held = i
		}
		d.Findings = append(d.Findings, f)
	}
	stands := p.StandsBack && m.Managed && m.Occasion == OnRender && !m.over()
	if stands {
		d.Held = -1
	}
	do := func(a Action, format string, args ...any) Decision {
		d.Do, d.Why = a, fmt.Sprintf(format, args...)
		if m.Part > 0 && (a == ActNothing || a == ActStart || a == ActCompact) { // history would be let go, or nothing could be sent
			d.Do, d.Why = ActPart, fmt.Sprintf("%d tokens of history are summarised: %s", m.Part, d.Why)
		}
		return d
	}
	compacts := d.Held >= 0 && m.Fits && !m.Tried && !m.Pause.Active(m.Time)
	clears := m.Clearable > 0 && (p.Clear.Always || !m.Fits || p.Clear.CostFactor == 0 && p.Trigger.AtLimit(m) || p.Clear.Due(m) && !compacts)
	switch {
	case p.Off && m.Occasion != OnDemand:
		return do(ActNothing, "the policy is off")
	case m.ReadOnly:
		return do(ActNothing, "the session is open for reading only")
	case m.Pending == PendingReady && m.Fits && m.Used < d.placeFrom(p):
		return do(ActDiscard, "%d tokens are used, fewer than the %d at which the summary is put in place", m.Used, d.placeFrom(p))
	case m.Pending == PendingReady:
		return do(ActPlace, "a summary is ready")
	case clears && !m.Fits && m.Occasion != OnDemand:
		return do(ActClear, "the prompt does not fit, and clearing old tool output saves %d tokens", m.Clearable)
	case m.Pending != PendingNone && (!m.Fits || m.over() || m.Occasion == OnContextLimit) && !m.Waited && !p.spared(m):
		return do(ActWait, "the prompt does not fit, and a summary is %s", m.Pending)
	case m.Pending != PendingNone && p.Background.Wait > 0 && m.Share() >= p.Background.Wait && !m.Waited && !p.spared(m):
		return do(ActWait, "%.4g of the window is used, at or above %.4g, and a summary is %s", m.Share(), p.Background.Wait, m.Pending)
	case m.Pending == PendingRunning || m.Pending != PendingNone && (m.Fits || p.spared(m)):
		return do(ActNothing, "a summary is %s", m.Pending)
	case clears && m.Occasion != OnDemand:
		return do(ActClear, "clearing old tool output saves %d tokens%s", m.Clearable, p.Clear.costText(m))
	case stands:
		return do(ActNothing, "the provider is asked to manage the context, and the policy stands back")
	case d.Held < 0:
		return do(ActNothing, "no condition holds%s", p.Clear.costText(m))
	case m.Tried:
		return do(ActNothing, "an attempt to compact failed")
	case m.Pause.Active(m.Time) && m.Occasion != OnDemand:
		return do(ActNothing, "%v", m.Pause)
	case p.inBackground(p.Trigger[d.Held], m):
		return do(ActStart, "condition %d holds", d.Held+1)
	}
	return do(ActCompact, "condition %d holds", d.Held+1)
}

// inBackground reports whether a compaction is made while the agent goes on. A condition with CostFactor does not wait for
// that if the cache is cold: compacting now saves what this request would write to it.
func (p Policy) inBackground(c Condition, m Measurement) bool {
	later := p.Background.Always && m.Sendable && m.Occasion == OnBudgetExceeded || p.spared(m)
	return c.Background && (m.Fits && !m.over() || later) && !(c.CostFactor > 0 && m.Cold)
}

// spared reports whether a prompt that does not fit need not wait for a summary, because another one of its turn waited
// for one that failed.
func (p Policy) spared(m Measurement) bool {
	return p.Background.OncePerTurn && m.TurnFailed && m.Sendable && !m.Fits
}

// Due reports whether carrying the output has cost enough to clear it.
func (c Clear) Due(m Measurement) bool {
	return c.CostFactor > 0 && c.balance(m).due()
}

// balance compares the cost of carrying the output with that of clearing it.
func (c Clear) balance(m Measurement) balance {
	return balance{m.CarriedOutput, c.CostFactor, m.Breaking + c.Loss}
}

// costText says in words how CostFactor compares, "" if it is off.
func (c Clear) costText(m Measurement) string {
	if c.CostFactor == 0 || m.CarriedOutput <= 0 {
		return ""
	}
	return ": " + c.balance(m).String() + " clearing"
}

// placeFrom returns the number of tokens from which on a finished summary is put in place.
func (d Decision) placeFrom(p Policy) int {
	from := clamp.Int(math.Ceil(p.Background.Apply * float64(d.Measurement.Base)))
	for i, f := range d.Findings {
		if p.Trigger[i].Background && f.At > 0 {
			from = min(from, f.At)
		}
	}
	return from
}

// Explanation is a decision with its outcome. The zero value means that nothing was decided yet.
type Explanation struct {
	Decision
	// Outcome of the decision, for people: "nothing", "cleared", "started", "waiting", "placed", "failed", "vetoed" or
	// "discarded".
	Outcome string
	// Err says why the decision could not be followed, "" if it could.
	Err string
}

// String returns the explanation in several lines: why the session was compacted, or why not.
func (e Explanation) String() string {
	m := e.Measurement
	if m.Occasion == "" {
		return "nothing was decided yet\n"
	}
	cold := ""
	if m.Cold {
		cold = ", the provider's cache is cold"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d tokens (%.1f%%): %.4g × (%d of the prompt + %d of tools), %d messages%s\n",
		m.Occasion, m.Used, m.Base, 100*m.Share(), m.Ratio, m.Count, m.Tools, m.Messages, cold)
	if m.MaxBytes > 0 {
		fmt.Fprintf(&b, "  body: %d of %d bytes\n", m.Bytes, m.MaxBytes)
	}
	for i, f := range e.Findings {
		mark := "no "
		if f.Holds {
			mark = "yes"
		}
		fmt.Fprintf(&b, "  %d. %s %s\n", i+1, mark, f.Why)
	}
	if u := m.Foretold; u.Input > 0 {
		fmt.Fprintf(&b, "  foretold: %d tokens, %d of them cached, %d written to the cache\n", u.Input, u.CacheRead, u.CacheWrite)
	}
	fmt.Fprintf(&b, "%s: %s", cmp.Or(e.Outcome, "nothing"), e.Why)
	if e.Err != "" {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String() + "\n"
}
