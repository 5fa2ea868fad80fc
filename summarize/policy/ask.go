package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/promptree-go/promptree/internal/worded"
)

// Ask says whom to ask for summaries, and how.
type Ask struct {
	// Prompts to ask with, in order: the next one is used if no model returned a usable summary. Defaults to
	// prompts.FullPrompt and prompts.SimplePrompt.
	Prompts []Prompt
	// Mode limits Prompts to those of this mode and those that fork the agent's request. Defaults to [ModeAuto], which
	// allows all.
	Mode Mode
	// Routes choose a model to ask by the agent's model; the first route that matches is used.
	Routes []Route
	// Names of models in summarize.Compactor.Models to ask, in this order. An event reports a name that is not there, and it is
	// skipped. The agent's own model is asked last, and alone if no other is named.
	Names []string
	// Cheapest asks the models in the order of the cost of a summary, by their prices. It adds to Names the other
	// models of summarize.Compactor.Models that have prices. The agent's own model takes part, with the price of its cached
	// prompt if the first of Prompts forks its request. Off by default.
	Cheapest bool
	// Whole puts a summary in place only if it covers everything that its plan covers. By default, if the prompt does not fit
	// while a summary is being made in segments, or after that failed, the summary of the segments that were answered is
	// put in place, if the prompt fits with it, or would be sent without history in any case.
	Whole bool
	// Timeout of each request. A compaction with all its requests has no limit, but it ends if none of them ends within twice
	// this time. If nothing can be sent without a summary, the timeout of the model that is asked last doubles with each
	// compaction that failed before, up to half an hour. Defaults to 5 minutes.
	Timeout time.Duration
	// Attempts is the most times that a request is made if it fails with a [*chat.TransientError], and of a compaction after
	// n that failed the (n+1)th part of it, at least one. Defaults to one. All waits of a compaction together last at most
	// RetryWait.
	Attempts int
	// RetryWait is the longest total time that a compaction waits between attempts. Defaults to 5 seconds.
	RetryWait time.Duration
	// MinChars is the fewest characters (code points) of an answer. None by default.
	MinChars int
	// MaxTokens is the most tokens that a model may answer. A request asks for fewer if the summary's room, plus an
	// allowance for thinking and analysis, is smaller. No limit by default.
	MaxTokens int
	// Temperature of each request. Defaults to the model's own.
	Temperature *float64
	// SimpleResult is a lower bound, in tokens, for prompts that clip tool results: no result is clipped below it.
	// Defaults to 200.
	SimpleResult int
	// Judge says which answers have the form of a summary. A summary must also fit its room and be smaller than what it
	// replaces.
	Judge Judge
	// Quirks of the agent's model, by its name.
	Quirks []Quirk
}

// Judge says which answers have the form of a summary. Answers without it are asked for in another way: with the next
// prompt, by the next model. What is text of some length and lacks the form in one respect only is used if no other answer
// is better ([entry.Compaction].Doubt); so is one that begins or ends as talk does, in English: "Let me", "I can't", "do you
// want …?". Summaries of hooks, titles, and the result of a provider's own compaction are not judged.
type Judge struct {
	// Off takes every answer that is not empty, cut off or filtered, for summaries of a form of their own, such as a line or
	// JSON. Off by default.
	Off bool
	// Floor and Short are characters (code points). An answer of fewer than a twenty-fifth of what it covers is never used
	// up to Floor, and is doubtful up to Short, as is one of fewer than a twenty-fifth of its room. Outside the tag that
	// was asked for, without any file or name in code of what it covers, it is doubtful at any length, and if it has no heading
	// either it is never used up to twice Short. They default to 200 and 400. The floor is 30 in any case, and not above a
	// quarter of the room.
	Floor, Short int
	// Repeated is the largest part of an answer that it may have said before, from 0 to 1. Defaults to 0.6.
	Repeated float64
}

// Route names the model that summarises for agents whose own model matches a pattern.
type Route struct {
	// Agents are patterns of model names, for example "claude-opus*". They match by family: case and a provider's
	// prefix do not count.
	Agents []string
	// Model is the name of the model to ask, in summarize.Compactor.Models.
	Model string
}

