package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/record"
)

// readRecording reads a recorded session from a file, or from the standard input for "-".
func readRecording(path string) (*importer.Recording, error) {
	in := os.Stdin
	if path != "-" {
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() { // opening a pipe may wait
			err = fmt.Errorf("%s is not a regular file: name another", path)
		}
		if err == nil {
			in, err = os.Open(path)
		}
		if err != nil {
			return nil, folderagent.UsageError{Err: err}
		}
		defer in.Close()
	}
	recording, err := importer.Read(in)
	if err != nil {
		return nil, folderagent.UsageError{Err: fmt.Errorf("%s: %w", path, err)}
	}
	return recording, nil
}

// replay renders and compacts a recorded session as the agent would have: before each message of the recorded model, it
// renders the prompt that the model would have received.
func replay(ctx context.Context, o options, recording *importer.Recording, session *history.Session, tokenizer chat.Tokenizer, window sizing.Window, recorder *record.Recorder, onRound func(folderagent.Round)) (folderagent.Costs, error) {
	budget, err := window.Budget(0)
	if err != nil {
		return folderagent.Costs{}, err
	}
	meter := folderagent.Meter{Prices: o.prices, SummaryPrices: o.summaryPrices}
	forecast := folderagent.Forecast{Tokenizer: tokenizer, Prices: o.prices}
	summarizer := folderagent.Foretold(models.Offline{Tokenizer: tokenizer}, &folderagent.Forecast{Tokenizer: tokenizer, Prices: o.summaryPrices})
	policy := o.compactBy()
	policy.Ask.Names = append([]string{folderagent.Summarizer}, policy.Ask.Names...)
	var mu sync.Mutex // events may come from the background
	var compacted []event.Event
	compactor := &summarize.Compactor{
		Session: session, Policy: policy,
		Models: map[string]summarize.Target{folderagent.Summarizer: {Model: summarizer, Prices: o.summaryPrices}},
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
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent."), el.Required),
		history.Conversation{Session: session, Props: el.Props(el.Priority(700), el.Grow(1))},
		history.TurnStart{Session: session, Props: el.Props(el.Priority(900), el.Grow(2))},
		history.TurnRounds{Session: session, Props: el.Props(el.Priority(899), el.Grow(2))},
	)
	number := 0
	request := func(record importer.Record, message chat.Message) error {
		number++
		rendered, err := compactor.Render(ctx, prompt)
		if err == nil {
			err = chat.Validate(rendered.Messages)
		}
		if err != nil {
			return err
		}
		at := record.Time
		if at.IsZero() { // as if no time had passed
			at = time.Unix(1, 0)
		}
		answer := chat.Response{Message: message, Usage: forecast.Usage(rendered.Messages, nil, message, at)}
		if recorder != nil {
			if err := recorder.Step(ctx, compactor, rendered, answer); err != nil {
				return err
			}
		}
		if err := compactor.Wait(ctx); err != nil { // so that every run is the same
			return err
		}
		mu.Lock()
		err = meter.AddRequest(ctx, session, tokenizer, rendered.Tokens, 0, answer.Usage, at)
		made := compacted
		compacted = nil
		mu.Unlock()
		if err != nil {
			return err
		}
		onRound(folderagent.Round{
			Number: number, Did: folderagent.Describe(message), Tokens: rendered.Tokens, Budget: budget,
			Dropped: len(rendered.Report().Dropped()), Compactions: made,
		})
		return nil
	}
	asked := false // somebody has spoken since the model did
	for record, message := range recording.Conversation() {
		if ctx.Err() != nil {
			return meter.Costs(), context.Cause(ctx)
		}
		answers := asked && message.Role == chat.RoleAssistant
		asked = message.Role != chat.RoleAssistant
		if answers {
			if err := request(record, message); err != nil {
				return meter.Costs(), fmt.Errorf("%s: line %d: %w", o.session, record.Line, err)
			}
		}
		body := record.Body
		if summary, ok := body.(entry.BranchSummary); ok {
			summary.From = "" // the other branch is not in the session
			body = summary
		}
		if _, err := session.Add(context.WithoutCancel(ctx), entry.Entry{Time: record.Time, Body: body}); err != nil {
			return meter.Costs(), folderagent.UsageError{Err: fmt.Errorf("%s: line %d: %w", o.session, record.Line, err)}
		}
	}
	return meter.Costs(), nil
}
