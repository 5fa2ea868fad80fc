package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	steps "github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/record"
)

// Agent works on files with a model. Close it when it is not used any more: its policy may work in the background.
type Agent struct {
	// Model that decides what to do.
	Model chat.Model
	// ModelName by which the policy knows what the model needs. Not known by default.
	ModelName string
	// Summarizer writes summaries when the window overflows, and Model if it fails. Defaults to Model.
	Summarizer chat.Model
	// Session that the work is kept in.
	Session *history.Session
	// Tools that the model may call.
	Tools *Tools
	// Tokenizer of the model. It may be left out if Calibrated is set.
	Tokenizer chat.Tokenizer
	// Calibrated, if it is set, counts in place of Tokenizer, with its margin. It learns from what each request took.
	Calibrated *sizing.Calibrated
	// Window of the model.
	Window sizing.Window
	// MaxTokens of an answer. Defaults to the model's own limit.
	MaxTokens int
	// Policy of compaction. A request that the provider refuses as too large is answered with a compaction, whether or not
	// the policy has a condition for it.
	Policy summarize.Policy
	// Prices of the model, for policies that go by them and for Costs. None by default.
	Prices sizing.Prices
	// Pace is a wait after each round, for people who watch. None by default.
	Pace time.Duration
	// Stream is called with what the model says while it says it; see [chat.Request]. Summaries are not streamed.
	Stream func(chat.Delta)
	// OnRetry is called before a request is sent again because its failure may pass.
	OnRetry func(err error, wait time.Duration)
	// OnCompaction is called with each step of a compaction, as it happens.
	OnCompaction func(summarize.Event)
	// OnRound is called with each round, after its tools have run.
	OnRound func(Round)
	// Recorder takes each round up for a page. None by default.
	Recorder *record.Recorder

	compactor *summarize.Compactor
	rounds    int
	mu        sync.Mutex
	compacted []summarize.Event // since the last round was reported
	meter     Meter
}

// Round is one request to the model and what came of it.
type Round struct {
	// Number from 1.
	Number int
	// Did says in a few words what the model did.
	Did string
	// Tokens of the prompt, at most Budget.
	Tokens, Budget int
	// Usage as the model reported it; zero if it did not.
	Usage chat.Usage
	// Dropped pieces of the prompt.
	Dropped int
	// Compactions since the round before.
	Compactions []summarize.Event
}

// maxRounds ends a turn whose model does not.
const maxRounds = 200

// longestWait is the longest wait that a provider may ask for.
const longestWait = time.Minute

// CutOffError reports that an answer ended before it was whole. What there is of it is in the session.
type CutOffError struct {
	// Reason why it ended.
	Reason chat.StopReason
}

func (e *CutOffError) Error() string {
	if e.Reason == chat.StopMaxTokens {
		return "the answer was cut off: it reached the most tokens that an answer may take"
	}
	return "the provider filtered the answer"
}

