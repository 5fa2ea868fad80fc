package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

// Policy says how a history is compacted. It is a value of parts that combine: take one of package summarize/policies
// and change a field. The zero value compacts if a prompt does not fit, and keeps the newest round.
type Policy struct {
	// Name of the policy, in events and in the session.
	Name string
	// Off leaves everything to the caller: only summarize.Compactor.Compact compacts. Off by default.
	Off bool
	// StandsBack leaves compaction to the provider while requests ask it to compact or edit the context
	// ([Target].ManagesContext): conditions do nothing then. A prompt that does not fit, a refusal and what is asked for are
	// answered in any case, because what a provider does bounds no text. Off by default.
	StandsBack bool
	// Prices stand in for the model's if the target has none, so that CostFactor can weigh costs. Only their proportions
	// matter; no cost is reported from them. None by default.
	Prices sizing.Prices
	// Counting says which count is compared with the limits of the trigger.
	Counting Counting
	// Trigger says when to compact. By default only if a prompt does not fit.
	Trigger Trigger
	// Background says how a summary that is made in the background is used.
	Background Background
	// Clear replaces old tool output by placeholders. Off by default.
	Clear Clear
	// Cut says what is kept word for word. If that leaves no room for a summary, or so little that the same condition
	// would hold again at once, fewer rounds are kept, down to the newest. The current turn's first message stays in
	// any case. Set its Limits to those of the prompt's history elements, if those have any.
	Cut history.Cut
	// Ask says whom to ask for summaries, and how.
	Ask Ask
	// Replace says which messages replace the covered history.
	Replace Replace
	// Overflow says what to do about prompts that no compaction makes fit, and about requests that the provider refused
	// as too large.
	Overflow Overflow
	// Continue is added to the session in the user's place after a compaction by summarize.Compactor.AfterTurn, so that the
	// agent goes on. None by default.
	Continue string
	// Branch says how a branch is summarised when the session leaves it.
	Branch BranchPolicy
}

// Counting says how the use of a context window is measured.
type Counting struct {
	// By says whose count is compared with limits. Defaults to [ByCount].
	By CountBy
	// LoweredBase compares limits with the largest prompt: the smallest of Threshold, the context window, and
	// [Target].Budget plus the tokens of tools. By default they are compared with the context window alone.
	LoweredBase bool
	// Threshold lowers the budget of prompts: a ratio of the context window (above 0, up to 1) or a number of tokens
	// (100 or more); anything between is a [*sizing.ThresholdError]. Defaults to the whole budget.
	Threshold float64
}

// CountBy says whose count a policy uses.
type CountBy string

// The ways to count. The ratio of a provider's count to ours is limited to 0.5 to 4. It is taken from the newest
// request to the same model since the last compaction, clearing or change of model; without one it is 1.
const (
	// ByCount is our own count.
	ByCount CountBy = ""
	// ByReport is our own count times the ratio of the provider's count to ours.
	ByReport CountBy = "reported"
	// ByLarger is the larger of the two.
	ByLarger CountBy = "larger"
)

// Background says how a summary that is made while the agent goes on is used.
type Background struct {
	// Wait is the ratio of the context window at which a prompt waits for the summary that is being made, from 0 to 1.
	// By default it waits only if the prompt does not fit, by our own count or by the policy's.
	Wait float64
	// WaitEnv names an environment variable that sets Wait instead ([Policy.WithEnv]).
	WaitEnv string
	// Always starts summaries in the background even if the prompt does not fit. Then Overflow.LastResort makes that
	// prompt fit, and the next one waits. By default, and if the last resort is the error, a prompt that does not fit
	// is compacted at once.
	Always bool
	// Timeout is the longest time that one prompt waits for summaries, made in the background or not. After that the last
	// resort makes the prompt fit, or the error is a summarize.PendingError; the summary is still made, and a later prompt puts
	// it in place. Once a prompt has waited so long for a summary alone, later ones that can be sent do not wait for it, but
	// each does as soon as a part of it was answered: otherwise more might be said than is summarised meanwhile. Defaults to
	// a minute.
	Timeout time.Duration
	// OncePerTurn makes at most one compaction in a turn for which a prompt waits: if it fails, the next ones are made in
	// the background, after the pause, and the last resort makes prompts fit meanwhile. It does nothing if the last resort
	// cannot. Off by default.
	OncePerTurn bool
	// PerModel throws a summary away if another model answers before it is in place. By default it is put in place.
	PerModel bool
	// Apply is the ratio of the context window below which a finished summary is thrown away, for example because the
	// user went back or a model with a larger window answers now. If the limit of a condition with Background is lower,
	// that limit counts instead, so that a threshold can be lowered alone. Defaults to 0: the summary is put in place
	// at any ratio.
	Apply float64
}

