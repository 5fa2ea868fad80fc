package plan

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ErrOtherSession reports that the elements of a prompt show another session than the compactor's, or do not read theirs
// with [history.Session.ViewIn], so that a compaction would not change the prompt.
var ErrOtherSession = errors.New("summarize: the prompt does not show Compactor.Session: give its history elements that session")

// Planner measures a prompt that shows a session.
type Planner struct {
	Session   *history.Session
	Target    policy.Target
	Policy    policy.Policy // with defaults
	Options   render.Options
	Ledger    *journal.Ledger
	Now       time.Time
	Most      int  // tokens of the prompt and its tools, 0 for no bound but the budget
	MostBytes int  // of the request's body, 0 for no bound but what is known
	bound     bool // whether compactions are planned within Most too
	Spare     int  // tokens of the budget that a compaction leaves free if it can
	Models    map[string]policy.Target
	Clear     entry.Clearing // the prompt is measured as if it were in the session
}

// Rendered is a rendered prompt with its measurement.
type Rendered struct {
	policy.Measurement
	Size   Size
	View   history.View
	Result *render.Result
	Over   *render.BudgetExceededError // if the prompt does not fit, or is larger than what may be sent after a refusal
	layout *render.Layout
	Shown  *history.Shown
	Broken event.CacheBreak
	floor  int // tokens needed by messages, and by tools that stand in the prompt
	Newest int // most tokens of the newest round's results and arguments, 0 for no bound but the elements' limits
	Resort Resorted
	part   history.CutPoint // behind what [policy.Measurement.Part] counts
	// Cleared is the prompt with a clearing that a compaction is to write too, nil if there is none.
	Cleared  *Rendered
	Clearing entry.Clearing
}

// Failure returns the error of a prompt that does not fit, nil if it fits.
func (r *Rendered) Failure() error {
	if r.Over == nil {
		return nil // an untyped nil
	}
	return r.Over
}

// prompt returns the prompt; all that is needed if it does not fit.
func (r *Rendered) prompt() render.Result {
	if r.Over != nil {
		return render.Result{Messages: r.Over.Messages, Tools: r.Over.Tools, Tokens: r.Over.Needed}
	}
	return *r.Result
}

// PromptMessages returns the prompt's messages; all of them if it does not fit.
func (r *Rendered) PromptMessages() []chat.Message { return r.prompt().Messages }

// PromptTools returns the tools to declare; those that are needed if the prompt does not fit.
func (r *Rendered) PromptTools(t policy.Target) []chat.Tool { return Declared(t, r.prompt().Tools) }

// PromptTokens returns the tokens of the messages and of the tools in the prompt; those that are needed if it does not fit.
func (r *Rendered) PromptTokens() int { return r.prompt().Tokens }

// LayOut lays the prompt out for a view of the session. All its history is required: what would have to be pruned is
// compacted instead. The results of the newest round take at most newest tokens, unless that is 0.
func (p *Planner) LayOut(ctx context.Context, prompt elements.Node, view history.View, budget, newest int) (*render.Layout, *history.Shown, error) {
	o := p.Options
	o.Budget, o.Tokenizer, o.KeepUnranked, o.History = budget, p.Target.Tokenizer, true, render.HistoryRequired
	o.PromptBudget = p.Sizing().PromptBudget // the size that elements clip texts by is the same in each attempt
	if newest > 0 {
		view = view.NewestWithin(newest, p.Policy.Cut.Limits.Head)
	}
	ctx, shown := p.Session.WithShown(context.WithValue(ctx, laysOutKey{}, true), view)
	layout, err := render.Lay(ctx, prompt, o)
	if err == nil {
		err = marks.Check(ctx, Declared(p.Target, layout.Tools()))
	}
	return layout, shown, err
}

// laysOutKey is the context key that is set while a planner lays a prompt out.
type laysOutKey struct{}

