package folderagent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	steps "github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/record"
)

// Agent works on files with a model. Close it after use, because its policy may work in the background.
type Agent struct {
	// Model that decides what to do.
	Model chat.Model
	// ModelName is the model's name, by which the policy finds out what it needs. Unknown by default.
	ModelName string
	// Summarizer writes summaries when the window overflows; if it fails, Model does. Defaults to Model.
	Summarizer chat.Model
	// Session of the conversation.
	Session *history.Session
	// Tools that the model may call.
	Tools *Tools
	// Context is shown at the end of each prompt, where it may change from round to round without breaking the provider's
	// cache. Its text begins with the tag [ContextTag]. None by default.
	Context elements.Node
	// Sources is what the agent finds rather than is given. None by default.
	Sources Sources
	// Recall, if set, holds further tools, by which the model reads and searches the session.
	Recall *recall.Tools
	// Tokenizer of the model. It is not needed if Calibrated is set.
	Tokenizer chat.Tokenizer
	// Calibrated, if set, counts instead of Tokenizer, with its margin. It learns from the usage of each request.
	Calibrated *sizing.Calibrated
	// Window of the model.
	Window sizing.Window
	// MaxTokens of an answer. Defaults to the model's own limit.
	MaxTokens int
	// Policy of compaction. If the provider refuses a request as too large, the history is compacted even if the policy
	// has no condition for it.
	Policy policy.Policy
	// Prices of the model, for policies that decide by cost and for Costs, and those of Summarizer. None by default.
	Prices, SummaryPrices sizing.Prices
	// Pace is a pause after each round, for people who watch. None by default.
	Pace time.Duration
	// Stream is called with each piece of the model's answer as it arrives; see [chat.Request]. Summaries are not
	// streamed.
	Stream func(chat.Delta)
	// OnEvent is called with each step of a compaction, before a request is retried, and with tools that fail.
	OnEvent func(event.Event)
	// OnRound is called with each round, after its tools have run.
	OnRound func(Round)
	// Recorder records each round for a page. None by default.
	Recorder *record.Recorder

	compactor *summarize.Compactor
	rounds    int
	mu        sync.Mutex
	compacted []event.Event // compactions since the last report
	meter     Meter
}

// Round is one request to the model and its outcome.
type Round struct {
	// Number from 1.
	Number int
	// Did describes the model's answer in a few words.
	Did string
	// Tokens of the prompt with its tools, at most Budget.
	Tokens, Budget int
	// Usage as the model reported it; zero if it did not.
	Usage chat.Usage
	// Dropped pieces of the prompt.
	Dropped int
	// Compactions since the previous round.
	Compactions []event.Event
}

// longestWait is the longest wait that a provider may request.
const longestWait = time.Minute

// CutOffError is returned for an incomplete answer. The session holds the part that arrived.
type CutOffError struct {
	// Reason for which it ended.
	Reason chat.StopReason
}

func (e *CutOffError) Error() string {
	if e.Reason == chat.StopMaxTokens {
		return "the answer was cut off: it reached the token limit of an answer"
	}
	return "the provider filtered the answer"
}

// Ask answers one request of the user. The error for an incomplete answer is a [*CutOffError].
func (a *Agent) Ask(ctx context.Context, question string) (string, error) {
	if err := a.retarget(ctx); err != nil {
		return "", err // before the question is appended
	}
	agent := &steps.Agent{
		Compactor: a.compactor, Prompt: a.prompt(), Tools: a.Sources.toolboxes(a.Tools, a.Recall), MaxTokens: a.MaxTokens, Stream: a.Stream,
		Retry: steps.Retry{MaxWait: longestWait}, OnStep: a.onStep,
	}
	answer, err := agent.Run(ctx, question)
	if r := answer.Response.StopReason; err == nil && (r == chat.StopMaxTokens || r == chat.StopFiltered) {
		err = &CutOffError{Reason: r}
	}
	if err != nil {
		return "", err
	}
	return answer.Message().Text(), nil
}

// onStep reports a step, waits, and sets the budget of the next.
func (a *Agent) onStep(ctx context.Context, answer steps.Answer) error {
	if a.Recorder != nil {
		if err := a.Recorder.Step(ctx, a.compactor, answer.Result, answer.Response); err != nil {
			return err
		}
	}
	if err := a.report(ctx, answer); err != nil || len(answer.Message().ToolCalls) == 0 && !answer.GoOn {
		return err
	}
	if err := wait(ctx, a.Pace); err != nil {
		return err
	}
	return a.retarget(ctx)
}

// Costs returns the cost of the work so far.
func (a *Agent) Costs() Costs {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.meter.Costs()
}

// Close ends the policy's work in the background. The session stays open.
func (a *Agent) Close() error {
	if a.compactor == nil {
		return nil
	}
	return a.compactor.Close()
}

