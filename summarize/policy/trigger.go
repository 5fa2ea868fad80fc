package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/promptree-go/promptree/internal/clamp"
)

// Trigger says when a session is compacted: when one of its conditions holds on an occasion. The first condition that
// holds decides how. An empty Trigger compacts on [OnBudgetExceeded] alone.
type Trigger []Condition

// Occasion is the moment at which a condition is checked.
type Occasion string

// The occasions.
const (
	// OnRender is after a prompt was rendered, or after a turn (summarize.Compactor.AfterTurn).
	OnRender Occasion = "render"
	// OnBudgetExceeded is when a prompt does not fit although everything that may be pruned has been. Conditions of
	// OnRender and OnContextLimit are checked too, and hold whatever their limits.
	OnBudgetExceeded Occasion = "budget exceeded"
	// OnContextLimit is when the provider refused a request as too large (summarize.Compactor.Recover).
	OnContextLimit Occasion = "context limit"
	// OnDemand is when a user asks for a compaction (summarize.Compactor.Compact). It is allowed even if the policy has no
	// condition for it.
	OnDemand Occasion = "demand"
	// OnModelSwitch is before another model answers (summarize.Compactor.SwitchModel). The context window is the other model's.
	OnModelSwitch Occasion = "model switch"
	// OnMemoryPressure is when the application is short of memory (summarize.Compactor.MemoryPressure).
	OnMemoryPressure Occasion = "memory pressure"
)

// Condition is one reason to compact. Ratio, Reserve and Cap are limits: the condition holds as soon as the smallest of
// those that are set is reached. Without limits it holds whenever its occasion comes. It never holds if a compaction
// would save nothing, that is if a summary may take as many tokens as the history that it would cover.
//
//	field         unit                  what it does
//	On            occasion              says when the condition is looked at
//	Ratio         part of the window    limit: so much is used
//	Reserve       tokens                limit: so much stays free
//	ReserveShare  part of the window    raises Reserve to this
//	Cap           tokens                limit: so much is used
//	Above         yes or no             the condition holds above its limits, not at them
//	Cold          part of the window    is added to Ratio if the prompt cache counts as cold
//	Jitter        part of the window    moves Ratio up or down by at most this, for each session by another part
//	CostFactor    compactions           waits until carrying the history has cost as much as so many
//	Loss          dollars               is added to the cost of a compaction, for CostFactor
//	Messages      messages              waits until the session shows so many
//	Background    yes or no             the agent goes on while the summary is made
//	Env           name                  an environment variable that sets Ratio instead
//
// Carrying a history is sending it again with each request, which costs its tokens as input each time.
type Condition struct {
	// On is the occasion. Defaults to [OnRender].
	On Occasion
	// Ratio is a limit: the part of the context window that is used, above 0 and up to 1.
	Ratio float64
	// Reserve is a limit: the tokens of the context window that must stay free, at most half of the window.
	Reserve int
	// ReserveShare is a lower bound of Reserve: a part of the context window, from 0 to 0.5. It does nothing without
	// Reserve.
	ReserveShare float64
	// Cap is a limit in tokens.
	Cap int
	// Above makes the condition hold only above its limits. By default it holds at them too.
	Above bool
	// Cold is added to Ratio, up to 1, if no round of tool calls was completed in this turn, which counts as a cold
	// prompt cache. From 0 to 1.
	Cold float64
	// Jitter is the most by which Ratio is moved up or down, so that sessions are not all compacted at the same size.
	// It does nothing if Cold was added. From 0 to below Ratio. It depends on the session and its leaf alone, so it is
	// the same wherever the session is opened.
	Jitter float64
	// CostFactor says that the condition does not hold until carrying the history has cost CostFactor times as much as a
	// compaction ([Measurement.Carried]); 1 is the ski-rental rule. Without prices the condition never holds. If the
	// prompt does not fit, CostFactor is ignored. Off by default.
	CostFactor float64
	// Loss is the value, in dollars, of what a compaction leaves out. For CostFactor it is added to the cost of the
	// compaction.
	Loss float64
	// Messages is how many messages the session must show. None by default.
	Messages int
	// Background makes the summary while the agent goes on, and puts it in place before a later prompt. A prompt that
	// does not fit waits for the summary. So does a prompt with CostFactor if nothing of it is cached, because all of it
	// would be written to the cache for one request.
	Background bool
	// Env names an environment variable that sets Ratio instead ([Policy.WithEnv]).
	Env string
}