// Clear says when old tool output is replaced by placeholders. A clearing is an entry of the session
// ([entry.Clearing]), and asks no model.
type Clear struct {
	// Rule says what is cleared. The zero value clears nothing.
	Rule history.ClearRule
	// Preview says which new tool output is shown as previews. The zero value shows all of it.
	Preview history.PreviewRule
	// Share is the part of the context window that Rule keeps at most, above 0 and up to 1. By default the window does
	// not count.
	Share float64
	// Behind is the most tokens of history that may stand from the first round that is cleared on, this round included,
	// because the provider's cache of them is lost. It does not count if the prompt does not fit, or after Idle. 0 sets no
	// limit.
	Behind int
	// Idle is the time since the agent's last answer after which the provider's cache counts as lost. Defaults to 5
	// minutes.
	Idle time.Duration
	// CostFactor says that output is cleared once carrying it has cost CostFactor times as much as the cache break that
	// clearing causes ([Measurement.CarriedOutput]), and at once if nothing behind it is cached. If a compaction is due
	// too, it is made first, so that the cache breaks only once. Without prices it never clears. If the prompt does
	// not fit, CostFactor is ignored. Off by default.
	CostFactor float64
	// Loss is the value, in dollars, of the output that one clearing leaves out. For CostFactor it is added to the cost of
	// the cache break.
	Loss float64
	// Always clears on each occasion, before conditions are checked. By default output is cleared once a condition
	// holds, and nothing is summarised if that suffices. If it does not suffice, the clearing is written with the
	// compaction, so that the cache breaks once, but at once if the prompt does not fit.
	Always bool
}

// Replace says which messages replace the covered history.
type Replace struct {
	// Replacement makes the messages. Defaults to prompts.ConversationSummary.
	With Replacement
	// Share is the largest part of the budget that the messages may take, from 0 to 1. Defaults to 0.2.
	Share float64
	// Max is the most tokens that the messages may take, 100 or more. Defaults to 10,000. With a small budget and a
	// long breadcrumb they may take more: there is always room for 100 tokens of words.
	Max int
	// Index is the most tokens of an index that stands beside the messages, in a message of its own: the names (paths,
	// identifiers, numbers) that the prompt no longer shows, each with an entry of the session that has it. They are
	// ranked by how many messages name them, the assistant's counting three times, divided by the age of the newest of
	// these in messages. A compaction then reads the newest 4,000 messages of the path, or those with the newest 8 MiB of
	// text. An index takes no room from the messages and at most an eighth of the budget; it is shorter if there is less
	// room. 0 for no index, the default.
	Index int
	// ReadTool is the agent's tool that reads files; the breadcrumb names it if the agent has it. Otherwise the
	// breadcrumb names the first of the agent's tools whose name says that it reads files.
	ReadTool string
	// NoBreadcrumb leaves out the pointer to the transcript. A session in memory never has one.
	NoBreadcrumb bool
	// Pinned is the largest part of the budget that copies of pinned entries ([history.Session.Pin]) may take in addition,
	// from 0 to 1. A pinned entry that does not fit is reported by an event, and its handle stands in its place.
	// Defaults to 0.1.
	Pinned float64
	// FileTools says which files the agent's tools read and modify. Defaults to [history.DefaultFileTools].
	FileTools history.FileTools
	// Checkpoints writes each summary to summarize.Compactor.Checkpoints. Off by default.
	Checkpoints bool
}

// MinWords is the fewest tokens of words for which a summary is worth making.
const MinWords = 100

// Mode names the way in which a prompt shows a model the history.
type Mode string

