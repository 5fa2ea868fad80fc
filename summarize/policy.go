package summarize

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

// Policy says how a history is compacted. It is a value of parts that combine: take one of the package's and change a field.
// The zero value compacts where a prompt does not fit, and keeps the newest round.
type Policy struct {
	// Name of the policy, for events and the session.
	Name string
	// Off leaves everything to the caller: nothing is compacted but by [Compactor.Compact]. Off by default.
	Off bool
	// Prices are taken for the model's if the target has none, for what Carry weighs: their proportions matter, and none is
	// reported as a cost. None by default.
	Prices sizing.Prices
	// Measure says what is held against the limits of the trigger.
	Measure Measure
	// Trigger says when to compact. Defaults to where a prompt does not fit.
	Trigger Trigger
	// Background says what becomes of a summary that is made while the work goes on.
	Background Background
	// Clear leaves old tool output out of what is shown. Off by default.
	Clear Clear
	// Cut says what is kept word for word. If what it keeps leaves no room for a summary, or so little that the condition that
	// decided would hold at once again, fewer rounds are kept, one less at a time, down to the newest; the current turn's first
	// message stays in any case.
	Cut history.Cut
	// Ask says how, and whom, to ask for summaries.
	Ask Ask
	// Place says what is put in place of the history.
	Place Place
	// Overflow says what is done about prompts that no compaction makes fit, and requests that the provider refused.
	Overflow Overflow
	// RetryAfter is the time after which a compaction that failed may be tried again before its pause is over. A pause is 1
	// step of the agent after the first failure, and doubles with each further one up to 64. None by default.
	RetryAfter time.Duration
	// Continue is said in the user's place if a compaction was made after the agent had finished ([Compactor.AfterTurn]).
	// Nothing by default.
	Continue string
	// Branch says how a branch that is left is summarised.
	Branch BranchPolicy
}

// Measure says how the use of a context window is measured.
type Measure struct {
	// By says whose count is held against limits. Defaults to [ByCount].
	By MeasureBy
	// LoweredBase holds limits against the budget's base, the smaller of Threshold and the context window. Else they are held
	// against the context window.
	LoweredBase bool
	// Threshold lowers the budget of prompts: a ratio of the context window (above 0, up to 1) or a number of tokens (100 or
	// more); anything between is a [*sizing.ThresholdError]. Defaults to the whole budget.
	Threshold float64
}

// MeasureBy says whose count a policy goes by.
type MeasureBy string

// The measures. What a provider reported counts through the ratio of its count to ours, from 0.5 to 4, of the newest request
// to the same model since the last compaction, clearing or change of model; without one it is 1.
const (
	// ByCount is our own count.
	ByCount MeasureBy = ""
	// ByReport is our own count times the ratio.
	ByReport MeasureBy = "reported"
	// ByLarger is the larger of both.
	ByLarger MeasureBy = "larger"
)

// Background says what becomes of a summary that is made while the work goes on.
type Background struct {
	// Wait is the ratio of the window at which a prompt waits for the summary that is being made, from 0 to 1. By default it
	// waits only if the prompt does not fit, by our own count or by what the policy measures.
	Wait float64
	// WaitEnv names an environment variable that sets Wait instead ([Policy.WithEnv]).
	WaitEnv string
	// Always begins summaries in the background, even if the prompt does not fit: Overflow.LastResort makes that one fit, and
	// the next one waits. By default, and if the last resort is the error, a prompt that does not fit is compacted at once.
	Always bool
	// Timeout is the longest that one prompt waits. Defaults to a minute.
	Timeout time.Duration
	// Apply is the ratio of the window below which a finished summary is thrown away: somebody went back, or a model with a
	// larger window answers now. If a condition with Background holds at less, that counts instead, so that a threshold can be
	// lowered alone. Defaults to 0: it is put in place whatever the ratio.
	Apply float64
}

