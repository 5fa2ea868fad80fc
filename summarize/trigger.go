package summarize

import (
	"fmt"
	"math"
	"slices"

	"github.com/promptree-go/promptree/internal/clamp"
)

// Trigger says when a session is compacted: on any occasion on which one of its conditions holds. The first that does
// decides how. Without conditions it is [OnBudgetExceeded] alone.
type Trigger []Condition

// Occasion is when a condition is looked at.
type Occasion string

// The occasions.
const (
	// OnRender is after a prompt was rendered, and after a turn ([Compactor.AfterTurn]).
	OnRender Occasion = "render"
	// OnBudgetExceeded is when a prompt does not fit although everything that may be pruned has been. Conditions of
	// OnRender and of OnContextLimit are looked at too, and hold whatever their limits: what does not fit is over any.
	OnBudgetExceeded Occasion = "budget exceeded"
	// OnContextLimit is when the provider refused a request as too large ([Compactor.Recover]).
	OnContextLimit Occasion = "context limit"
	// OnDemand is when somebody asks for it ([Compactor.Compact]). A policy that names no condition for it allows it.
	OnDemand Occasion = "demand"
	// OnModelSwitch is before another model answers ([Compactor.SwitchModel]). The window is that of the other model.
	OnModelSwitch Occasion = "model switch"
	// OnMemoryPressure is when the application is short of memory ([Compactor.MemoryPressure]).
	OnMemoryPressure Occasion = "memory pressure"
)

// Condition is one reason to compact. Of the limits Ratio, Reserve and Cap those that are set count, and it holds as soon
// as one is reached, which is to say at the smallest; without any it holds whenever its occasion comes. It never holds if
// a compaction would relieve nothing: if the room of a summary is as large as the history that it would cover.
type Condition struct {
	// On is the occasion. Defaults to [OnRender].
	On Occasion
	// Ratio of the window that is used, above 0 and up to 1.
	Ratio float64
	// Reserve is how many tokens of the window must stay free, but never more than half of the window.
	Reserve int
	// Cap is a number of tokens.
	Cap int
	// Above asks for more than the limits. Without it they are reached at their exact value.
	Above bool
	// Cold is added to Ratio, up to 1, if no round of tool calls was completed in this turn, which counts as a cold prompt
	// cache. From 0 to 1.
	Cold float64
	// Jitter moves Ratio by at most this, up or down, so that not every session is compacted at the same place, unless Cold
	// is added. From 0 to below Ratio. It is taken from the session and its leaf, so that it is the same wherever the
	// session is opened.
	Jitter float64
	// Carry holds the condition back until carrying the history has cost so many times what a compaction costs
	// ([Measurement.Carried]); 1 is the rule of ski rental. It does not hold if the target has no prices. If the prompt does
	// not fit, it does not matter. Off by default.
	Carry float64
	// Loss is what that is worth, in dollars, which a compaction leaves out. It is added to what one costs for Carry.
	Loss float64
	// Messages is how many there must be. None by default.
	Messages int
	// Background makes the summary while the work goes on, and puts it in place before a later prompt. A prompt that does
	// not fit waits for it, and so does one with Carry of which the cache has nothing: all of it would be written for one request.
	Background bool
	// Env names an environment variable that sets Ratio instead ([Policy.WithEnv]).
	Env string
}

// Finding is what became of one condition.
type Finding struct {
	Condition Condition
	// Holds reports whether the condition holds.
	Holds bool
	// At is the number of tokens at which it holds, 0 if it has no limits.
	At int
	// Why in words, with the numbers.
	Why string
}

// For returns the conditions of an occasion.
func (t Trigger) For(o Occasion) Trigger {
	var list Trigger
	for _, c := range t {
		if c.occasion() == o {
			list = append(list, c)
		}
	}
	return list
}

func (c Condition) occasion() Occasion {
	if c.On == "" {
		return OnRender
	}
	return c.On
}

// asked reports whether the condition is looked at on an occasion.
func (c Condition) asked(on Occasion) bool {
	own := c.occasion()
	return own == on || on == OnBudgetExceeded && (own == OnRender || own == OnContextLimit)
}

// find holds the condition against a measurement.
func (c Condition) find(m Measurement) Finding {
	f := Finding{Condition: c}
	if !c.asked(m.Occasion) {
		f.Why = fmt.Sprintf("it is for %s, and this is %s", c.occasion(), m.Occasion)
		return f
	}
	if m.Messages < c.Messages {
		f.Why = fmt.Sprintf("%d messages, it takes %d", m.Messages, c.Messages)
		return f
	}
	reached := true
	if l, ok := c.lowest(m); ok && m.Occasion == OnBudgetExceeded && !l.reached {
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
		f.Why = fmt.Sprintf("%s, whatever is used", c.occasion())
	}
	if c.Carry > 0 && m.Occasion != OnBudgetExceeded {
		reached = reached && c.carried(m)
		f.Why += "; " + c.weighed(m)
	}
	if reached && m.Relief() <= 0 {
		reached = false
		f.Why += fmt.Sprintf("; there is nothing to relieve: %d tokens of history would be covered, and a summary has room for %d", m.Covered, m.Room)
	}
	f.Holds = reached
	return f
}

