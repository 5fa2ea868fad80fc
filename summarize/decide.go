package summarize

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// Measurement holds the numbers that a policy decides by. They follow from the session, the prompt, the policy and the time
// alone: a session that is opened elsewhere measures the same.
type Measurement struct {
	// Occasion of the measurement.
	Occasion Occasion
	// Time at which it was made, by the session's clock.
	Time time.Time
	// Count is our own count of the prompt's messages, in tokens: without the pieces offered to pruning that are not
	// history, and with all the history that the view shows. If the prompt does not fit it is what is needed.
	Count int
	// Tools is what the tool definitions take: the target's, or those that stand in the prompt and are not offered to pruning.
	Tools int
	// Ratio by which Count and Tools are multiplied ([MeasureBy]).
	Ratio float64
	// Used is Ratio × (Count + Tools), rounded up. It is what limits are held against.
	Used int
	// Base that ratios are of, in tokens: the context window, or what the policy lowers it to ([Measure]).
	Base int
	// Budget of the prompt's messages, in tokens.
	Budget int
	// Fits reports whether the prompt fits.
	Fits bool
	// Messages of the session that the prompt shows.
	Messages int
	// Warm reports whether the agent completed a round of tool calls in this turn.
	Warm bool
	// Jitter is by how much of its Jitter a condition is moved, from -1 to 1.
	Jitter float64
	// Covered is how many tokens of history a compaction would cover anew, and Room what a summary may take: one that covers
	// less would rewrite the summary before it for nothing. If the prompt does not fit, Covered includes what stands for an
	// earlier compaction, and Room is that of a short summary. They are looked at once a limit is reached, and 0 before.
	Covered, Room int
	// Clearable is how many tokens clearing old tool output would save now.
	Clearable int
	// Pending is how far a compaction is that was begun before.
	Pending Pending
	// Waited reports whether this render has waited for it already, Tried whether it has tried to compact.
	Waited, Tried bool
	// Pause after failures.
	Pause Pause
	// ReadOnly reports whether the session is open for reading only, so that nothing can be compacted.
	ReadOnly bool
	// Foretold is the usage that the provider is expected to report for the prompt, without its output; zero if the target
	// has no prices. It follows from the clock and from what the session remembers of the last request.
	Foretold chat.Usage
	// Cold reports whether the target has prices, and the provider's cache, which it names a lifetime of, holds nothing of the
	// prompt: it has expired, or the prompt begins otherwise than the last request.
	Cold bool
	// Carried is what carrying the history has cost since the last compaction, this prompt included, in dollars: what the
	// requests read that a compaction now would take out of the prompt. Compacting is what that compaction would cost. Both
	// are looked at for conditions with Carry, and 0 if nothing would be relieved.
	Carried, Compacting float64
	// CarriedOutput is what the requests have cost that were sent with what clearing would leave out, since it might have
	// been, this prompt included, in dollars. Breaking is what the broken cache would cost. Both are looked at if Clear.Carry
	// is set. If clearing is due, Compacting is without Breaking, which is paid in any case.
	CarriedOutput, Breaking float64
}

// Pending is how far a compaction is that was begun before.
type Pending string

// The stages of a pending compaction.
const (
	// PendingNone: there is none.
	PendingNone Pending = ""
	// PendingRunning: this compactor makes the summary in the background.
	PendingRunning Pending = "running"
	// PendingElsewhere: somebody else carries the plan out.
	PendingElsewhere Pending = "running elsewhere"
	// PendingReady: a summary waits to be put in place.
	PendingReady Pending = "ready"
)

// Pause says for how long nothing is tried after failures.
type Pause struct {
	// Failures in a row.
	Failures int
	// Steps of the agent until the pause is over, 0 if it is.
	Steps int
	// Until is the time before which a provider asked not to be asked; zero if none did.
	Until time.Time
	// Err says what failed last.
	Err string
}

func (p Pause) on(now time.Time) bool { return p.Steps > 0 || now.Before(p.Until) }

