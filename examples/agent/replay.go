package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/internal/agent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/record"
)

// replay renders and compacts a recorded session as the agent would have: before each message of the recorded model, it
// renders the prompt that the model would have received.
func replay(ctx context.Context, o options, recording *importer.Recording, session *history.Session, tokenizer chat.Tokenizer, window sizing.Window, recorder *record.Recorder, onRound func(agent.Round)) (agent.Costs, error) {
	budget, err := window.Budget(0)
	if err != nil {
		return agent.Costs{}, err
	}
	meter := agent.Meter{Prices: o.prices, SummaryPrices: o.summaryPrices}
	forecast := agent.Forecast{Tokenizer: tokenizer, Prices: o.prices}
	summarizer := agent.Foretold(models.Offline{Tokenizer: tokenizer}, &agent.Forecast{Tokenizer: tokenizer, Prices: o.summaryPrices})
	policy := o.compactBy()
	policy.Ask.Names = append([]string{agent.Summarizer}, policy.Ask.Names...)
	var mu sync.Mutex // events may come from the background
	var compacted []event.Event
	compactor := &summarize.Compactor{
		Session: session, Policy: policy,
		Models: map[string]summarize.Target{agent.Summarizer: {Model: summarizer, Prices: o.summaryPrices}},
		Target: summarize.Target{Model: summarizer, Tokenizer: tokenizer, Budget: budget, ContextWindow: window.Tokens, Prices: o.prices},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			mu.Lock()
			defer mu.Unlock()
			meter.AddEvent(e)
			if e.Kind == event.Done {
				compacted = append(compacted, e)
			}
		})},
	}
	if recorder != nil {
		compactor.Observers = append(compactor.Observers, recorder)
	}
	defer compactor.Close()
	prompt := stepping.Prompt(session)
	for step, err := range stepping.Steps(ctx, recording, session, stepping.Options{}) {
		switch {
		case ctx.Err() != nil:
			return meter.Costs(), context.Cause(ctx)
		case err != nil:
			return meter.Costs(), program.UsageError{Err: fmt.Errorf("%s: %w", o.session, err)}
		}
		rendered, err := compactor.Render(ctx, prompt)
		if err != nil {
			return meter.Costs(), fmt.Errorf("%s: line %d: %w", o.session, step.Line, err)
		}
		if err := chat.Validate(rendered.Messages); err != nil {
			return meter.Costs(), fmt.Errorf("%s: line %d: the prompt breaks a provider's rule: %w", o.session, step.Line, err)
		}
		at := step.Time
		if at.IsZero() { // as if no time had passed
			at = time.Unix(1, 0)
		}
		answer := chat.Response{Message: step.Answer, Usage: forecast.Usage(rendered.Messages, nil, step.Answer, at)}
		if recorder != nil {
			if err := recorder.Step(ctx, compactor, rendered, answer); err != nil {
				return meter.Costs(), fmt.Errorf("%s: line %d: %w", o.session, step.Line, err)
			}
		}
		if err := compactor.Wait(ctx); err != nil { // so that every run is the same
			return meter.Costs(), err
		}
		mu.Lock()
		err = meter.AddRequest(ctx, session, tokenizer, rendered.Tokens, 0, answer.Usage, at)
		made := compacted
		compacted = nil
		mu.Unlock()
		if err != nil {
			return meter.Costs(), err
		}
		onRound(agent.Round{
			Number: step.Number, Did: agent.Describe(step.Answer), Tokens: rendered.Tokens, Budget: budget,
			Dropped: len(rendered.Report().Dropped()), Compactions: made,
		})
	}
	return meter.Costs(), nil
}