// The modes.
const (
	// ModeAuto tries the policy's prompts one after the other.
	ModeAuto Mode = ""
	// ModeFull sends the history as its messages, and declares the tools but forbids calls.
	ModeFull Mode = "full"
	// ModeSimple sends the history as one text with clipped tool results, packed to the model's window.
	ModeSimple Mode = "simple"
	// ModeSupplied is the mode of a summary that a hook supplied. No prompt has it.
	ModeSupplied Mode = "supplied"
)

// Validate returns an error for values that mean nothing, and for a policy that could never compact because it keeps as
// much as a condition allows in all. A summarize.Compactor calls it at each use; call it at once if you make a policy.
func (p Policy) Validate() error {
	if err := p.Trigger.check(); err != nil {
		return err
	}
	for i, c := range p.Trigger.For(OnRender) {
		if share := p.Cut.Share; share > 0 && (c.Ratio > 0 && share >= c.Ratio || c.Cap > 0 && (p.Cut.Tokens == 0 || p.Cut.Tokens >= c.Cap)) ||
			share == 0 && p.Cut.Tokens > 0 && c.Cap > 0 && p.Cut.Tokens >= c.Cap {
			return fmt.Errorf("summarize: Policy.Cut keeps as much as Policy.Trigger.For(OnRender)[%d] allows in all, so nothing would ever be compacted: keep less", i)
		}
	}
	if _, err := p.Counting.Base(1<<20, 0, false); err != nil {
		return err
	}
	if err := errors.Join(
		notBelow0("Background.Timeout", p.Background.Timeout),
		notBelow0("Cut.Tokens", p.Cut.Tokens), notBelow0("Cut.Messages", p.Cut.Messages), notBelow0("Cut.Rounds", p.Cut.Rounds),
		notBelow0("Cut.First", p.Cut.First), notBelow0("Clear.Rule.Keep", p.Clear.Rule.Keep), notBelow0("Clear.Rule.Saves", p.Clear.Rule.Saves),
		notBelow0("Clear.Rule.Least", p.Clear.Rule.Least), notBelow0("Clear.Rule.LeastPlaceholders", p.Clear.Rule.LeastPlaceholders), notBelow0("Clear.Rule.Names", p.Clear.Rule.Names), notBelow0("Clear.Preview.Names", p.Clear.Preview.Names), notBelow0("Clear.Preview.Above", p.Clear.Preview.Above), notBelow0("Clear.Preview.Tokens", p.Clear.Preview.Tokens),
		notBelow0("Clear.Behind", p.Clear.Behind), notBelow0("Clear.Idle", p.Clear.Idle),
		notBelow0("Clear.Rule.KeepStale", p.Clear.Rule.KeepStale), notBelow0("Clear.Rule.Arguments", p.Clear.Rule.Arguments),
		notBelow0("Clear.CostFactor", p.Clear.CostFactor), notBelow0("Clear.Loss", p.Clear.Loss),
		notBelow0("Replace.Index", p.Replace.Index), notBelow0("Branch.Reserve", p.Branch.Reserve),
		share("Background.Wait", p.Background.Wait), share("Background.Apply", p.Background.Apply),
		share("Clear.Share", p.Clear.Share), share("Cut.Share", p.Cut.Share), share("Replace.Share", p.Replace.Share), share("Replace.Pinned", p.Replace.Pinned),
		share("Cut.Limits.Results", p.Cut.Limits.Results), share("Cut.Limits.Arguments", p.Cut.Limits.Arguments),
		share("Cut.Limits.Head", p.Cut.Limits.Head),
	); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]CountBy{ByCount, ByReport, ByLarger}, p.Counting.By):
		return fmt.Errorf("summarize: Policy.Counting.By is %q: it must be %q, %q or %q", p.Counting.By, ByCount, ByReport, ByLarger)
	case !slices.Contains([]LastResort{ResortError, ResortTruncate, ResortDrop}, p.Overflow.LastResort):
		return fmt.Errorf("summarize: Policy.Overflow.LastResort is %q: it must be %q, %q or %q", p.Overflow.LastResort, ResortError, ResortTruncate, ResortDrop)
	case p.Replace.Max < 0 || p.Replace.Max > 0 && p.Replace.Max < MinWords:
		return fmt.Errorf("summarize: Policy.Replace.Max is %d: it must be %d tokens or more", p.Replace.Max, MinWords)
	}
	if err := p.Prices.Validate(); err != nil {
		return fmt.Errorf("summarize: Policy.Prices: %w", err)
	}
	return p.Ask.check()
}

