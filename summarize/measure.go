package summarize

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
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/ledger"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// measurer measures a prompt that shows a session.
type measurer struct {
	session      *history.Session
	target       Target
	policy       Policy // with defaults
	options      render.Options
	ledger       *ledger.Ledger
	now          time.Time
	most         int             // of the prompt and its tools, 0 for no bound but the budget
	writerPrices []sizing.Prices // of the models that may write summaries; the zero value for one that reads the agent's cache
}

// measured is a rendered prompt with its measurement.
type measured struct {
	Measurement
	size   size
	view   history.View
	result *render.Result
	over   *render.BudgetExceededError
	layout *render.Layout
	shown  *history.Shown
	broken CacheBreak
	floor  int // tokens needed by messages, and by tools that stand in the prompt
	newest int // most tokens of the newest round's results, 0 for no bound but the elements' limits
	resort resorted
}

// failure returns the error of a prompt that does not fit, nil if it fits.
func (s *measured) failure() error {
	if s.over == nil {
		return nil // an untyped nil
	}
	return s.over
}

// messages returns the prompt's messages; all of them if it does not fit.
func (s *measured) messages() []chat.Message {
	switch {
	case s.over != nil:
		return s.over.Messages
	case s.result != nil:
		return s.result.Messages
	}
	return nil
}

// tools returns the tools to declare; those that are needed if the prompt does not fit.
func (s *measured) tools(t Target) []chat.Tool {
	switch {
	case s.over != nil:
		return t.declared(s.over.Tools)
	case s.result != nil:
		return t.declared(s.result.Tools)
	}
	return t.Tools
}

// tokens returns the tokens of the messages and of the tools in the prompt; those that are needed if it does not fit.
func (s *measured) tokens() int {
	switch {
	case s.over != nil:
		return s.over.Needed
	case s.result != nil:
		return s.result.Tokens
	}
	return 0
}

// layOut lays the prompt out for a view of the session. All its history is required: what would have to be pruned is
// compacted instead. The results of the newest round take at most newest tokens, unless that is 0.
func (m *measurer) layOut(ctx context.Context, prompt elements.Node, view history.View, budget, newest int) (*render.Layout, *history.Shown, error) {
	o := m.options
	o.Budget, o.Tokenizer, o.KeepUnranked, o.History = budget, m.target.Tokenizer, true, render.HistoryRequired
	o.PromptBudget = m.sizing().PromptBudget // the size that elements clip texts by is the same in each attempt
	if newest > 0 {
		view = view.NewestWithin(m.policy.Cut.Limits, m.target.Tokenizer, newest)
	}
	ctx, shown := history.WithShown(ctx, m.session, view)
	layout, err := render.Lay(ctx, prompt, o)
	return layout, shown, err
}

// measure renders a prompt and measures it.
func (m *measurer) measure(ctx context.Context, prompt elements.Node, on Occasion) (*measured, error) {
	s := &measured{Measurement: Measurement{Occasion: on, Time: m.now, Ratio: 1, Fits: true, ReadOnly: m.session.ReadOnly()}}
	var err error
	if s.view, err = m.session.View(ctx); err != nil {
		return nil, err
	}
	_, err = call(ctx, namePrompt, 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, m.count(ctx, s, prompt, on) })
	if err != nil {
		return nil, err
	}
	if err := m.fillRelief(ctx, s); err != nil {
		return nil, err
	}
	if s.Sendable = s.Fits; !s.Fits {
		s.resort = m.lastResort(ctx, s)
		s.Sendable = s.resort.result != nil
	}
	return s, nil
}