// carried reports whether carrying the history has cost enough.
func (c Condition) carried(m Measurement) bool {
	return c.balance(m).due()
}

// balance holds the condition's Carry against a measurement.
func (c Condition) balance(m Measurement) balance {
	return balance{m.Carried, c.Carry, m.Compacting + c.Loss}
}

// weighed says how the condition's Carry is held against a measurement.
func (c Condition) weighed(m Measurement) string {
	if m.Carried <= 0 {
		return "carrying the history has cost nothing that is known"
	}
	return c.balance(m).String() + " that compacting costs"
}

// limit is one of a condition's, in tokens of a window.
type limit struct {
	name    string
	tokens  float64
	reached bool
}

// lowest returns the limit that is reached first, and false if the condition has none.
func (c Condition) lowest(m Measurement) (limit, bool) {
	var list []limit
	add := func(name string, tokens float64) {
		reached := float64(m.Used) >= tokens
		if c.Above {
			reached = float64(m.Used) > tokens
		}
		list = append(list, limit{name, tokens, reached})
	}
	if ratio, how := c.ratio(m); ratio > 0 {
		add(fmt.Sprintf("%s%.4g of the window", how, ratio), ratio*float64(m.Base))
		l := &list[len(list)-1] // the ratio itself decides, for the product may be rounded
		if used := m.Share(); c.Above {
			l.reached = used > ratio
		} else {
			l.reached = used >= ratio
		}
	}
	if c.Reserve > 0 {
		reserve := min(c.Reserve, m.Base/2)
		add(fmt.Sprintf("the window less %d", reserve), float64(m.Base-reserve))
	}
	if c.Cap > 0 {
		add("the cap", float64(c.Cap))
	}
	if len(list) == 0 {
		return limit{}, false
	}
	lowest := list[0]
	for _, l := range list[1:] {
		if l.tokens < lowest.tokens {
			lowest = l
		}
	}
	return lowest, true
}

// ratio that counts for a measurement.
func (c Condition) ratio(m Measurement) (ratio float64, how string) {
	switch {
	case c.Ratio == 0:
		return 0, ""
	case !m.Warm && c.Cold > 0:
		return min(1, c.Ratio+c.Cold), "with a cold cache "
	case c.Jitter > 0:
		return c.Ratio + c.Jitter*m.Jitter, "jittered "
	}
	return c.Ratio, ""
}

// reached reports whether any condition is at its limit, whatever a compaction would relieve.
func (t Trigger) reached(m Measurement) bool {
	return slices.ContainsFunc(t, func(c Condition) bool {
		return c.limited(m) && (c.Carry == 0 || m.Occasion == OnBudgetExceeded || c.carried(m))
	})
}

// weighs reports whether any condition asks for what carrying the history has cost.
func (t Trigger) weighs(m Measurement) bool {
	return slices.ContainsFunc(t, func(c Condition) bool { return c.Carry > 0 && c.limited(m) })
}

// limited reports whether the condition is asked and at its limit, if it has one.
func (c Condition) limited(m Measurement) bool {
	if !c.asked(m.Occasion) || m.Messages < c.Messages {
		return false
	}
	l, ok := c.lowest(m)
	return !ok || l.reached
}

func (t Trigger) check() error {
	for i, c := range t {
		bad := func(what string, v any) error {
			return fmt.Errorf("summarize: Policy.Trigger[%d].%s is %v", i, what, v)
		}
		switch {
		case !(c.Ratio >= 0 && c.Ratio <= 1):
			return fmt.Errorf("%w: it is a share between 0 and 1", bad("Ratio", c.Ratio))
		case !(c.Cold >= 0 && c.Cold <= 1):
			return fmt.Errorf("%w: it is a share between 0 and 1", bad("Cold", c.Cold))
		case !(c.Jitter >= 0 && (c.Jitter == 0 || c.Jitter < c.Ratio)):
			return fmt.Errorf("%w: it is from 0 to below Ratio", bad("Jitter", c.Jitter))
		case !(c.Carry >= 0) || math.IsInf(c.Carry, 1):
			return fmt.Errorf("%w: it is 0 or more", bad("Carry", c.Carry))
		case !(c.Loss >= 0) || math.IsInf(c.Loss, 1):
			return fmt.Errorf("%w: it is dollars, 0 or more", bad("Loss", c.Loss))
		case c.Reserve < 0:
			return fmt.Errorf("%w, below 0", bad("Reserve", c.Reserve))
		case c.Cap < 0:
			return fmt.Errorf("%w, below 0", bad("Cap", c.Cap))
		case c.Messages < 0:
			return fmt.Errorf("%w, below 0", bad("Messages", c.Messages))
		}
		switch c.occasion() {
		case OnRender, OnBudgetExceeded, OnContextLimit, OnDemand, OnModelSwitch, OnMemoryPressure:
		default:
			return fmt.Errorf("summarize: Policy.Trigger[%d].On is %q: there is no such occasion", i, c.On)
		}
	}
	return nil
}