// retarget sets the budget of the next prompt. It is computed before each round, because the counts of a calibrated
// counter change from one round to the next.
func (a *Agent) retarget(ctx context.Context) error {
	target := summarize.Target{
		Model: a.Model, Name: a.ModelName, Tokenizer: a.tokenizer(), ContextWindow: a.Window.Tokens,
		Prices: a.Prices,
	}
	if a.Sources.Deferred == nil {
		target.Tools = a.Tools.Definitions()
	}
	var err error
	if target.Budget, err = a.Window.Budget(target.Tokenizer.CountTools(target.Tools)); err != nil {
		return err
	}
	if a.compactor != nil {
		return a.compactor.Retarget(ctx, target)
	}
	a.compactor = &summarize.Compactor{Session: a.Session, Target: target, Policy: a.policy(), Observers: []summarize.Observer{summarize.OnEvent(a.onEvent)}}
	if a.Recorder != nil {
		a.compactor.Observers = append(a.compactor.Observers, a.Recorder)
	}
	if a.Summarizer != nil {
		a.compactor.Models = map[string]summarize.Target{Summarizer: {Model: a.Summarizer, Prices: a.SummaryPrices}}
	}
	return nil
}

// tokenizer returns the tokenizer, with its margin if it is calibrated.
func (a *Agent) tokenizer() chat.Tokenizer {
	if a.Calibrated != nil {
		return a.Calibrated.Safe()
	}
	return a.Tokenizer
}

// Summarizer is the name of the model that writes summaries.
const Summarizer = "summarizer"

// policy returns the policy with this agent's additions.
func (a *Agent) policy() policy.Policy {
	p := a.Policy
	if p.Trigger = slices.Clone(p.Trigger); len(p.Trigger) == 0 {
		p.Trigger = policy.Trigger{{On: policy.OnBudgetExceeded}}
	}
	if len(p.Trigger.For(policy.OnContextLimit)) == 0 {
		p.Trigger = append(p.Trigger, policy.Condition{On: policy.OnContextLimit})
	}
	p.Ask.Attempts = max(p.Ask.Attempts, 4) // for failures that may pass
	if a.Summarizer != nil {
		p.Ask.Names = append([]string{Summarizer}, p.Ask.Names...)
	}
	return p
}

// onEvent records compactions for the next round's report.
func (a *Agent) onEvent(e event.Event) {
	a.mu.Lock()
	if e.Kind == event.Done {
		a.compacted = append(a.compacted, e)
	}
	a.meter.Prices, a.meter.SummaryPrices = a.Prices, a.SummaryPrices
	a.meter.AddEvent(e)
	a.mu.Unlock()
	if a.OnEvent != nil {
		a.OnEvent(e)
	}
}

// prompt returns the model's prompt.
func (a *Agent) prompt() elements.Node {
	s := a.Sources
	return el.Prompt(
		el.System(el.Priority(1000), el.Text(task, el.Required), el.If(s.Skills != nil, skills.Catalogue{Skills: s.Skills})),
		el.If(s.Instructions != nil, el.User(el.Required, s.Instructions)),
		history.Compacted{Session: a.Session, Props: el.Props(el.Priority(700))},
		el.If(s.Skills != nil, skills.Loaded{Skills: s.Skills}),
		el.If(s.Deferred != nil, tools.Found{Deferred: s.Deferred}),
		history.Conversation{Session: a.Session, TurnsOnly: true, Props: el.Props(el.Priority(700), el.Grow(1))},
		history.TurnStart{Session: a.Session, Props: el.Props(el.Priority(900), el.Grow(2))},
		history.TurnRounds{Session: a.Session, Props: el.Props(el.Priority(899), el.Grow(2))},
		a.Context,
	)
}

const task = `You survey a folder of files. Work in small steps, with the tools you are given, and answer from
what they return. Say what you do before you do it.`

// report adds up a round's cost and calls OnRound.
func (a *Agent) report(ctx context.Context, answer steps.Answer) error {
	result := answer.Result
	a.mu.Lock()
	compacted := a.compacted
	a.compacted = nil
	tools := a.tokenizer().CountTools(a.compactor.Current().Tools)
	a.meter.Prices = a.Prices
	err := a.meter.AddRequest(ctx, a.Session, a.tokenizer(), result.Tokens+tools, a.changing(result.Messages), answer.Response.Usage, time.Now())
	a.mu.Unlock()
	if a.rounds++; a.OnRound == nil || err != nil {
		return err
	}
	for i := range compacted { // sizes of requests, like those of the round
		compacted[i].TokensBefore += tools
		compacted[i].TokensAfter += tools
	}
	a.OnRound(Round{
		Number: a.rounds, Did: Describe(answer.Message()), Tokens: result.Tokens + tools, Budget: result.Budget + tools, Usage: answer.Response.Usage,
		Dropped: len(result.Report().Dropped()), Compactions: compacted,
	})
	return nil
}

// changing returns the tokens of the message with hints and excerpts.
func (a *Agent) changing(sent []chat.Message) int {
	if n := len(sent); n > 0 && strings.HasPrefix(sent[n-1].Text(), "<"+ContextTag) {
		return a.tokenizer().CountMessage(sent[n-1])
	}
	return 0
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