// Quirk holds what models whose names match a pattern need.
type Quirk struct {
	// Models are patterns of model names, for example "claude-opus*". They match by family: case and a provider's
	// prefix do not count.
	Models []string
	// Note is added to the request for a summary.
	Note string
	// Reminder is added after the summary, for the agent's model.
	Reminder string
	// Thinking keeps the newest covered thinking of the turn that is cut: the kept part of that turn begins with it,
	// unless it begins with thinking of its own ([entry.Compaction]). It is for providers that check thinking and
	// want some at the start of the calls that continue. Some models, such as Claude's newest, accept thinking only
	// after exactly the messages that it followed, and therefore not after a summary. For them it is dropped (see
	// anthropic.Thinking.DropStale).
	Thinking bool
	// WithoutTools names tools whose calls and results are not shown to the model that summarises.
	WithoutTools []string
}

func (a Ask) withDefaults() Ask {
	a.Timeout = cmp.Or(a.Timeout, 5*time.Minute)
	a.RetryWait = cmp.Or(a.RetryWait, 5*time.Second)
	a.SimpleResult = cmp.Or(a.SimpleResult, 200)
	a.Judge.Floor = cmp.Or(a.Judge.Floor, 200)
	a.Judge.Short = cmp.Or(a.Judge.Short, 400)
	a.Judge.Repeated = cmp.Or(a.Judge.Repeated, 0.6)
	return a
}

func (a Ask) check() error {
	modes := []Mode{ModeFull, ModeSimple} // of the default prompts
	if len(a.Prompts) > 0 {
		modes = make([]Mode, len(a.Prompts))
		for i, p := range a.Prompts {
			modes[i] = p.Mode
		}
	}
	switch {
	case a.Mode != ModeAuto && !slices.Contains(modes, a.Mode):
		return fmt.Errorf("summarize: Policy.Ask.Mode is %q: its prompts have the modes %q", a.Mode, modes)
	case a.Temperature != nil && !(*a.Temperature >= 0 && !math.IsInf(*a.Temperature, 1)):
		return fmt.Errorf("summarize: Policy.Ask.Temperature is %v: it must be 0 or more", *a.Temperature)
	}
	return errors.Join(
		notBelow0("Ask.Timeout", a.Timeout), notBelow0("Ask.RetryWait", a.RetryWait),
		notBelow0("Ask.Attempts", a.Attempts), notBelow0("Ask.MinChars", a.MinChars), notBelow0("Ask.MaxTokens", a.MaxTokens),
		notBelow0("Ask.SimpleResult", a.SimpleResult), notBelow0("Ask.Judge.Floor", a.Judge.Floor), notBelow0("Ask.Judge.Short", a.Judge.Short),
		share("Ask.Judge.Repeated", a.Judge.Repeated),
	)
}

// TimeoutError reports that a model or a caller's function took too long. It matches [context.DeadlineExceeded].
type TimeoutError struct {
	// Name of the function or work that did not return in time.
	Name string
	// After is its time limit.
	After time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("summarize: %s did not return within %v", e.Name, e.After)
}

// Is reports whether the target is [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// SummaryError says why an answer cannot be used as a summary.
type SummaryError struct {
	// Reason in words.
	Reason string
	// Doubtful reports that the answer is used if no other prompt or model gives a better one.
	Doubtful bool
}

func (e *SummaryError) Error() string { return "summarize: the answer cannot be used: " + e.Reason }

// CandidateError reports that a model that was asked for a summary failed.
type CandidateError struct {
	// Model is the model's name, "" for the agent's own model without a name.
	Model string
	// Mode in which it was asked.
	Mode Mode
	// Err is the failure.
	Err error
}

func (e *CandidateError) Error() string {
	return fmt.Sprintf("summarize: %s, %s mode: %s", cmp.Or(e.Model, "the agent's model"), e.Mode, worded.Unprefixed("summarize", e.Err))
}

// Unwrap returns Err.
func (e *CandidateError) Unwrap() error { return e.Err }