// share returns an error that names a field of a policy if its number is not between 0 and 1.
func share(name string, v float64) error { return upTo(1, name, v) }

// upTo returns an error that names a field of a policy if its number is not between 0 and most.
func upTo(most float64, name string, v float64) error {
	if !(v >= 0 && v <= most) {
		return fmt.Errorf("summarize: Policy.%s is %v: it must be between 0 and %v", name, v, most)
	}
	return nil
}

// notBelow0 returns an error that names a field of a policy if its number or duration is below 0 or infinite.
func notBelow0[T int | time.Duration | float64](name string, v T) error {
	if !(v >= 0) || math.IsInf(float64(v), 1) {
		return fmt.Errorf("summarize: Policy.%s is %v: it must be 0 or more", name, v)
	}
	return nil
}

// WithDefaults returns the policy with its defaults written out, except those of Ask.Prompts and Replace.With,
// which package summarize/prompts declares.
func (p Policy) WithDefaults() Policy {
	p.Replace.Share = cmp.Or(p.Replace.Share, 0.2)
	p.Replace.Pinned = cmp.Or(p.Replace.Pinned, 0.1)
	p.Replace.Max = cmp.Or(p.Replace.Max, 10_000)
	p.Background.Timeout = cmp.Or(p.Background.Timeout, time.Minute)
	if p.Replace.FileTools == nil {
		p.Replace.FileTools = history.DefaultFileTools()
	}
	p.Ask = p.Ask.withDefaults()
	if len(p.Trigger) == 0 {
		p.Trigger = Trigger{{On: OnBudgetExceeded}}
	}
	return p
}

// WithEnv returns the policy with the ratios that its environment variables hold. [os.LookupEnv] is the usual lookup. A
// value that is not a ratio above 0 and up to 1 is an error.
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
			return fmt.Errorf("summarize: %s is %q: it must be a ratio above 0 and up to 1, such as 0.8", name, value)
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

// Base returns the smaller of the threshold and a context window, less the tokens of tools and a margin for them.
// The argument inPrompt says that the tools are in the prompt.
func (c Counting) Base(window, tools int, inPrompt bool) (int, error) {
	n, err := sizing.Window{Tokens: max(1, window), Threshold: c.Threshold, ToolsInPrompt: inPrompt}.Budget(tools)
	if err != nil {
		return 0, fmt.Errorf("summarize: Policy.Counting.Threshold: %w", err)
	}
	return n, nil
}

// BranchPolicy says how a branch is summarised when the session leaves it (summarize.Compactor.Navigate).
type BranchPolicy struct {
	// On makes a summary of each branch that is left. Off by default.
	On bool
	// Reserve is how many tokens of the context window the messages of the branch must leave free, at most half of the
	// window. Defaults to 16,384.
	Reserve int
	// Prompt to ask a model with. Defaults to prompts.BranchPrompt.
	Prompt Prompt
}

// Overflow says what to do about requests that the provider refused as too large, and about prompts that no compaction
// makes fit.
type Overflow struct {
	// LastResort says what to do about a prompt that no compaction makes fit, whatever the triggers are. Defaults to
	// [ResortError].
	LastResort LastResort
}

// LastResort says what to do about a prompt that nothing makes fit.
type LastResort string

// The last resorts.
const (
	// ResortError returns the error, unless history that is Droppable can be left out.
	ResortError LastResort = ""
	// ResortTruncate leaves the oldest messages out of the request ([history.Truncator]): those of the conversation first, then
	// what stands in front of it, such as the summary of an earlier compaction. The session keeps everything.
	ResortTruncate LastResort = "truncate"
	// ResortDrop renders once more. This time history may be dropped, the oldest rounds first, and pieces without a
	// priority may be pruned as their own properties say. The session keeps everything.
	ResortDrop LastResort = "drop"
)