// Clear says when old tool output is left out of what is shown. It is an entry of the session ([history.Clearing]), and asks
// no model.
type Clear struct {
	// Rule says what is cleared. The zero value clears nothing.
	Rule history.ClearRule
	// Carry clears once carrying what would be cleared has cost so many times what the broken cache costs
	// ([Measurement.CarriedOutput]), and at once if the cache has nothing of what stands behind it. A compaction that is to be
	// made goes first, so that both break the cache once. Nothing is held against it if there are no prices. If the prompt does
	// not fit, it does not matter. Off by default.
	Carry float64
	// Loss is what that is worth, in dollars, which one clearing leaves out. It is added to what the broken cache costs for
	// Carry.
	Loss float64
	// Always clears on each occasion before conditions are looked at. Else it is done once a condition holds, and where that
	// suffices nothing is summarised.
	Always bool
}

// Place says what is put in place of the history.
type Place struct {
	// Replacement makes it. Defaults to [ConversationSummary].
	Replacement Replacement
	// Share is the part of the budget that it may take, from 0 to 1. Defaults to 0.2.
	Share float64
	// Max is the most tokens that it may take, 100 or more. Defaults to 10,000. A small budget and a long breadcrumb can make
	// it more: there is always room for 100 tokens of words.
	Max int
	// ReadTool is the agent's tool that reads files, which the breadcrumb names if the agent has it. By default, and if it
	// has not, it is the first of the agent's tools that reads files by its name.
	ReadTool string
	// NoBreadcrumb leaves out the pointer to the transcript. A session in memory never has one.
	NoBreadcrumb bool
	// FileTools say which files the agent's tools read and modify. Defaults to [history.DefaultFileTools].
	FileTools history.FileTools
	// Limits of a round as it is shown; those of the prompt's history elements, if they have any.
	Limits history.Limits
	// Checkpoints writes each summary to [Compactor.Checkpoints]. Off by default.
	Checkpoints bool
}

// minWords is the least room, in tokens, in which a summary's words are worth having.
const minWords = 100

// Mode names a prompt: how the model is shown what it summarises.
type Mode string

// The modes.
const (
	// ModeAuto tries the policy's prompts one after the other.
	ModeAuto Mode = ""
	// ModeFull sends the history as the messages that it consists of, with the tools declared and not to be called.
	ModeFull Mode = "full"
	// ModeSimple sends the history as one text, tool results cut, packed to the model's window.
	ModeSimple Mode = "simple"
	// ModeSupplied is that of a summary which a hook supplied. No prompt has it.
	ModeSupplied Mode = "supplied"
)

