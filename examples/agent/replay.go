package main

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/internal/agent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/regular"
	"github.com/promptree-go/promptree/internal/stepping"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/record"
)

// read reads a recorded session.
func read(file string) (*importer.Recording, error) {
	f, err := regular.Open(file)
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
func replay(ctx context.Context, file string, recording *importer.Recording, session *history.Session, tokenizer chat.Tokenizer, window sizing.Window, recorder *record.Recorder, onRound func(agent.Round)) error {
	budget, err := window.Budget(0)
	if err != nil {
		return err
	}
	var compacted []summarize.Event
	compactor := &summarize.Compactor{
		Session: session,
		Target:  summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: budget, ContextWindow: window.Tokens},
		OnEvent: func(e summarize.Event) {
			if e.Kind == summarize.EventDone {
				compacted = append(compacted, e)
			}
			if recorder != nil {
				recorder.Hear(e)
			}
		},
	}
	defer compactor.Close()
	prompt := stepping.Prompt(session)
	for step, err := range stepping.Steps(ctx, recording, session, stepping.Options{}) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return usageError{fmt.Errorf("%s: %w", file, err)}
		}
		rendered, err := compactor.Render(ctx, prompt)
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", file, step.Line, err)
		}
		if recorder != nil {
			if err := recorder.Step(ctx, compactor, rendered, chat.Response{Message: step.Answer}); err != nil {
				return fmt.Errorf("%s: line %d: %w", file, step.Line, err)
			}
		}
		if err := chat.Validate(rendered.Messages); err != nil {
			return fmt.Errorf("%s: line %d: what would be sent breaks a provider's rule: %w", file, step.Line, err)
		}
		onRound(agent.Round{
			Number: step.Number, Did: agent.Describe(step.Answer), Tokens: rendered.Tokens, Budget: budget,
			Dropped: len(rendered.Report().Dropped()), Compactions: compacted,
		})
		compacted = nil
	}
	return nil
}