// count renders the prompt and counts it.
func (m *measurer) count(ctx context.Context, s *measured, prompt elements.Node, on Occasion) (err error) {
	if err = m.layOutInBudget(ctx, s, prompt); err != nil {
		return err
	}
	if s.result, err = s.layout.Fit(ctx, s.Budget); tooLarge(err) {
		left, failed := m.leftForNewest(ctx, s, err)
		if failed != nil {
			return failed
		}
		if s.newest = left; left > 0 {
			if s.layout, s.shown, err = m.layOut(ctx, prompt, s.view, s.Budget, left); err != nil {
				return err
			}
			s.result, err = s.layout.Fit(ctx, s.Budget)
		}
	}
	var needed []chat.Tool
	over, exceeded := errors.AsType[*render.BudgetExceededError](err)
	switch {
	case exceeded:
		s.over, s.result, s.Fits = over, nil, false
		if on == OnRender || on == OnModelSwitch && len(m.policy.Trigger.For(on)) == 0 {
			s.Occasion = OnBudgetExceeded
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
		s.Tools = counted(m.target.Tokenizer.CountTools(needed))
	}
	s.Count = max(0, counted(s.floor)-(s.Tools-s.size.tools))
	switch m.policy.Measure.By {
	case ByReport:
		s.Ratio = m.ledger.Ratio(m.target.Name)
	case ByLarger:
		s.Ratio = max(1, m.ledger.Ratio(m.target.Name))
	}
	s.Used = clamp.Int(math.Ceil(s.Ratio * float64(clamp.Sum(s.Count, s.Tools))))
	m.foretell(s)
	s.Messages = s.view.Len()
	if n := len(s.view.Turns); n > 0 {
		for _, r := range s.view.Turns[n-1].Rounds {
			s.Warm = s.Warm || len(r.Results) > 0
		}
	}
	s.Jitter = ledger.Jitter(m.session)
	s.TurnFailed = m.ledger.TurnFailed
	s.Pause = Pause{Failures: m.ledger.Failures, Err: m.ledger.Failed.Error}
	s.Pause.Steps, s.Pause.Until = m.ledger.Pause(m.now, m.policy.RetryAfter)
	return nil
}

// leftForNewest returns how many tokens are left for the results of the newest round in a prompt that does not fit, beside
// everything that is not history and room for a summary of the other history. It is 0 if the round is within that, or
// cannot be.
func (m *measurer) leftForNewest(ctx context.Context, s *measured, exceeded error) (int, error) {
	turns := s.view.Turns
	if len(turns) == 0 || len(turns[len(turns)-1].Rounds) == 0 {
		return 0, nil
	}
	rounds := turns[len(turns)-1].Rounds
	frame, results := 0, 0
	for _, message := range rounds[len(rounds)-1].Messages(m.policy.Cut.Limits, m.sizing()) {
		whole := counted(m.target.Tokenizer.CountMessage(message))
		if message.Role == chat.RoleTool {
			message.Content = nil
		}
		bare := counted(m.target.Tokenizer.CountMessage(message))
		frame, results = clamp.Sum(frame, bare), clamp.Sum(results, whole-bare)
	}
	floor, _, err := s.layout.Floor(ctx, render.FitOptions{Budget: s.Budget, KeepUnranked: true, History: render.HistoryDroppable})
	if tooLarge(err) {
		return 0, nil // of a limit inside the prompt
	} else if err != nil {
		return 0, err
	}
	left, earlier := s.Budget-floor-frame, 0
	if over, ok := errors.AsType[*render.BudgetExceededError](exceeded); ok {
		earlier = max(0, over.Needed-floor-frame-results)
	}
	if results <= left-min(earlier, 2*minWords) {
		return 0, nil // a compaction makes it fit
	}
	return max(0, left-min(m.room(s.Budget), earlier, max(left/2, min(2*minWords, left*3/4)))), nil
}

// layOutInBudget lays the prompt out within the budget. If the prompt holds tools and the policy has a threshold, the
// budget is a tenth less, a margin for them.
func (m *measurer) layOutInBudget(ctx context.Context, s *measured, prompt elements.Node) (err error) {
	for inPrompt := false; ; inPrompt = true {
		if s.size, err = m.target.size(m.policy, m.ledger, inPrompt, m.most); err != nil {
			return err
		}
		budget := s.Budget
		s.Base, s.Budget, s.Tools = s.size.base, s.size.budget, s.size.tools
		if inPrompt && s.Budget == budget {
			return nil
		}
		if s.layout, s.shown, err = m.layOut(ctx, prompt, s.view, s.Budget, 0); err != nil {
			return err
		}
		switch {
		case s.shown.Last() || s.view.Empty():
		case s.shown.Other():
			return ErrOtherSession
		default:
			return ErrNotShown
		}
		switch {
		case inPrompt, len(s.layout.Tools()) == 0:
			return nil
		case len(m.target.Tools) > 0:
			return ErrTools
		}
	}
}

// foretell predicts how much of the prompt the provider reads from its cache, and whether the prompt breaks the cache.
func (m *measurer) foretell(s *measured) {
	prices := m.target.Prices
	if prices == (sizing.Prices{}) {
		return
	}
	cache := sizing.PromptCache{Prices: prices}
	if last := m.ledger.Last; last.Model == m.target.Name {
		cache.Sent, cache.Usage = last.Sent, last.Usage
	}
	shared := cache.Sent.Compare(s.messages(), s.tools(m.target))
	input := clamp.Int(math.Ceil(m.ledger.LastRatio(m.target.Name) * float64(clamp.Sum(s.tokens(), s.size.tools))))
	held := cache.Holds(shared, m.now)
	s.Foretold = prices.Foretell(sizing.Planned{Input: input, Cached: held})
	s.Cold = s.Foretold.CacheRead == 0 && prices.Lifetime > 0
	if answered := m.ledger.Answered; shared.Change == sizing.ChangeUnknown && !answered.IsZero() { // the provider reports no usage
		s.Cold = s.Cold && m.now.Sub(answered) > prices.Lifetime
	}
	whole := shared
	whole.Change = sizing.ChangeNone
	if lost := cache.Holds(whole, m.now) - held; lost > 0 && !m.ledger.Cleared && shared.Change != sizing.ChangeUnknown {
		r := prices.At(input)
		s.broken = CacheBreak{Change: shared.Change, Messages: shared.Messages, Until: shared.Until, Tokens: lost, Dollars: float64(lost) * (r.CacheWrite - r.CacheRead) / 1e6}
	}
}

// fillRelief sets how many tokens a compaction and a clearing would save, if a condition needs them.
func (m *measurer) fillRelief(ctx context.Context, s *measured) error {
	priced := m.target.Prices != (sizing.Prices{})
	needsCosts := priced && m.policy.Trigger.needsCarryCosts(s.Measurement)
	if priced && m.policy.Clear.Carry > 0 && s.Fits && !m.session.ReadOnly() {
		if err := m.fillClearingCosts(ctx, s); err != nil {
			return err
		}
	}
	reached := !s.Fits || m.policy.Trigger.anyAtLimit(s.Measurement)
	if reached || needsCosts {
		if _, err := call(ctx, nameTokenizer, 0, func(ctx context.Context) (struct{}, error) { return struct{}{}, m.fillCompaction(ctx, s) }); err != nil {
			return err
		}
		reached = reached || m.policy.Trigger.anyAtLimit(s.Measurement)
	}
	if m.policy.Clear.Rule.Keep > 0 && s.Clearable == 0 && (reached && (m.policy.Clear.Carry == 0 || !s.Fits) || m.policy.Clear.Always) && !m.session.ReadOnly() {
		clearing, err := m.clearing(ctx, s)
		if err != nil {
			return err
		}
		s.Clearable = clearing.Saved
	}
	return nil
}

// fillCompaction sets Covered and Room, and the costs of carrying and compacting.
func (m *measurer) fillCompaction(ctx context.Context, s *measured) error {
	s.Room = m.room(s.Budget)
	point, err := m.cut(ctx, s)
	if errors.Is(err, history.ErrNoCut) {
		return nil // nothing would be covered
	} else if err != nil {
		return err
	}
	s.Covered = replaced(m.target.Tokenizer, nil, covered(point))
	if s.Occasion == OnDemand || s.Occasion == OnMemoryPressure {
		s.Room = min(s.Room, minWords) // who asks for it wants it in any case
	}
	if s.keepsLess() {
		latest, err := history.Cut{First: m.policy.Cut.First, Limits: m.policy.Cut.Limits}.Find(ctx, s.view, m.sizing())
		if err != nil {
			latest = point
		}
		s.Covered = replaced(m.target.Tokenizer, s.view.Compacted, covered(latest)) // keep less than the policy says
		s.Room = min(s.Room, minWords)                                              // a short summary is better than none
	}
	m.fillCarryCosts(s)
	return nil
}

// fillCarryCosts sets the cost of carrying the history and the cost of compacting it.
func (m *measurer) fillCarryCosts(s *measured) {
	prices := m.target.Prices
	relief := s.Relief()
	for _, c := range s.view.Compacted {
		relief = clamp.Sum(relief, counted(m.target.Tokenizer.CountMessage(c)))
	}
	if prices == (sizing.Prices{}) || relief <= 0 {
		return
	}
	ratio := m.ledger.LastRatio(m.target.Name)
	theirs := func(tokens int) int { return clamp.Int(math.Ceil(ratio * float64(tokens))) }
	head := counted(m.target.Tokenizer.CountTools(s.tools(m.target)))
	for _, c := range s.messages() {
		if c.Role != chat.RoleSystem {
			break
		}
		head = clamp.Sum(head, counted(m.target.Tokenizer.CountMessage(c)))
	}
	c := sizing.Carry{Input: s.Foretold.Input, Head: theirs(head), Summary: theirs(s.Room), Cold: s.Cold}
	c.Kept = max(0, c.Input-theirs(relief)-c.Head-c.Summary)
	s.Carried = prices.Carrying(c, c.Input)
	for i, writer := range m.writerPrices {
		c.Summarizer = writer
		if cost := prices.Compacting(c); i == 0 || cost < s.Compacting {
			s.Compacting = cost
		}
	}
	for _, input := range m.inputs(s, theirs) {
		s.Carried += prices.Carrying(c, input)
	}
	if m.policy.Clear.carryDue(s.Measurement) {
		s.Compacting = max(0, s.Compacting-s.Breaking)
	}
}

// inputs returns the input tokens of the requests since the last compaction. If none were reported, they are estimated
// from the history that the session shows.
func (m *measurer) inputs(s *measured, theirs func(int) int) []int {
	if len(m.ledger.Inputs) > 0 {
		return m.ledger.Inputs
	}
	var inputs []int
	behind := 0 // tokens of the request's answer and everything after it
	for _, u := range slices.Backward(s.view.Units(m.policy.Cut.Limits, m.sizing())) {
		if behind = clamp.Sum(behind, counted(u.Tokens)); u.Start {
			continue
		}
		if len(inputs) == m.ledger.Answers {
			break
		}
		inputs = append(inputs, max(0, s.Foretold.Input-theirs(behind)))
	}
	return inputs
}

// fillClearingCosts sets the cost of carrying old tool output and the cost of clearing it.
func (m *measurer) fillClearingCosts(ctx context.Context, s *measured) error {
	_, err := call(ctx, "Clear.Rule", m.policy.Ask.TimeLimit, func(context.Context) (struct{}, error) {
		c, behind := m.clearable(s)
		if s.Clearable = c.Saved; c.Saved == 0 {
			return struct{}{}, nil
		}
		prices, ratio, input := m.target.Prices, m.ledger.LastRatio(m.target.Name), s.Foretold.Input
		uncached := 0
		if s.Cold || s.Foretold.CacheRead > 0 {
			uncached = input - s.Foretold.CacheRead // written to the cache anyway
		}
		s.Breaking = prices.Breaking(input, clamp.Int(ratio*float64(behind-c.Saved))-uncached)
		s.CarriedOutput = prices.Reading(input, clamp.Int(ratio*float64(c.Carried)))
		return struct{}{}, nil
	})
	return err
}

// clearable returns what the policy clears now, and the tokens of the history from the first round that changes on.
func (m *measurer) clearable(s *measured) (c history.Clearable, behind int) {
	policy := m.policy.Clear
	if policy.Share > 0 {
		policy.Rule.Keep = max(1, min(policy.Rule.Keep, clamp.Share(policy.Share, m.target.window())))
	}
	if c = policy.Rule.Look(s.view, m.target.Tokenizer); counted(c.Saved) == 0 {
		return c, 0
	}
	for _, u := range slices.Backward(s.view.Units(m.policy.Cut.Limits, m.sizing())) {
		if behind = clamp.Sum(behind, counted(u.Tokens)); u.ID == c.First {
			break
		}
	}
	cached := !m.ledger.Answered.IsZero() && m.now.Sub(m.ledger.Answered) < cmp.Or(policy.Idle, 5*time.Minute)
	if cached && policy.Behind > 0 && behind > policy.Behind && s.Fits {
		return history.Clearable{}, 0
	}
	return c, behind
}

// clearing returns the clearing that the policy makes now.
func (m *measurer) clearing(ctx context.Context, s *measured) (history.Clearing, error) {
	return call(ctx, "Clear.Rule", m.policy.Ask.TimeLimit, func(context.Context) (history.Clearing, error) {
		c, _ := m.clearable(s)
		return c.Clearing, nil
	})
}

// keepsLess reports whether less may be kept than the policy says, if the prompt does not fit otherwise.
func (s *measured) keepsLess() bool { return !s.Fits || s.Occasion == OnContextLimit }

// cut returns the policy's cut point. If the prompt does not fit although the policy keeps everything, it returns the
// earliest possible one.
func (m *measurer) cut(ctx context.Context, s *measured) (history.CutPoint, error) {
	rule, by := m.rule(s), m.sizing()
	point, err := rule.Find(ctx, s.view, by)
	if errors.Is(err, history.ErrNoCut) && s.keepsLess() {
		point, err = rule.Earliest(ctx, s.view, by)
	}
	if errors.Is(err, history.ErrNoCut) && s.keepsLess() && rule.SinceCompaction { // the history that the latest compaction kept may be all there is
		rule.SinceCompaction = false
		point, err = rule.Earliest(ctx, s.view, by)
	}
	return point, err
}

// rule returns the policy's cut in tokens: its share is of the context window, and its tokens are the provider's if the
// policy uses the provider's count. It keeps no more than a condition allows beside a summary.
func (m *measurer) rule(s *measured) history.Cut {
	rule := m.policy.Cut
	if rule.Share > 0 {
		share := max(1, clamp.Share(rule.Share, m.target.window()))
		if rule.Tokens == 0 || share < rule.Tokens {
			rule.Tokens = share
		}
		rule.Share = 0
	}
	if rule.Tokens > 0 {
		rule.Tokens = max(1, clamp.Int(float64(rule.Tokens)/s.Ratio))
	}
	for _, c := range m.policy.Trigger.For(OnRender) {
		if l, ok := c.lowestLimit(s.Measurement); ok && rule.Tokens > 0 {
			rule.Tokens = max(1, min(rule.Tokens, clamp.Int(l.tokens/s.Ratio)-s.Tools-m.room(s.Budget)))
		}
	}
	return rule
}

// sizing returns the sizing that the history's elements are shown with.
func (m *measurer) sizing() elements.Sizing {
	window := m.options.PromptBudget
	if window == 0 {
		window = m.target.Budget
	}
	return elements.Sizing{PromptBudget: window, TokenBudget: m.target.Budget, Tokenizer: m.target.Tokenizer}
}

// room returns the most tokens of a replacement, by the policy.
func (m *measurer) room(budget int) int {
	return min(clamp.Share(m.policy.Place.Share, budget), m.policy.Place.Max)
}

// covered returns the units that a summary covers: all before the cut. First messages that are kept in addition
// ([history.Cut.First]) are among them, because a replacement may not show them, or have no room for them.
func covered(point history.CutPoint) []history.Unit { return point.Units[:point.At] }

// replaced returns the tokens of the messages that a replacement takes the place of: those of the earlier compaction,
// and the covered units except the current turn's first message, which stays.
func replaced(t chat.Tokenizer, earlier []chat.Message, units []history.Unit) int {
	tokens := 0
	for _, m := range earlier {
		tokens += counted(t.CountMessage(m))
	}
	for _, u := range units {
		if !u.Current {
			tokens += counted(u.Tokens)
		}
	}
	return tokens
}