// LaysOut reports whether the context is that of an element in a prompt that a planner lays out.
func LaysOut(ctx context.Context) bool { return ctx.Value(laysOutKey{}) != nil }

// Measure renders a prompt and measures it. What the model's server refuses is left out. If the request has a limit of
// bytes, old pictures leave before texts do.
func (p *Planner) Measure(ctx context.Context, prompt elements.Node, on policy.Occasion) (*Rendered, error) {
	learnt := Learnt(p.Ledger.Remembered, p.Target)
	limit, confirmed := MaxBytes(p.Target, learnt)
	if p.MostBytes > 0 && p.MostBytes < limit {
		limit, confirmed = p.MostBytes, false
	}
	measure := func(m *Planner, held []entry.Held) (*Rendered, error) {
		s, err := m.measure(ctx, prompt, on, held)
		if err != nil {
			return s, err
		}
		sent := s.prompt()
		if s.Resort.Result != nil {
			sent = *s.Resort.Result
		}
		s.Bytes = learnt.BodyOf(Bytes(sent.Messages, Declared(m.Target, sent.Tools)))
		if limit < math.MaxInt {
			s.MaxBytes = limit
		}
		return s, nil
	}
	held := p.Ledger.HeldFor(p.Target.Name, Server(p.Target))
	s, err := measure(p, held)
	if err != nil || s.Bytes <= limit {
		return s, err
	}
	if old := oldest(s.View, s.Bytes-limit, limit); len(old) > 0 {
		held = append(held, old...)
		if s, err = measure(p, held); err != nil || s.Bytes <= limit {
			return s, err
		}
	}
	within := *p
	within.Most, within.bound = clamp.Int(float64(s.PromptTokens()+s.Size.Tools)*float64(limit)/float64(s.Bytes)), confirmed
	if p.Most > 0 {
		within.Most = min(within.Most, p.Most)
	}
	return measure(&within, held)
}

// MaxBytes returns the most bytes of a request's body, [math.MaxInt] if that is not known, and reports whether compactions
// are planned within it: it was set, or confirmed.
func MaxBytes(t policy.Target, l entry.Learnt) (limit int, bound bool) {
	set := math.MaxInt
	if t.MaxBytes > 0 {
		set = t.MaxBytes - t.MaxBytes/10
	}
	limit = l.Bytes.Size(set)
	return limit, limit == set || confirmed(l.Bytes, l.Body, set) < set
}

// measure renders a prompt without what is held, and measures it.
func (p *Planner) measure(ctx context.Context, prompt elements.Node, on policy.Occasion, held []entry.Held) (*Rendered, error) {
	s := &Rendered{Measurement: policy.Measurement{
		Occasion: on, Time: p.Now, Ratio: 1, Fits: true, ReadOnly: p.Session.ReadOnly(), Managed: p.Target.Managed(),
		Jitter: journal.Jitter(p.Session), TurnFailed: p.Ledger.TurnFailed,
	}}
	var err error
	if s.View, err = p.Session.View(ctx); err == nil {
		s.View, err = LeaveOut(ctx, p.Session, s.View.Clear(p.Clear), held)
	}
	if err != nil {
		return nil, err
	}
	s.Messages = s.View.Len()
	if n := len(s.View.Turns); n > 0 {
		s.ToolRounds = slices.ContainsFunc(s.View.Turns[n-1].Rounds, func(r history.Round) bool { return len(r.Results) > 0 })
	}
	err = guard.Do(ctx, guard.NamePrompt, 0, func(ctx context.Context) error { return p.count(ctx, s, prompt, on) })
	if err != nil {
		return nil, err
	}
	if err := p.fillRelief(ctx, s); err != nil {
		return nil, err
	}
	if s.Sendable = s.Over == nil; s.Over != nil {
		s.Resort = p.noteLeftOut(ctx, s, p.lastResort(ctx, s, prompt))
		s.Sendable = s.Resort.Result != nil
	}
	s.Pause = p.pause(s)
	if parts := p.Ledger.Parts(""); len(parts) > 0 && !s.Fits && !s.ReadOnly && PlacesParts(p.Policy, s.Occasion) {
		err = guard.Do(ctx, guard.NamePrompt, 0, func(ctx context.Context) error { return p.fillPart(ctx, s, prompt, parts) })
	}
	return s, err
}