// Ask works through one request of the user and returns the model's answer. One that is cut off is a [*CutOffError].
func (a *Agent) Ask(ctx context.Context, question string) (string, error) {
	if err := a.retarget(ctx); err != nil {
		return "", err // before anything is said
	}
	if err := a.Session.Append(ctx, chat.UserMessage(question)); err != nil {
		return "", err
	}
	agent := &steps.Agent{
		Compactor: a.compactor, Prompt: a.prompt(question), MaxTokens: a.MaxTokens, MaxWait: longestWait, Stream: a.Stream, OnRetry: a.OnRetry,
	}
	if a.Calibrated != nil {
		agent.Observe = a.Calibrated.Observe
	}
	for range maxRounds {
		answer, err := agent.Step(ctx)
		if err != nil {
			return "", err
		}
		if a.Recorder != nil {
			if err := a.Recorder.Step(ctx, a.compactor, answer.Result, answer.Response); err != nil {
				return "", err
			}
		}
		for _, call := range answer.Message().ToolCalls {
			if err := a.Session.Append(ctx, a.Tools.Run(ctx, call)); err != nil {
				return "", err
			}
		}
		if err := a.report(ctx, answer); err != nil {
			return "", err
		}
		switch {
		case answer.GoOn:
			agent.Prompt = a.prompt(a.Policy.Continue)
		case len(answer.Message().ToolCalls) == 0:
			if r := answer.Response.StopReason; r == chat.StopMaxTokens || r == chat.StopFiltered {
				return "", &CutOffError{Reason: r}
			}
			return answer.Message().Text(), nil
		}
		if err := wait(ctx, a.Pace); err != nil {
			return "", err
		}
		if err := a.retarget(ctx); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("the model does not come to an end in %d rounds: its window may be too small", maxRounds)
}

// Costs returns what the work cost up to now.
func (a *Agent) Costs() Costs {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.meter.Costs()
}

// Close ends what the policy does in the background. The session stays open.
func (a *Agent) Close() error {
	if a.compactor == nil {
		return nil
	}
	return a.compactor.Close()
}

// retarget sets what the next prompt must fit. It is worked out before each round, because what a calibrated counter counts
// changes from one to the next, and the budget with it.
func (a *Agent) retarget(ctx context.Context) error {
	target := summarize.Target{
		Model: a.Model, Name: a.ModelName, Tokenizer: a.tokenizer(), ContextWindow: a.Window.Tokens, Tools: a.Tools.Definitions(),
		Prices: a.Prices,
	}
	var err error
	if target.Budget, err = a.Window.Budget(target.Tokenizer.CountTools(target.Tools)); err != nil {
		return err
	}
	if a.compactor != nil {
		return a.compactor.Retarget(ctx, target)
	}
	a.compactor = &summarize.Compactor{Session: a.Session, Target: target, Policy: a.policy(), OnEvent: a.hear}
	if a.Summarizer != nil {
		a.compactor.Models = map[string]summarize.Target{summarizer: {Model: a.Summarizer}}
	}
	return nil
}

// tokenizer counts as safely as it can.
func (a *Agent) tokenizer() chat.Tokenizer {
	if a.Calibrated != nil {
		return a.Calibrated.Safe()
	}
	return a.Tokenizer
}

// summarizer is the name of the model that writes summaries.
const summarizer = "summarizer"

// policy returns the policy with what this agent adds to it.
func (a *Agent) policy() summarize.Policy {
	p := a.Policy
	if p.Trigger = slices.Clone(p.Trigger); len(p.Trigger) == 0 {
		p.Trigger = summarize.Trigger{{On: summarize.OnBudgetExceeded}}
	}
	if len(p.Trigger.For(summarize.OnContextLimit)) == 0 {
		p.Trigger = append(p.Trigger, summarize.Condition{On: summarize.OnContextLimit})
	}
	p.Overflow.Attempts = max(p.Overflow.Attempts, maxRefusals)
	p.Ask.Attempts = max(p.Ask.Attempts, 4) // if a failure may pass
	if a.Summarizer != nil {
		p.Ask.Names = append([]string{summarizer}, p.Ask.Names...)
	}
	return p
}

// maxRefusals is how often a prompt is made smaller because the provider found it too large.
const maxRefusals = 4

// hear keeps the compactions for the next round's report.
func (a *Agent) hear(e summarize.Event) {
	a.mu.Lock()
	if e.Kind == summarize.EventDone {
		a.compacted = append(a.compacted, e)
	}
	a.meter.Hear(e, a.tokenizer())
	a.mu.Unlock()
	if a.Recorder != nil {
		a.Recorder.Hear(e)
	}
	if a.OnCompaction != nil {
		a.OnCompaction(e)
	}
}

// prompt returns what the model is shown. The excerpts and the hints have priorities and go first, the excerpts before the hints;
// then the history is compacted.
func (a *Agent) prompt(question string) elements.Node {
	return el.Prompt(
		el.System(el.Priority(1000),
			el.Text(instructions, el.Required),
			el.Ranked(el.Priority(20), el.Each(hints, func(h string) el.Node { return el.Text(h) })),
		),
		history.Conversation{Session: a.Session, Props: el.Props(el.Priority(700), el.Grow(1))},
		el.User(el.Priority(900), el.Grow(2),
			Excerpts{Props: el.Props(el.Priority(10), el.Grow(1)), Tools: a.Tools},
			el.Text(question, el.Required),
		),
		history.TurnRounds{Session: a.Session, Props: el.Props(el.Priority(899), el.Grow(2))},
	)
}

const instructions = `You survey a folder of files. Work in small steps, with the tools you are given, and answer from
what they return. Say what you do before you do it.`

var hints = []string{
	"Start with an overview: list_files with the path \".\" lists the whole folder.",
	"read_file takes a line offset and a limit; read large files in parts.",
	"search takes a regular expression; without a path it looks through the whole folder.",
	"Calls that do not depend on each other can be made in one step.",
}

// report adds up what a round cost, and calls OnRound.
func (a *Agent) report(ctx context.Context, answer steps.Answer) error {
	result := answer.Result
	a.mu.Lock()
	compacted := a.compacted
	a.compacted = nil
	a.meter.Prices = a.Prices
	err := a.meter.Request(ctx, a.Session, a.tokenizer(), result, answer.Response, a.Tools.Definitions(), time.Now())
	a.mu.Unlock()
	if a.rounds++; a.OnRound == nil || err != nil {
		return err
	}
	a.OnRound(Round{
		Number: a.rounds, Did: Describe(answer.Message()), Tokens: result.Tokens, Budget: result.Budget, Usage: answer.Response.Usage,
		Dropped: len(result.Report().Dropped()), Compactions: compacted,
	})
	return nil
}

func wait(ctx context.Context, pace time.Duration) error {
	if pace > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(pace):
		}
	}
	return context.Cause(ctx)
}
