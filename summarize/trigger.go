package summarize

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/sizing"
)

// Trigger says when a session is compacted: at any moment at which one of its conditions holds. The first that does
// decides how. Without conditions it is [OnBudgetExceeded] alone.
type Trigger []Condition

// Occasion is when a condition is looked at.
type Occasion string

// The occasions.
const (
	// OnRender is after a prompt was rendered, and after a turn ([Compactor.AfterTurn]).
	OnRender Occasion = "render"
	// OnBudgetExceeded is when a prompt does not fit although everything that may be pruned has been. Conditions of
	// OnRender are looked at too: what does not fit is over any ratio.
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
// as one is reached, which is to say at the smallest; without any it holds whenever its occasion comes.
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
	// Cold takes the place of Ratio where the provider's prompt cache is cold: what a compaction saves is paid again with
	// the prefix that it changes, so a policy may wait. Defaults to Ratio.
	Cold float64
	// Jitter moves Ratio by up to so much, up or down, where the cache is warm, so that not every session is compacted at
	// the same place. From 0 to below Ratio.
	Jitter float64
	// Messages is how many there must be. Defaults to none.
	Messages int
	// Background makes the summary while the work goes on, and puts it in place before a later prompt. Where a prompt
	// does not fit it is waited for.
	Background bool
	// Env names an environment variable that gives Ratio instead ([Policy.WithEnv]).
	Env string
}

// Moment is what conditions are held against.
type Moment struct {
	// Occasion of the moment.
	Occasion Occasion
	// Used is how many tokens the prompt takes, tool definitions included, of a Window of so many.
	Used, Window int
	// Messages of the session that the prompt shows.
	Messages int
	// Warm tells that the provider's prompt cache is: the agent completed a round of tool calls in this turn.
	Warm bool
	// Jitter is by how much of its Jitter a condition is moved, from -1 to 1.
	Jitter float64
}

// Ratio of the window that is used.
func (m Moment) Ratio() float64 {
	if m.Window <= 0 {
		return 0
	}
	return float64(m.Used) / float64(m.Window)
}

// Explanation says of a moment which condition held, and why the others did not.
type Explanation struct {
	Moment
	// Findings of the conditions, in order.
	Findings []Finding
	// Held is the index of the condition that decides, -1 where none holds.
	Held int
	// Blocked says why nothing was done although a condition held, "" where something was.
	Blocked string
}

// Finding is what became of one condition.
type Finding struct {
	Condition Condition
	Holds     bool
	// At is the number of tokens at which it holds, 0 where it has no limits.
	At int
	// Why in words, with the numbers.
	Why string
}

// String is the whole of it for people: why was it compacted, or why not?
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d tokens (%.1f%%), %d messages, cache %s\n", e.Occasion, e.Used, e.Window, 100*e.Ratio(), e.Messages, warmth(e.Warm))
	for i, f := range e.Findings {
		mark := "no "
		if f.Holds {
			mark = "yes"
		}
		fmt.Fprintf(&b, "  %d. %s %s\n", i+1, mark, f.Why)
	}
	switch {
	case e.Blocked != "":
		fmt.Fprintf(&b, "not compacted: %s\n", e.Blocked)
	case e.Held >= 0:
		fmt.Fprintf(&b, "compacted by condition %d\n", e.Held+1)
	default:
		b.WriteString("not compacted: no condition holds\n")
	}
	return b.String()
}

func warmth(warm bool) string {
	if warm {
		return "warm"
	}
	return "cold"
}

// Explain holds the conditions against a moment.
func (t Trigger) Explain(m Moment) Explanation {
	e := Explanation{Moment: m, Held: -1}
	if len(t) == 0 {
		t = Trigger{{On: OnBudgetExceeded}}
	}
	for i, c := range t {
		f := c.explain(m)
		if f.Holds && e.Held < 0 {
			e.Held = i
		}
		e.Findings = append(e.Findings, f)
	}
	return e
}

// For gives the conditions of an occasion.
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