// PlacesParts reports whether parts of a summary are put in place before the rest is made, but not for somebody who asked
// for all of it.
func PlacesParts(p policy.Policy, on policy.Occasion) bool {
	return on != policy.OnDemand && on != policy.OnMemoryPressure && !p.Off && !p.Ask.Whole
}

// fillPart sets the cut behind the largest part of an unfinished summary that was answered, if history is let go, or nothing can
// be sent and the prompt would fit with it.
func (p *Planner) fillPart(ctx context.Context, s *Rendered, prompt elements.Node, parts []entry.SummaryAnswer) error {
	point, err := p.rule(s).Earliest(ctx, s.View, p.Sizing())
	if errors.Is(err, history.ErrNoCut) {
		return nil
	} else if err != nil {
		return err
	}
	text := ""
	for more := true; more; point, more = point.Later() {
		last := point.Units[max(0, point.At-1)].Last
		i := slices.IndexFunc(parts, func(a entry.SummaryAnswer) bool { return a.From == "" && a.To == last })
		if i >= 0 && point.At > 0 {
			s.part, text = point, parts[i].Text
		}
	}
	if text == "" {
		return nil
	}
	replaces := Replaced(p.Target.Tokenizer, s.View.Compacted, Covered(s.part))
	if s.Sendable {
		s.Part = replaces
		return nil
	}
	room, err := p.replacementRoom(ctx, prompt, s, entry.Plan{FirstKept: s.part.FirstKept, Thinking: p.thinking(s.part)}, replaces)
	if err != nil {
		return err
	}
	frame, err := p.frame(ctx, s)
	if room >= frame+min(p.summaryRoom(s.Budget), guard.Counted(p.Target.Tokenizer.CountText(text))) {
		s.Part = replaces
	}
	return err
}

// fit renders the prompt within the budget. If it does not fit, the results of the newest round are shortened so that the
// rest does, where that is enough.
func (p *Planner) fit(ctx context.Context, s *Rendered, prompt elements.Node) (err error) {
	if err = p.layOutInBudget(ctx, s, prompt); err != nil {
		return err
	}
	if s.Result, err = s.layout.Fit(ctx, s.Budget); !failure.TooLarge(err) {
		return err
	}
	left, failed := p.leftForNewest(ctx, s, err)
	if failed != nil {
		return failed
	}
	if s.Newest = left; left > 0 {
		if s.layout, s.Shown, err = p.LayOut(ctx, prompt, s.View, s.Budget, left); err == nil {
			s.Result, err = s.layout.Fit(ctx, s.Budget)
		}
	}
	return err
}