// Validate refuses values that mean nothing, and a policy under which nothing would ever be compacted because it keeps as much
// as it allows in all. A [Compactor] calls it at each use; who makes a policy can call it at once.
func (p Policy) Validate() error {
	if err := p.Trigger.check(); err != nil {
		return err
	}
	for i, c := range p.Trigger.For(OnRender) {
		if share := p.Cut.Share; share > 0 && (c.Ratio > 0 && share >= c.Ratio || c.Cap > 0 && (p.Cut.Tokens == 0 || p.Cut.Tokens >= c.Cap)) ||
			share == 0 && p.Cut.Tokens > 0 && c.Cap > 0 && p.Cut.Tokens >= c.Cap {
			return fmt.Errorf("summarize: Policy.Cut keeps as much as Policy.Trigger[%d] (of those for a render) allows in all: nothing would ever be compacted", i)
		}
	}
	if _, err := p.Measure.base(1<<20, 0, false); err != nil {
		return err
	}
	share := func(name string, v float64) error {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("summarize: Policy.%s is %v: it is a share between 0 and 1", name, v)
		}
		return nil
	}
	if err := errors.Join(
		notBelow0("Background.Timeout", p.Background.Timeout), notBelow0("RetryAfter", p.RetryAfter),
		notBelow0("Cut.Tokens", p.Cut.Tokens), notBelow0("Cut.Messages", p.Cut.Messages), notBelow0("Cut.Rounds", p.Cut.Rounds),
		notBelow0("Cut.First", p.Cut.First), notBelow0("Clear.Rule.Keep", p.Clear.Rule.Keep), notBelow0("Clear.Rule.Saves", p.Clear.Rule.Saves),
		notBelow0("Clear.Rule.KeepStale", p.Clear.Rule.KeepStale), notBelow0("Clear.Rule.Arguments", p.Clear.Rule.Arguments),
		notBelow0("Clear.Carry", p.Clear.Carry), notBelow0("Clear.Loss", p.Clear.Loss),
		notBelow0("Branch.Reserve", p.Branch.Reserve), notBelow0("Overflow.Attempts", p.Overflow.Attempts),
		share("Background.Wait", p.Background.Wait), share("Background.Apply", p.Background.Apply),
		share("Cut.Share", p.Cut.Share), share("Place.Share", p.Place.Share),
		share("Place.Limits.Results", p.Place.Limits.Results), share("Place.Limits.Arguments", p.Place.Limits.Arguments),
		share("Place.Limits.Head", p.Place.Limits.Head),
	); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]MeasureBy{ByCount, ByReport, ByLarger}, p.Measure.By):
		return fmt.Errorf("summarize: Policy.Measure.By is %q: it is %q, %q or %q", p.Measure.By, ByCount, ByReport, ByLarger)
	case !slices.Contains([]LastResort{ResortError, ResortTruncate, ResortDrop}, p.Overflow.LastResort):
		return fmt.Errorf("summarize: Policy.Overflow.LastResort is %q: it is %q, %q or %q", p.Overflow.LastResort, ResortError, ResortTruncate, ResortDrop)
	case p.Overflow.Buffer > p.Overflow.MaxBuffer && p.Overflow.MaxBuffer > 0:
		return fmt.Errorf("summarize: Policy.Overflow.Buffer is %v, and MaxBuffer, up to which it grows, is %v", p.Overflow.Buffer, p.Overflow.MaxBuffer)
	case p.Ask.Timeout > p.Ask.withDefaults().TimeLimit:
		return fmt.Errorf("summarize: Policy.Ask.Timeout, of one answer, is %v, and Policy.Ask.TimeLimit, of all, is %v", p.Ask.Timeout, p.Ask.withDefaults().TimeLimit)
	case p.Place.Max < 0 || p.Place.Max > 0 && p.Place.Max < minWords:
		return fmt.Errorf("summarize: Policy.Place.Max is %d: it is %d tokens or more", p.Place.Max, minWords)
	case !(p.Overflow.Buffer >= 0 && p.Overflow.Buffer < 1) || !(p.Overflow.MaxBuffer >= 0 && p.Overflow.MaxBuffer < 1):
		return fmt.Errorf("summarize: Policy.Overflow.Buffer is %v and MaxBuffer %v: they are shares from 0 to below 1", p.Overflow.Buffer, p.Overflow.MaxBuffer)
	}
	if err := p.Prices.Validate(); err != nil {
		return fmt.Errorf("summarize: Policy.Prices: %w", err)
	}
	return p.Ask.check()
}

// notBelow0 returns an error that names a field of a policy if its number or time is below 0.
func notBelow0[T int | time.Duration | float64](name string, v T) error {
	if !(v >= 0) {
		return fmt.Errorf("summarize: Policy.%s is %v, below 0", name, v)
	}
	return nil
}

// prices returns those that are weighed by for a target.
func (p Policy) prices(t Target) sizing.Prices {
	if t.Prices != (sizing.Prices{}) {
		return t.Prices
	}
	return p.Prices
}

func (p Policy) withDefaults() Policy {
	if p.Place.Share == 0 {
		p.Place.Share = 0.2
	}
	if p.Place.Max == 0 {
		p.Place.Max = 10_000
	}
	if p.Place.Replacement == nil {
		p.Place.Replacement = ConversationSummary
	}
	if p.Place.FileTools == nil {
		p.Place.FileTools = history.DefaultFileTools()
	}
	if p.Background.Timeout == 0 {
		p.Background.Timeout = time.Minute
	}
	p.Cut.Limits = p.Place.Limits
	p.Ask = p.Ask.withDefaults()
	p.Overflow = p.Overflow.withDefaults()
	if len(p.Trigger) == 0 {
		p.Trigger = Trigger{{On: OnBudgetExceeded}}
	}
	return p
}

// WithEnv returns the policy with the ratios that environment variables name; lookup is such as [os.LookupEnv]. A value that
// is no ratio above 0 and up to 1 is an error.
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