func (p Pause) String() string {
	if p.Failures == 0 {
		return "paused until the next step: " + p.Err
	}
	left := fmt.Sprintf("for %d more steps", p.Steps)
	if p.Steps == 0 {
		left = "until " + p.Until.UTC().Format(time.RFC3339)
	} else if p.Steps == 1 {
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

// over reports whether more than the base is used, though the prompt may fit by our own count.
func (m Measurement) over() bool { return m.Base > 0 && m.Used > m.Base }

// Relief returns how many tokens a compaction would save at least, below 0 if a summary could take more than it replaces.
func (m Measurement) Relief() int { return m.Covered - m.Room }

// Action is what is to be done.
type Action string

// The actions.
const (
	// ActNothing leaves everything as it is.
	ActNothing Action = "nothing"
	// ActClear leaves old tool output out from here on, and measures again.
	ActClear Action = "clear"
	// ActCompact compacts before the prompt is returned.
	ActCompact Action = "compact"
	// ActStart makes a summary while the work goes on.
	ActStart Action = "start"
	// ActWait waits for the summary that is being made.
	ActWait Action = "wait"
	// ActPlace puts the summary that was made in place.
	ActPlace Action = "place"
	// ActDiscard throws it away.
	ActDiscard Action = "discard"
)

// Decision is what a policy decides by a measurement, with every number that led to it.
type Decision struct {
	Measurement Measurement
	// Findings of the conditions, in order.
	Findings []Finding
	// Held is the index of the condition that decides, -1 if none holds.
	Held int
	// Do is what is to be done, and Why the reason in words.
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

// Decide returns what the policy does by a measurement. The same measurement gives the same decision.
func (p Policy) Decide(m Measurement) Decision {
	p = p.withDefaults()
	d := Decision{Measurement: m, Held: -1, Do: ActNothing}
	for i, c := range p.Trigger {
		f := c.find(m)
		if f.Holds && d.Held < 0 {
			d.Held = i
		}
		d.Findings = append(d.Findings, f)
	}
	do := func(a Action, format string, args ...any) Decision {
		d.Do, d.Why = a, fmt.Sprintf(format, args...)
		return d
	}
	compacts := d.Held >= 0 && m.Fits && !m.Tried && !m.Pause.on(m.Time)
	clears := m.Clearable > 0 && (p.Clear.Always || !m.Fits || p.Clear.Carry == 0 && p.Trigger.reached(m) || p.Clear.due(m) && !compacts)
	switch {
	case p.Off && m.Occasion != OnDemand:
		return do(ActNothing, "the policy is off")
	case m.ReadOnly:
		return do(ActNothing, "the session is open for reading only")
	case m.Pending == PendingReady && m.Fits && m.Used < d.applies(p):
		return do(ActDiscard, "%d tokens are used, less than the %d from which on the summary is put in place", m.Used, d.applies(p))
	case m.Pending == PendingReady:
		return do(ActPlace, "a summary is ready")
	case m.Pending != PendingNone && (!m.Fits || m.over()) && !m.Waited:
		return do(ActWait, "the prompt does not fit, and a summary is %s", m.Pending)
	case m.Pending != PendingNone && p.Background.Wait > 0 && m.Share() >= p.Background.Wait && !m.Waited:
		return do(ActWait, "%.4g of the window is used, at or above %.4g, and a summary is %s", m.Share(), p.Background.Wait, m.Pending)
	case m.Pending != PendingNone && m.Fits:
		return do(ActNothing, "a summary is %s", m.Pending)
	case clears && m.Occasion != OnDemand:
		return do(ActClear, "clearing old tool output saves %d tokens%s", m.Clearable, p.Clear.weighed(m))
	case d.Held < 0:
		return do(ActNothing, "no condition holds%s", p.Clear.weighed(m))
	case m.Tried:
		return do(ActNothing, "it was tried, and failed")
	case m.Fits && m.Pause.on(m.Time) && m.Occasion != OnDemand:
		return do(ActNothing, "%v", m.Pause)
	case p.inBackground(p.Trigger[d.Held], m):
		return do(ActStart, "condition %d holds", d.Held+1)
	}
	return do(ActCompact, "condition %d holds", d.Held+1)
}

// inBackground reports whether a compaction is made while the agent goes on. One for what carrying the history costs is not if the cache
// is cold: what it saves then is what this request would write.
func (p Policy) inBackground(c Condition, m Measurement) bool {
	return c.Background && (m.Fits && !m.over() || p.Background.Always && p.Overflow.LastResort != ResortError && m.Occasion == OnBudgetExceeded) &&
		!(c.Carry > 0 && m.Cold)
}

// due reports whether carrying what may be cleared has cost enough.
func (c Clear) due(m Measurement) bool {
	return c.Carry > 0 && c.balance(m).due()
}

// balance holds Carry against a measurement.
func (c Clear) balance(m Measurement) balance {
	return balance{m.CarriedOutput, c.Carry, m.Breaking + c.Loss}
}

// weighed says how Carry is held against a measurement, if it is.
func (c Clear) weighed(m Measurement) string {
	if c.Carry == 0 || m.CarriedOutput <= 0 {
		return ""
	}
	return ": " + c.balance(m).String() + " that clearing costs"
}

// applies returns the number of tokens from which on a finished summary is put in place.
func (d Decision) applies(p Policy) int {
	from := clamp.Int(math.Ceil(p.Background.Apply * float64(d.Measurement.Base)))
	for i, f := range d.Findings {
		if p.Trigger[i].Background && f.At > 0 {
			from = min(from, f.At)
		}
	}
	return from
}

// Outcome is what came of a decision.
type Outcome string

// The outcomes.
const (
	OutcomeNothing   Outcome = "nothing"
	OutcomeCleared   Outcome = "cleared"
	OutcomeStarted   Outcome = "started"
	OutcomeWaiting   Outcome = "waiting"
	OutcomePlaced    Outcome = "placed"
	OutcomeFailed    Outcome = "failed"
	OutcomeVetoed    Outcome = "vetoed"
	OutcomeDiscarded Outcome = "discarded"
)

// Explanation is a decision with its outcome. The zero value says that nothing was decided yet.
type Explanation struct {
	Decision
	// Outcome of the decision.
	Outcome Outcome
	// Err says by what it failed.
	Err string
}

// String returns the whole of it for people: why was it compacted, or why not?
func (e Explanation) String() string {
	m := e.Measurement
	if m.Occasion == "" {
		return "nothing was decided yet\n"
	}
	warmth := "cold"
	if m.Warm {
		warmth = "warm"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d tokens (%.1f%%): %.4g × (%d of the prompt + %d of tools), %d messages, cache %s\n",
		m.Occasion, m.Used, m.Base, 100*m.Share(), m.Ratio, m.Count, m.Tools, m.Messages, warmth)
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
	outcome := e.Outcome
	if outcome == "" {
		outcome = OutcomeNothing
	}
	fmt.Fprintf(&b, "%s: %s", outcome, e.Why)
	if e.Err != "" {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	return b.String() + "\n"
}