// count renders the prompt and counts what is needed of it. What is sent may be less than what was counted.
func (p *Planner) count(ctx context.Context, s *Rendered, prompt elements.Node, on policy.Occasion) error {
	err := p.fit(ctx, s, prompt)
	var needed []chat.Tool
	over, exceeded := errors.AsType[*render.BudgetExceededError](err)
	switch {
	case exceeded:
		s.Over, s.Result, s.Fits = over, nil, false
		if on == policy.OnRender || on == policy.OnModelSwitch && len(p.Policy.Trigger.For(on)) == 0 {
			s.Occasion = policy.OnBudgetExceeded
		}
		s.floor = over.Needed
		if over.Limit == "" {
			needed = over.Tools
		}
	case err != nil:
		return err
	default:
		if s.floor, needed, err = s.layout.Floor(ctx, render.FitOptions{Budget: s.Budget, KeepUnranked: true, History: render.HistoryRequired}); err != nil {
			return err
		}
	}
	if len(needed) > 0 {
		s.Tools = clamp.Sum(s.Size.Tools, guard.Counted(p.Target.Tokenizer.CountTools(needed)))
	}
	s.Count = max(0, guard.Counted(s.floor)-(s.Tools-s.Size.Tools))
	switch p.Policy.Counting.By {
	case policy.ByReport:
		s.Ratio = p.Ledger.Ratio(p.Target.Name)
	case policy.ByLarger:
		s.Ratio = max(1, p.Ledger.Ratio(p.Target.Name))
	}
	s.Used = clamp.Int(math.Ceil(s.Ratio * float64(clamp.Sum(s.Count, s.Tools))))
	p.foretell(s)
	if s.Result == nil || s.Result.Tokens <= s.Size.send {
		return nil
	}
	s.Result, err = s.layout.Fit(ctx, s.Size.send)
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		s.Over, err = over, nil
	}
	return err
}

// longestPause is the longest time for which compaction pauses after a failure.
const longestPause = 10 * time.Minute

// pause returns the pause after failures. If nothing can be sent, no request is accepted that would end it, so its time is
// short, and doubles with each failure: 0, 2, 6, 14 seconds and so on.
func (p *Planner) pause(s *Rendered) policy.Pause {
	longest := func(f entry.Fact) time.Duration {
		switch {
		case !s.Sendable:
			return min(time.Minute, (1<<min(f.Failures(), 10)-2)*time.Second)
		case !s.Fits:
			return time.Minute // history is let go
		}
		return longestPause
	}
	f := Learnt(p.Ledger.Remembered, p.Target).Pause(p.Now, s.Used, longest)
	if f.Left == 0 {
		return policy.Pause{}
	}
	return policy.Pause{Failures: f.Failures(), Steps: f.Left, Until: f.Since.Add(longest(f)), Err: f.Cause}
}

// leftForNewest returns how many tokens are left for the results and arguments of the newest round in a prompt that does not fit, beside
// everything that is not history and room for a summary of the other history. It is 0 if the round is within that, or
// cannot be.
func (p *Planner) leftForNewest(ctx context.Context, s *Rendered, exceeded error) (int, error) {
	needed := 0
	if over, ok := errors.AsType[*render.BudgetExceededError](exceeded); ok {
		needed = over.Needed
	}
	results, beside, earlier, err := p.besideNewest(ctx, s, needed)
	left := s.Budget - beside
	if err != nil || results <= left-min(earlier, 2*policy.MinWords) {
		return 0, err // a compaction makes it fit
	}
	return max(0, left-min(p.room(s.Budget), earlier, max(left/2, min(2*policy.MinWords, left*3/4)))), nil
}

// besideNewest returns the tokens of the results and arguments of the newest round, and of what stands beside them in a prompt
// that needs so many tokens: all that is not history and the rest of the round, and earlier history. All are 0 if something was
// said after the round, or a limit inside the prompt is exceeded.
func (p *Planner) besideNewest(ctx context.Context, s *Rendered, needed int) (results, beside, earlier int, err error) {
	units := s.View.Units(p.Policy.Cut.Limits, p.Sizing())
	if len(units) == 0 || units[len(units)-1].Start {
		return 0, 0, 0, nil
	}
	beside, _, err = s.layout.Floor(ctx, render.FitOptions{Budget: s.Budget, KeepUnranked: true, History: render.HistoryDroppable})
	if failure.TooLarge(err) {
		return 0, 0, 0, nil
	}
	for _, message := range units[len(units)-1].Messages {
		whole := guard.Counted(p.Target.Tokenizer.CountMessage(message))
		if message.Role == chat.RoleTool {
			message.Content = nil
		}
		message.ToolCalls = slices.Clone(message.ToolCalls)
		for i := range message.ToolCalls {
			message.ToolCalls[i].Arguments = "{}"
		}
		bare := guard.Counted(p.Target.Tokenizer.CountMessage(message))
		beside, results = clamp.Sum(beside, bare), clamp.Sum(results, whole-bare)
	}
	return results, beside, max(0, needed-beside-results), err
}

