package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
)

// Agent works on files with a model.
type Agent struct {
	// Model that decides what to do.
	Model chat.Model
	// ModelName of it, by which the policy knows what it needs. Defaults to not known.
	ModelName string
	// Summarizer writes summaries when the window overflows. Defaults to Model.
	Summarizer chat.Model
	// Session that the work is kept in.
	Session *history.Session
	// Tools that the model may call.
	Tools *Tools
	// Tokenizer of the model. It may be left out where Calibrated is set.
	Tokenizer sizing.Tokenizer
	// Calibrated, where it is set, counts in place of Tokenizer, with its margin. It is told what each request took.
	Calibrated *sizing.Calibrated
	// Window of the model.
	Window sizing.Window
	// MaxTokens of an answer. Defaults to the model's own limit.
	MaxTokens int
	// Policy of compaction.
	Policy summarize.Policy
	// Pace waits after each round, for people who watch. Defaults to not at all.
	Pace time.Duration
	// Stream is told of what the model says while it says it; see [chat.Request]. Of summaries it is not told.
	Stream func(chat.Delta)
	// OnCompaction is told of each step of a compaction, as it happens.
	OnCompaction func(summarize.Event)
	// OnRound is told of each round, after its tools have run.
	OnRound func(Round)

	rounds    int
	ceiling   int               // tokens that a prompt may take, as a refusal has shown; 0 before there was one
	compacted []summarize.Event // since the last round was told
}

// Round tells of one request to the model and what came of it.
type Round struct {
	// Number from 1.
	Number int
	// Did says in a few words what the model did.
	Did string
	// Tokens of the prompt, at most Budget.
	Tokens, Budget int
	// Usage as the model reported it; zero where it did not.
	Usage chat.Usage
	// Dropped pieces of the prompt.
	Dropped int
	// Compactions made before the prompt fit.
	Compactions []summarize.Event
}

// maxRounds ends a turn whose model does not.
const maxRounds = 200

// CutOffError tells that an answer ended before it was whole. What there is of it is in the session.
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

// Ask works through one request of the user and gives the model's answer. One that is cut off is a [*CutOffError].
func (a *Agent) Ask(ctx context.Context, question string) (string, error) {
	definitions := a.Tools.Definitions()
	if _, err := a.compactor(definitions); err != nil {
		return "", err // before anything is said
	}
	if err := a.Session.Append(chat.UserMessage(question)); err != nil {
		return "", err
	}
	for range maxRounds {
		rendered, response, err := a.step(ctx, question, definitions)
		if err != nil {
			return "", err
		}
		if err := a.Session.Append(response.Message); err != nil {
			return "", err
		}
		for _, call := range response.Message.ToolCalls {
			if err := a.Session.Append(a.Tools.Run(ctx, call)); err != nil {
				return "", err
			}
		}
		a.tell(rendered, response)
		if len(response.Message.ToolCalls) == 0 {
			if r := response.StopReason; r == chat.StopMaxTokens || r == chat.StopFiltered {
				return "", &CutOffError{Reason: r}
			}
			return response.Message.Text(), nil
		}
		if err := wait(ctx, a.Pace); err != nil {
			return "", err
		}
	}
	return "", errors.New("the model does not come to an end")
}

// maxRefusals is how often a prompt is made smaller because the model found it too large.
const maxRefusals = 4

// step renders the prompt and asks the model. Where that finds the prompt larger than was counted, it is rendered to as
// much less, and so is every later one.
func (a *Agent) step(ctx context.Context, question string, definitions []chat.Tool) (*render.Result, chat.Response, error) {
	for refusals := 0; ; refusals++ {
		compactor, err := a.compactor(definitions)
		if err != nil {
			return nil, chat.Response{}, err
		}
		tokens := compactor.Budget
		rendered, err := compactor.Render(ctx, a.prompt(question))
		err = errors.Join(err, compactor.Close())
		if err == nil {
			tokens = rendered.Tokens
			req := chat.Request{Messages: rendered.Messages, Tools: definitions, MaxTokens: a.MaxTokens, Stream: a.Stream}
			var response chat.Response
			if response, err = a.Model.Generate(ctx, req); err == nil {
				if a.Calibrated != nil {
					a.Calibrated.Observe(req, response)
				}
				return rendered, response, nil
			}
			err = fmt.Errorf("asking the model: %w", err)
		}
		over, ok := errors.AsType[*chat.ContextLimitError](err)
		if !ok || refusals == maxRefusals {
			return nil, chat.Response{}, err
		}
		a.ceiling = lower(tokens, over)
	}
}

