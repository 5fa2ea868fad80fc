package agent

import (
	"context"
	"errors"
	"fmt"
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
	// Summarizer writes summaries when the window overflows.
	Summarizer chat.Model
	// Session that the work is kept in.
	Session *history.Session
	// Tools that the model may call.
	Tools *Tools
	// Tokenizer and Window of the model.
	Tokenizer sizing.Tokenizer
	Window    sizing.Window
	// Policy of compaction.
	Policy summarize.Policy
	// Pace waits after each round, for people who watch. Defaults to not at all.
	Pace time.Duration
	// OnRound is told of each round.
	OnRound func(Round)

	rounds    int
	compactor *summarize.Compactor
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
	// Dropped pieces of the prompt.
	Dropped int
	// Compactions made before the prompt fit.
	Compactions []summarize.Event
}

// maxRounds ends a turn whose model does not.
const maxRounds = 200

// Ask works through one request of the user and gives the model's answer.
func (a *Agent) Ask(ctx context.Context, question string) (string, error) {
	definitions := a.Tools.Definitions()
	budget, err := a.Window.Budget(a.Tokenizer.CountTools(definitions))
	if err != nil {
		return "", err
	}
	if a.compactor == nil {
		a.compactor = &summarize.Compactor{
			Session: a.Session, Model: a.Summarizer, Tokenizer: a.Tokenizer, Budget: budget, Tools: definitions, Policy: a.Policy,
			OnEvent: func(e summarize.Event) {
				if e.Kind == summarize.EventDone {
					a.compacted = append(a.compacted, e)
				}
			},
		}
	}
	if err := a.Session.Append(chat.UserMessage(question)); err != nil {
		return "", err
	}
	for range maxRounds {
		rendered, err := a.compactor.Render(ctx, a.prompt(question))
		if err != nil {
			return "", err
		}
		response, err := a.Model.Generate(ctx, chat.Request{Messages: rendered.Messages, Tools: definitions})
		if err != nil {
			return "", fmt.Errorf("asking the model: %w", err)
		}
		if err := a.Session.Append(response.Message); err != nil {
			return "", err
		}
		for _, call := range response.Message.ToolCalls {
			if err := a.Session.Append(a.Tools.Run(ctx, call)); err != nil {
				return "", err
			}
		}
		a.tell(rendered, response.Message)
		if len(response.Message.ToolCalls) == 0 {
			return response.Message.Text(), nil
		}
		if err := wait(ctx, a.Pace); err != nil {
			return "", err
		}
	}
	return "", errors.New("the model does not come to an end")
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
func (a *Agent) tell(rendered *render.Result, said chat.Message) {
	a.rounds++
	if a.OnRound != nil {
		a.OnRound(Round{
			Number: a.rounds, Did: Describe(said), Tokens: rendered.Tokens, Budget: rendered.Budget,
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