// layOutInBudget lays the prompt out within the budget. If the prompt holds tools and the policy has a threshold, the
// budget is a tenth less, a margin for them.
func (p *Planner) layOutInBudget(ctx context.Context, s *Rendered, prompt elements.Node) (err error) {
	for inPrompt := false; ; inPrompt = true {
		if s.Size, err = sizeOf(p.Target, p.Policy, p.Ledger, inPrompt, p.Most, p.bound); err != nil {
			return err
		}
		budget := s.Budget
		s.Base, s.Budget, s.Tools = s.Size.base, s.Size.budget, s.Size.Tools
		if inPrompt && s.Budget == budget {
			return nil
		}
		if s.layout, s.Shown, err = p.LayOut(ctx, prompt, s.View, s.Budget, 0); err != nil {
			return err
		}
		if err := s.Shown.Check(); err != nil {
			if s.Shown.Other() && !s.Shown.Any() {
				return ErrOtherSession
			}
			return err
		}
		if inPrompt || len(s.layout.Tools()) == 0 {
			return nil
		}
	}
}

// foretell predicts how much of the prompt the provider reads from its cache, and whether the prompt breaks the cache.
func (p *Planner) foretell(s *Rendered) {
	prices := p.Target.Prices
	if prices == (sizing.Prices{}) {
		return
	}
	cache := sizing.PromptCache{Prices: prices}
	if last := p.Ledger.Last; last.Model == p.Target.Name {
		cache.Sent, cache.Usage = last.Sent, last.Usage
	}
	shared := cache.Sent.Compare(s.PromptMessages(), s.PromptTools(p.Target))
	input := clamp.Int(math.Ceil(p.Ledger.LastRatio(p.Target.Name) * float64(clamp.Sum(s.PromptTokens(), s.Size.Tools))))
	held := cache.Holds(shared, p.Now)
	s.Foretold = prices.Foretell(sizing.Planned{Input: input, Cached: held})
	s.Cold = s.Foretold.CacheRead == 0 && prices.Lifetime > 0
	if answered := p.Ledger.Answered; shared.Change == sizing.ChangeUnknown && !answered.IsZero() { // the provider reports no usage
		s.Cold = s.Cold && p.Now.Sub(answered) > prices.Lifetime
	}
	whole := shared
	whole.Change = sizing.ChangeNone
	if lost := cache.Holds(whole, p.Now) - held; lost > 0 && !p.Ledger.Cleared && shared.Change != sizing.ChangeUnknown && !endsIn(cache.Sent, shared) {
		r := prices.At(input)
		s.Broken = event.CacheBreak{Change: shared.Change, Messages: shared.Messages, Until: shared.Until, Tokens: lost, Dollars: float64(lost) * (r.CacheWrite - r.CacheRead) / 1e6}
	}
}

// endsIn reports whether the request before shares all but its last message. An application may end its prompts with a
// message that changes from step to step: all in front of it is read from the cache.
func endsIn(before sizing.Sent, shared sizing.Shared) bool {
	return before.Marks[len(before.Marks)-1].Messages-shared.Messages <= 1 && shared.Messages > before.System
}