// Finding says whether one condition holds, and why.
type Finding struct {
	Condition Condition
	// Holds reports whether the condition holds.
	Holds bool
	// At is the number of tokens at which the condition holds, 0 if it has no limits.
	At int
	// Why is the reason in words, with the numbers.
	Why string
}

// For returns the conditions for an occasion.
func (t Trigger) For(o Occasion) Trigger {
	return slices.DeleteFunc(slices.Clone(t), func(c Condition) bool { return c.occasion() != o })
}

func (c Condition) occasion() Occasion { return cmp.Or(c.On, OnRender) }

// appliesOn reports whether the condition is checked on an occasion.
func (c Condition) appliesOn(on Occasion) bool {
	own := c.occasion()
	return own == on || on == OnBudgetExceeded && (own == OnRender || own == OnContextLimit)
}

// evaluate checks the condition against a measurement.
func (c Condition) evaluate(m Measurement) Finding {
	f := Finding{Condition: c}
	if !c.appliesOn(m.Occasion) {
		f.Why = fmt.Sprintf("it is for %s, not for %s", c.occasion(), m.Occasion)
		return f
	}
	if m.Messages < c.Messages {
		f.Why = fmt.Sprintf("%d messages, fewer than %d", m.Messages, c.Messages)
		return f
	}
	reached := true
	if l, ok := c.lowestLimit(m); ok && m.Occasion == OnBudgetExceeded && !l.reached {
		f.At, f.Why = max(0, clamp.Int(math.Ceil(l.tokens))), "the prompt does not fit, which is over any limit"
	} else if ok {
		reached, f.At = l.reached, max(0, clamp.Int(math.Ceil(l.tokens)))
		than, verb := "at or above", "is"
		if c.Above {
			than = "above"
		}
		if !reached {
			verb = "is not"
		}
		f.Why = fmt.Sprintf("%d %s %s %d (%s)", m.Used, verb, than, f.At, l.name)
	} else {
		f.Why = fmt.Sprintf("%s at %d of %d tokens, whatever is used", c.occasion(), m.Used, m.Base)
	}
	if c.CostFactor > 0 && m.Occasion != OnBudgetExceeded {
		reached = reached && c.balance(m).due()
		f.Why += "; " + c.costText(m)
	}
	if reached && m.Relief() <= 0 {
		reached = false
		f.Why += fmt.Sprintf("; there is nothing to relieve: %d tokens of history would be covered, and a summary has room for %d", m.Covered, m.Room)
	}
	f.Holds = reached
	return f
}

// balance compares the cost of carrying the history with that of compacting it.
func (c Condition) balance(m Measurement) balance {
	return balance{m.Carried, c.CostFactor, m.Compacting + c.Loss}
}

// costText says in words how the condition's CostFactor compares.
func (c Condition) costText(m Measurement) string {
	if m.Carried <= 0 {
		return "carrying the history has cost nothing that is known"
	}
	return c.balance(m).String() + " compacting"
}

// limit is a limit of a condition, in tokens of a context window.
type limit struct {
	name    string
	tokens  float64
	reached bool
}

// lowestLimit returns the limit that is reached first, and false if the condition has none.
func (c Condition) lowestLimit(m Measurement) (limit, bool) {
	var list []limit
	reached := func(used, most float64) bool {
		if c.Above {
			return used > most
		}
		return used >= most
	}
	add := func(name string, tokens float64) {
		list = append(list, limit{name, tokens, reached(float64(m.Used), tokens)})
	}
	if ratio, how := c.ratio(m); ratio > 0 { // compare the ratios, because the product may be rounded
		list = append(list, limit{fmt.Sprintf("%.4g of the window%s", ratio, how), ratio * float64(m.Base), reached(m.Share(), ratio)})
	}
	if c.Reserve > 0 {
		reserve := min(max(c.Reserve, clamp.Share(c.ReserveShare, m.Base)), m.Base/2)
		add(fmt.Sprintf("the window less %d", reserve), float64(m.Base-reserve))
	}
	if c.Cap > 0 {
		add("the cap", float64(c.Cap))
	}
	if len(list) == 0 {
		return limit{}, false
	}
	return slices.MinFunc(list, func(a, b limit) int { return cmp.Compare(a.tokens, b.tokens) }), true
}

