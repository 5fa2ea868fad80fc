// Package record collects the steps of a compactor and writes a page that shows them:
//
//	var recorder record.Recorder
//	compactor.Observers = append(compactor.Observers, &recorder)
//	…
//	result, err := compactor.Render(ctx, prompt)
//	…
//	response, err := summarize.Generate(ctx, compactor.Current(), request)
//	…
//	err = recorder.Step(ctx, compactor, result, response)
//	…
//	err = recorder.Write(file, inspect.Options{Title: "Run"})
//
// [Session] makes such steps from the log of a finished session.
//
// Each step costs a survey of its prompt ([render.Result.Survey]), which takes about half the time of the render, and a
// count of its messages.
package record

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Recorder is a [summarize.Observer] that collects the steps of a compactor. The zero value is ready to use. It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	events []event.Event // since the last step
	log    inspect.Steps
}

// Start does nothing.
func (r *Recorder) Start(context.Context, summarize.Work) context.Context { return nil }

// End does nothing.
func (r *Recorder) End(context.Context, *render.Result, error) {}

// Event records an event for the next step.
func (r *Recorder) Event(_ context.Context, e event.Event) {
	switch e.Kind {
	case event.Started, event.Answered, event.Ready, event.Titled, event.Usage:
		return // other events and the step itself say more
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Step adds a step: a prompt that the compactor rendered, and the response to it, which may be the zero value. Call it
// before the compactor renders again, because it records the compactor's last decision ([summarize.Compactor.Explain])
// as this step's. The functions change the step before it is added.
func (r *Recorder) Step(ctx context.Context, c *summarize.Compactor, result *render.Result, response chat.Response, more ...func(*inspect.Step)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	target := c.Current()
	now, err := c.Session.Now(ctx)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	step := inspect.Step{
		Rendered: inspect.Rendered{Result: result, Model: target.Name, Tokenizer: target.Tokenizer, Tools: target.Tools, Prices: target.Prices, Breakdown: c.Breakdown(ctx)},
		At:       now, Did: oneLine(response.Message), Usage: response.Usage, Dollars: target.Prices.Of(response.Usage).Total(),
	}
	explained := c.Explain(ctx)
	if explained.Err != "" {
		step.Notes, explained.Err = append(step.Notes, "The compaction failed: "+explained.Err), ""
	}
	step.Explain = explained.String()
	for _, change := range more {
		change(&step)
	}
	beside := step.Apart
	if target.Tokenizer != nil {
		beside += target.Tokenizer.CountTools(target.Tools)
	}
	for _, e := range r.events {
		if e.Kind == event.Done { // the tokens of the whole prompt, as the step's own
			e.TokensBefore, e.TokensAfter = e.TokensBefore+beside, e.TokensAfter+beside
		}
		if err := addEvent(ctx, &step, c, target, e); err != nil {
			return err
		}
	}
	if err := r.log.Add(ctx, step); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.events = nil
	return nil
}

// addEvent adds an event to a step.
func addEvent(ctx context.Context, to *inspect.Step, c *summarize.Compactor, target policy.Target, e event.Event) error {
	switch e.Kind {
	case event.Done:
		done := inspect.StepCompaction{Before: e.TokensBefore, After: e.TokensAfter, Reason: string(e.Reason), Why: e.Why, Mode: string(e.Mode), Model: e.Model}
		prices := to.Prices
		if other, named := c.Models[e.Model]; named && e.Model != target.Name {
			prices = other.Prices
		}
		done.Dollars = prices.Of(e.Usage).Total()
		found, err := c.Session.Entry(ctx, e.Entry)
		if err != nil {
			return fmt.Errorf("record: reading compaction %s: %w", e.Entry, err)
		}
		before, after, err := viewsAround(ctx, c.Session, found)
		if err != nil {
			return fmt.Errorf("record: reading compaction %s: %w", e.Entry, err)
		}
		done.Shown, done.Covered = found.Compaction().Messages, removed(before, after)
		to.Compactions = append(to.Compactions, done)
	case event.Cleared:
		to.Cleared, to.ClearedWhy = to.Cleared+e.TokensBefore-e.TokensAfter, cmp.Or(e.Why, to.ClearedWhy)
	case event.CacheBroken:
		to.Break = &inspect.StepCacheBreak{Why: e.Why, Tokens: e.Break.Tokens, Dollars: e.Break.Dollars}
	default:
		note := string(e.Kind)
		if e.Why != "" {
			note += ": " + e.Why
		}
		if e.Err != nil {
			note += ": " + e.Err.Error()
		}
		to.Notes = append(to.Notes, note)
	}
	return nil
}

// viewsAround returns the views before and after an entry.
func viewsAround(ctx context.Context, s *history.Session, e entry.Entry) (before, after history.View, err error) {
	if before, err = s.ViewAt(ctx, e.Parent); err == nil {
		after, err = s.ViewAt(ctx, e.ID)
	}
	return before, after, err
}

// removed returns the messages of before that after does not have.
func removed(before, after history.View) (list []chat.Message) {
	left := map[string]int{}
	for _, m := range after.Messages() {
		left[key(m)]++
	}
	for _, m := range before.Messages() {
		if k := key(m); left[k] > 0 {
			left[k]--
		} else {
			list = append(list, m)
		}
	}
	return list
}

// key returns a message as JSON, so that equal messages have equal keys.
func key(m chat.Message) string {
	text, _ := json.Marshal(m) // never fails for a message of a session
	return string(text)
}

// oneLine returns a message's calls, or its text, in one line of about 200 bytes.
func oneLine(m chat.Message) string {
	var texts []string
	for _, c := range m.ToolCalls {
		texts = append(texts, c.Name+" "+telling(c.Arguments))
	}
	if len(texts) == 0 {
		texts = []string{m.Text()}
	}
	return plaintext.OneLine(strings.Join(texts, "; "), 200)
}

// telling returns the arguments of a call with the one first by which people know the call: a path, a command, a pattern.
func telling(arguments string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return arguments
	}
	for _, name := range []string{"path", "file_path", "filePath", "filename", "command", "cmd", "pattern", "query", "url"} {
		var value string
		if json.Unmarshal(fields[name], &value) != nil || value == "" {
			continue
		}
		if delete(fields, name); len(fields) == 0 {
			return value
		}
		rest, err := json.Marshal(fields)
		if err != nil {
			return arguments
		}
		return value + " " + string(rest)
	}
	return arguments
}

// Write writes the page of the steps so far. Without steps the error is [inspect.ErrNoPrompts].
func (r *Recorder) Write(w io.Writer, o inspect.Options) error {
	return inspect.Session(w, &r.log, o)
}