// fillRelief sets how many tokens a compaction and a clearing would save, if a condition needs them.
func (p *Planner) fillRelief(ctx context.Context, s *Rendered) error {
	priced := p.Target.Prices != (sizing.Prices{})
	needsCosts := priced && p.Policy.Trigger.NeedsCosts(s.Measurement)
	if priced && p.Policy.Clear.CostFactor > 0 && s.Fits && !p.Session.ReadOnly() {
		if err := p.fillClearingCosts(ctx, s); err != nil {
			return err
		}
	}
	reached := !s.Fits || p.Policy.Trigger.AtLimit(s.Measurement)
	if reached || needsCosts {
		if err := guard.Do(ctx, guard.NameTokenizer, 0, func(ctx context.Context) error { return p.fillCompaction(ctx, s) }); err != nil {
			return err
		}
		reached = reached || p.Policy.Trigger.AtLimit(s.Measurement)
	}
	if p.Policy.Clear.Rule.Keep > 0 && s.Clearable == 0 && (reached && (p.Policy.Clear.CostFactor == 0 || !s.Fits) || p.Policy.Clear.Always) && !p.Session.ReadOnly() {
		clearing, err := p.Clearing(ctx, s)
		if err != nil {
			return err
		}
		s.Clearable = clearing.Saved
	}
	return nil
}

// fillCompaction sets Covered and Room, and the costs of carrying and compacting.
func (p *Planner) fillCompaction(ctx context.Context, s *Rendered) error {
	s.Room = p.room(s.Budget)
	point, err := p.cut(ctx, s)
	if errors.Is(err, history.ErrNoCut) {
		return nil // nothing would be covered
	} else if err != nil {
		return err
	}
	s.Covered = Replaced(p.Target.Tokenizer, nil, Covered(point))
	if s.Occasion == policy.OnDemand || s.Occasion == policy.OnMemoryPressure {
		s.Room = min(s.Room, policy.MinWords) // a user who asks for it wants it in any case
	}
	if p.keepsLess(s) {
		latest, err := history.Cut{First: p.Policy.Cut.First, Limits: p.Policy.Cut.Limits}.Find(ctx, s.View, p.Sizing())
		if err != nil {
			latest = point
		}
		s.Covered = Replaced(p.Target.Tokenizer, s.View.Compacted, Covered(latest)) // keep less than the policy says
		s.Room = min(s.Room, policy.MinWords)                                       // a short summary is better than none
	}
	p.fillCosts(s)
	return nil
}

// fillCosts sets the cost of carrying the history and the cost of compacting it.
func (p *Planner) fillCosts(s *Rendered) {
	prices := p.Target.Prices
	relief := clamp.Sum(s.Relief(), Replaced(p.Target.Tokenizer, s.View.Compacted, nil))
	if prices == (sizing.Prices{}) || relief <= 0 {
		return
	}
	ratio := p.Ledger.LastRatio(p.Target.Name)
	theirs := func(tokens int) int { return clamp.Int(math.Ceil(ratio * float64(tokens))) }
	head := guard.Counted(p.Target.Tokenizer.CountTools(s.PromptTools(p.Target)))
	for _, c := range s.PromptMessages() {
		if c.Role != chat.RoleSystem {
			break
		}
		head = clamp.Sum(head, guard.Counted(p.Target.Tokenizer.CountMessage(c)))
	}
	summary := min(s.Room, p.summaryRoom(s.Budget)) // the index is not a model's answer
	c := sizing.Carry{Input: s.Foretold.Input, Head: theirs(head), Summary: theirs(summary), Cold: s.Cold}
	c.Kept = max(0, c.Input-theirs(relief)-c.Head-c.Summary)
	s.Carried = prices.Carrying(c, c.Input)
	writers, _ := Writers(p.Policy.Ask, p.Models, p.Target)
	for i, t := range writers { // the first is asked, or the cheapest
		if c.Summarizer = cmp.Or(t.Prices, prices); t.Name == p.Target.Name && p.Policy.Ask.Prompts[0].Forks {
			c.Summarizer = sizing.Prices{} // it reads the agent's cache
		}
		if cost := prices.Compacting(c); i == 0 || p.Policy.Ask.Cheapest && cost < s.Compacting {
			s.Compacting = cost
		}
	}
	for _, input := range p.inputs(s, theirs) {
		s.Carried += prices.Carrying(c, input)
	}
	if p.Policy.Clear.Due(s.Measurement) {
		s.Compacting = max(0, s.Compacting-s.Breaking)
	}
}