// Limit returns the limit that is reached first, in tokens of a context window, and false if the condition has none.
func (c Condition) Limit(m Measurement) (tokens float64, ok bool) {
	l, ok := c.lowestLimit(m)
	return l.tokens, ok
}

// ratio returns the ratio that applies to a measurement, and words for how it was adjusted.
func (c Condition) ratio(m Measurement) (ratio float64, how string) {
	switch {
	case c.Ratio == 0:
		return 0, ""
	case !m.ToolRounds && c.Cold > 0:
		return min(1, c.Ratio+c.Cold), ", before a round of tools in this turn"
	case c.Jitter > 0:
		return c.Ratio + c.Jitter*m.Jitter, ", with jitter"
	}
	return c.Ratio, ""
}

// AtLimit reports whether any condition is at its limit, whatever a compaction would relieve.
func (t Trigger) AtLimit(m Measurement) bool {
	return slices.ContainsFunc(t, func(c Condition) bool {
		return c.atLimit(m) && (c.CostFactor == 0 || m.Occasion == OnBudgetExceeded || c.balance(m).due())
	})
}

// NeedsCosts reports whether any condition needs the cost of carrying the history.
func (t Trigger) NeedsCosts(m Measurement) bool {
	return slices.ContainsFunc(t, func(c Condition) bool { return c.CostFactor > 0 && c.atLimit(m) })
}

// atLimit reports whether the condition is checked and either has no limit or is at it.
func (c Condition) atLimit(m Measurement) bool {
	if !c.appliesOn(m.Occasion) || m.Messages < c.Messages {
		return false
	}
	l, ok := c.lowestLimit(m)
	return !ok || l.reached
}

func (t Trigger) check() error {
	occasions := []Occasion{OnRender, OnBudgetExceeded, OnContextLimit, OnDemand, OnModelSwitch, OnMemoryPressure}
	for i, c := range t {
		field := func(name string) string { return fmt.Sprintf("Trigger[%d].%s", i, name) }
		err := errors.Join(
			share(field("Ratio"), c.Ratio), share(field("Cold"), c.Cold), upTo(0.5, field("ReserveShare"), c.ReserveShare),
			notBelow0(field("CostFactor"), c.CostFactor), notBelow0(field("Loss"), c.Loss),
			notBelow0(field("Reserve"), c.Reserve), notBelow0(field("Cap"), c.Cap), notBelow0(field("Messages"), c.Messages),
		)
		switch {
		case err != nil:
			return err
		case !(c.Jitter >= 0 && (c.Jitter == 0 || c.Jitter < c.Ratio)):
			return fmt.Errorf("summarize: Policy.%s is %v: it must be from 0 to below Ratio", field("Jitter"), c.Jitter)
		case !slices.Contains(occasions, c.occasion()):
			return fmt.Errorf("summarize: Policy.%s is %q: it is not an occasion", field("On"), c.On)
		}
	}
	return nil
}

// balance compares the cost of carrying something, in dollars, with times the cost of leaving it out.
type balance struct{ carried, times, cost float64 }

// due reports whether carrying it has cost enough.
func (b balance) due() bool { return b.carried > 0 && b.carried >= b.times*b.cost }

// String returns the balance in words, up to what leaves it out, such as "compacting".
func (b balance) String() string {
	than := "below"
	if b.due() {
		than = "at or above"
	}
	return fmt.Sprintf("carrying has cost $%.4f, %s %.4g × $%.4f, the cost of", b.carried, than, b.times, b.cost)
}