// lower is what to render to where so many tokens, by our count, were refused.
func lower(tokens int, over *chat.ContextLimitError) int {
	ratio := 0.75 // where the model does not say how far it is over
	if over.Limit > 0 && over.Tokens > over.Limit {
		const room = 0.95 // tokens by our count and by the model's are not of one size throughout
		ratio = room * float64(over.Limit) / float64(over.Tokens)
	}
	return max(1, int(ratio*float64(tokens)))
}

// compactor renders the next prompt. It is made for each, because what a calibrated counter says changes from one to the
// next, and so does the budget.
func (a *Agent) compactor(definitions []chat.Tool) (*summarize.Compactor, error) {
	tokenizer, summarizer := a.Tokenizer, a.Summarizer
	if a.Calibrated != nil {
		tokenizer = a.Calibrated.Safe()
	}
	if summarizer == nil {
		summarizer = a.Model
	}
	budget, err := a.Window.Budget(tokenizer.CountTools(definitions))
	if err != nil {
		return nil, err
	}
	if a.ceiling > 0 {
		budget = min(budget, a.ceiling)
	}
	policy := a.Policy // what lives for one prompt cannot work in the background
	policy.Trigger = slices.DeleteFunc(slices.Clone(policy.Trigger), func(c summarize.Condition) bool { return c.Background })
	return &summarize.Compactor{
		Session: a.Session, Model: summarizer, ModelName: a.ModelName, Tokenizer: tokenizer, Budget: budget, Tools: definitions, Policy: policy,
		OnEvent: func(e summarize.Event) {
			if e.Kind == summarize.EventDone {
				a.compacted = append(a.compacted, e)
			}
			if a.OnCompaction != nil {
				a.OnCompaction(e)
			}
		},
	}, nil
}

// prompt is what the model is shown. History is required and so never dropped: what gives way first is the excerpts,
// then the hints, and then the history is compacted.
func (a *Agent) prompt(question string) elements.Node {
	return elements.Fragment{
		elements.SystemMessage{Children: elements.Nodes{
			elements.TextChunk{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(instructions)}},
			elements.PrioritizedList{Props: elements.Props{Priority: new(20)}, Descending: true, Children: hints},
		}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: a.Session},
		elements.UserMessage{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Children: elements.Nodes{
			Excerpts{Props: elements.Props{Priority: new(10), FlexGrow: 1}, Tools: a.Tools},
			elements.TextChunk{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(question)}},
		}},
		history.Rounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: a.Session},
	}
}

const instructions = `You survey a folder of files. Work in small steps, with the tools you are given, and answer from
what they return. Say what you do before you do it.`

var hints = elements.Nodes{
	elements.Text("Start with an overview: list_files with the path \".\" lists the whole folder."),
	elements.Text("read_file takes a line offset and a limit; read large files in parts."),
	elements.Text("search takes a regular expression; without a path it looks through the whole folder."),
	elements.Text("Calls that do not depend on each other can be made in one step."),
}

// tell reports a round.
func (a *Agent) tell(rendered *render.Result, response chat.Response) {
	a.rounds++
	if a.OnRound != nil {
		a.OnRound(Round{
			Number: a.rounds, Did: Describe(response.Message), Tokens: rendered.Tokens, Budget: rendered.Budget, Usage: response.Usage,
			Dropped: len(rendered.Report().Dropped()), Compactions: a.compacted,
		})
	}
	a.compacted = nil
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