// inputs returns the input tokens of the requests since the last compaction. If none were reported, they are estimated
// from the history that the session shows.
func (p *Planner) inputs(s *Rendered, theirs func(int) int) []int {
	if len(p.Ledger.Inputs) > 0 {
		return p.Ledger.Inputs
	}
	var inputs []int
	behind := 0 // tokens of the request's answer and everything after it
	for _, u := range slices.Backward(s.View.Units(p.Policy.Cut.Limits, p.Sizing())) {
		if behind = clamp.Sum(behind, guard.Counted(u.Tokens)); u.Start {
			continue
		}
		if len(inputs) == p.Ledger.Answers {
			break
		}
		inputs = append(inputs, max(0, s.Foretold.Input-theirs(behind)))
	}
	return inputs
}

// fillClearingCosts sets the cost of carrying old tool output and the cost of clearing it.
func (p *Planner) fillClearingCosts(ctx context.Context, s *Rendered) error {
	return guard.Do(ctx, "Clear.Rule", p.Policy.Ask.Timeout, func(context.Context) error {
		saved, carried, behind := p.clearable(s)
		if s.Clearable = saved; saved == 0 {
			return nil
		}
		prices, ratio, input := p.Target.Prices, p.Ledger.LastRatio(p.Target.Name), s.Foretold.Input
		uncached := 0
		if s.Cold || s.Foretold.CacheRead > 0 {
			uncached = input - s.Foretold.CacheRead // written to the cache anyway
		}
		s.Breaking = prices.Breaking(input, clamp.Int(ratio*float64(behind-saved))-uncached)
		s.CarriedOutput = prices.Reading(input, clamp.Int(ratio*float64(carried)))
		return nil
	})
}

// ClearRule returns a policy's rule in tokens: its share is of the context window.
func ClearRule(p policy.Policy, t policy.Target) history.ClearRule {
	rule := p.Clear.Rule
	if p.Clear.Share > 0 {
		rule.Keep = max(1, min(rule.Keep, clamp.Share(p.Clear.Share, ContextWindow(t))))
	}
	return rule
}

// clearable returns what the policy would save by clearing now ([history.ClearRule.Look]), and the tokens of the history
// from the first round that changes on.
func (p *Planner) clearable(s *Rendered) (saved, carried, behind int) {
	clear := p.Policy.Clear
	saved, carried, first := ClearRule(p.Policy, p.Target).Look(s.View, p.Target.Tokenizer)
	if guard.Counted(saved) == 0 {
		return 0, 0, 0
	}
	for _, u := range slices.Backward(s.View.Units(p.Policy.Cut.Limits, p.Sizing())) {
		if behind = clamp.Sum(behind, guard.Counted(u.Tokens)); u.ID == first {
			break
		}
	}
	cached := !p.Ledger.Answered.IsZero() && p.Now.Sub(p.Ledger.Answered) < cmp.Or(clear.Idle, 5*time.Minute)
	if cached && clear.Behind > 0 && behind > clear.Behind && s.Fits {
		return 0, 0, 0
	}
	return saved, carried, behind
}

// Clearing returns the clearing that the policy makes now.
func (p *Planner) Clearing(ctx context.Context, s *Rendered) (entry.Clearing, error) {
	return guard.Call(ctx, "Clear.Rule", p.Policy.Ask.Timeout, func(context.Context) (entry.Clearing, error) {
		if saved, _, _ := p.clearable(s); saved == 0 {
			return entry.Clearing{}, nil
		}
		c, _ := ClearRule(p.Policy, p.Target).Find(s.View, p.Target.Tokenizer)
		return c, nil
	})
}

// keepsLess reports whether less may be kept than the policy says: the prompt does not fit otherwise, or leaves too little free.
func (p *Planner) keepsLess(s *Rendered) bool {
	return !s.Fits || s.Occasion == policy.OnContextLimit || p.Spare > 0 && s.PromptTokens() > s.Budget-p.Spare
}

