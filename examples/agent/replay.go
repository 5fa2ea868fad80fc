package main

import (
	"context"
	"fmt"
	"os"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/internal/agent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
)

// read reads a recorded session.
func read(file string) (*importer.Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	recording, err := importer.Read(f)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	return recording, nil
}

// replay puts a recorded session through the same rendering and compaction as the agent's: before each message of the
// recorded model, the prompt is rendered as it would have been sent.
func replay(ctx context.Context, file string, recording *importer.Recording, session *history.Session, tokenizer sizing.Tokenizer, window sizing.Window, onRound func(agent.Round)) error {
	budget, err := window.Budget(0)
	if err != nil {
		return err
	}
	var compacted []summarize.Event
	compactor := &summarize.Compactor{
		Session: session, Model: summarize.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: budget,
		Policy: summarize.Policy{Temperature: new(0.0)},
		OnEvent: func(e summarize.Event) {
			if e.Kind == summarize.EventDone {
				compacted = append(compacted, e)
			}
		},
	}
	prompt := elements.Fragment{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: session},
		history.Request{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: session},
		history.Rounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: session},
	}
	number := 0
	asked := false // somebody has spoken since the model did: a message cut off and tried again was no answer to a new request
	for entry, said := range recording.Conversation() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if said.Role == chat.RoleAssistant && asked {
			rendered, err := compactor.Render(ctx, prompt)
			if err != nil {
				return fmt.Errorf("%s: line %d: %w", file, entry.Line, err)
			}
			if err := chat.Validate(rendered.Messages); err != nil {
				return fmt.Errorf("%s: line %d: what would be sent breaks a provider's rule: %w", file, entry.Line, err)
			}
			number++
			onRound(agent.Round{
				Number: number, Did: agent.Describe(said), Tokens: rendered.Tokens, Budget: budget,
				Dropped: len(rendered.Report().Dropped()), Compactions: compacted,
			})
			compacted = nil
		}
		asked = said.Role != chat.RoleAssistant
		if err := session.Append(said); err != nil {
			return usageError{fmt.Errorf("%s: line %d: %w", file, entry.Line, err)}
		}
	}
	return nil
}