func (c Condition) explain(m Moment) Finding {
	f := Finding{Condition: c}
	on := c.occasion()
	if on != m.Occasion && !(on == OnRender && m.Occasion == OnBudgetExceeded) {
		f.Why = fmt.Sprintf("this is no %s", on)
		return f
	}
	if m.Messages < c.Messages {
		f.Why = fmt.Sprintf("%d messages, it takes %d", m.Messages, c.Messages)
		return f
	}
	limits := c.limits(m)
	if len(limits) == 0 {
		f.Holds, f.Why = true, fmt.Sprintf("%s, whatever is used", on)
		return f
	}
	lowest := limits[0]
	for _, l := range limits[1:] {
		if l.tokens < lowest.tokens {
			lowest = l
		}
	}
	f.At = max(0, int(math.Ceil(lowest.tokens)))
	f.Holds = lowest.reached
	than, verb := "at or above", "is"
	if c.Above {
		than = "above"
	}
	if !f.Holds {
		verb = "is not"
	}
	f.Why = fmt.Sprintf("%d %s %s %d (%s)", m.Used, verb, than, f.At, lowest.name)
	return f
}

// limit is one of a condition's, in tokens of a window.
type limit struct {
	name    string
	tokens  float64
	reached bool
}

func (c Condition) limits(m Moment) []limit {
	var list []limit
	add := func(name string, tokens float64, reached bool) { list = append(list, limit{name, tokens, reached}) }
	over := func(tokens float64) bool {
		if c.Above {
			return float64(m.Used) > tokens
		}
		return float64(m.Used) >= tokens
	}
	if ratio, how := c.ratio(m); ratio > 0 {
		reached := m.Ratio() >= ratio
		if c.Above {
			reached = m.Ratio() > ratio
		}
		add(fmt.Sprintf("%s%.4g of the window", how, ratio), ratio*float64(m.Window), reached)
	}
	if c.Reserve > 0 {
		reserve := min(c.Reserve, m.Window/2)
		tokens := float64(m.Window - reserve)
		add(fmt.Sprintf("the window less %d", reserve), tokens, over(tokens))
	}
	if c.Cap > 0 {
		add("the cap", float64(c.Cap), over(float64(c.Cap)))
	}
	return list
}

// ratio that counts at a moment.
func (c Condition) ratio(m Moment) (ratio float64, how string) {
	switch {
	case c.Ratio == 0:
		return 0, ""
	case !m.Warm && c.Cold > 0:
		return c.Cold, "with a cold cache "
	case m.Warm && c.Jitter > 0:
		return c.Ratio + c.Jitter*m.Jitter, "jittered "
	}
	return c.Ratio, ""
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

// Background says what becomes of a summary that was made in the background.
type Background struct {
	// Wait is the ratio of the window at which a prompt waits for the summary that is being made, from 0 to 1. Defaults to
	// waiting only where the prompt does not fit.
	Wait float64
	// WaitEnv names an environment variable that gives Wait instead.
	WaitEnv string
	// Apply is the ratio below which a finished summary is thrown away: somebody went back, or a model with a larger window
	// answers now. Defaults to 0: it is put in place whatever the ratio.
	Apply float64
}

// WithEnv gives the policy with the ratios that environment variables name, such as os.LookupEnv gives. One that is no ratio
// above 0 and up to 1 is an error.
func (p Policy) WithEnv(lookup func(name string) (value string, ok bool)) (Policy, error) {
	ratio := func(name string, into *float64) error {
		if name == "" {
			return nil
		}
		value, ok := lookup(name)
		if !ok || value == "" {
			return nil
		}
		r, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(r > 0 && r <= 1) {
			return fmt.Errorf("summarize: %s is %q: it is a ratio above 0 and up to 1, such as 0.8", name, value)
		}
		*into = r
		return nil
	}
	p.Trigger = append(Trigger(nil), p.Trigger...)
	for i := range p.Trigger {
		if err := ratio(p.Trigger[i].Env, &p.Trigger[i].Ratio); err != nil {
			return Policy{}, err
		}
	}
	if err := ratio(p.Background.WaitEnv, &p.Background.Wait); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// budget is what of a prompt's budget the policy's own threshold leaves.
func (p Policy) budget(budget, window, toolTokens int) (int, error) {
	if p.Threshold == 0 {
		return budget, nil
	}
	own, err := sizing.Window{Tokens: window, Threshold: p.Threshold}.Budget(toolTokens)
	if err != nil {
		return 0, fmt.Errorf("summarize: Policy.Threshold: %w", err)
	}
	return min(budget, own), nil
}