// cut returns the policy's cut point. If the prompt does not fit although the policy keeps everything, it returns the
// earliest possible one, which may cover the earlier summary alone.
func (p *Planner) cut(ctx context.Context, s *Rendered) (history.CutPoint, error) {
	rule, by := p.rule(s), p.Sizing()
	point, err := rule.Find(ctx, s.View, by)
	if errors.Is(err, history.ErrNoCut) && p.keepsLess(s) {
		point, err = rule.Earliest(ctx, s.View, by)
	}
	if errors.Is(err, history.ErrNoCut) && p.keepsLess(s) && rule.SinceCompaction { // the history that the latest compaction kept may be all there is
		rule.SinceCompaction = false
		point, err = rule.Earliest(ctx, s.View, by)
	}
	if units := s.View.Units(rule.Limits, by); errors.Is(err, history.ErrNoCut) && !s.Fits && len(s.View.Compacted) > 0 && len(units) > 0 {
		point, err = rule.At(ctx, s.View, units[0].ID, by) // the earlier summary alone
	}
	return point, err
}

// rule returns the policy's cut in tokens: its share is of the context window, and its tokens are the provider's if the
// policy uses the provider's count. It keeps no more than a condition allows beside a summary.
func (p *Planner) rule(s *Rendered) history.Cut {
	rule := p.Policy.Cut
	if rule.Share > 0 {
		share := max(1, clamp.Share(rule.Share, ContextWindow(p.Target)))
		if rule.Tokens == 0 || share < rule.Tokens {
			rule.Tokens = share
		}
		rule.Share = 0
	}
	if rule.Tokens > 0 {
		rule.Tokens = max(1, clamp.Int(float64(rule.Tokens)/s.Ratio))
	}
	for _, c := range p.Policy.Trigger.For(policy.OnRender) {
		if limit, ok := c.Limit(s.Measurement); ok && rule.Tokens > 0 {
			rule.Tokens = max(1, min(rule.Tokens, clamp.Int(limit/s.Ratio)-s.Tools-p.room(s.Budget)))
		}
	}
	return rule
}

// Sizing returns the sizing that the history's elements are shown with.
func (p *Planner) Sizing() elements.Sizing {
	return elements.Sizing{PromptBudget: cmp.Or(p.Options.PromptBudget, p.Target.Budget), TokenBudget: p.Target.Budget, Tokenizer: p.Target.Tokenizer}
}

// room returns the most tokens of a replacement and its index, by the policy.
func (p *Planner) room(budget int) int { return clamp.Sum(p.summaryRoom(budget), p.indexRoom(budget)) }

// indexRoom returns the most tokens of the index: an eighth of the budget.
func (p *Planner) indexRoom(budget int) int { return min(p.Policy.Replace.Index, budget/8) }

// summaryRoom returns the most tokens of a replacement without its index.
func (p *Planner) summaryRoom(budget int) int {
	return min(clamp.Share(p.Policy.Replace.Share, budget), p.Policy.Replace.Max)
}

// Covered returns the units that a summary covers: all before the cut. First messages that are kept in addition
// ([history.Cut.First]) are among them, because a replacement may not show them, or have no room for them.
func Covered(point history.CutPoint) []history.Unit { return point.Units[:point.At] }

// Replaced returns the tokens of the messages that a replacement takes the place of: those of the earlier compaction,
// and the covered units except the current turn's first message, which stays.
func Replaced(t chat.Tokenizer, earlier []chat.Message, units []history.Unit) int {
	tokens := 0
	for _, m := range earlier {
		tokens += guard.Counted(t.CountMessage(m))
	}
	for _, u := range units {
		if !u.Current {
			tokens += guard.Counted(u.Tokens)
		}
	}
	return tokens
}
