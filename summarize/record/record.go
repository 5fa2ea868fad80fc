// Package record collects the steps of a compactor for a page that shows them:
//
//	var recorder record.Recorder
//	compactor.OnEvent = recorder.Hear
//	…
//	result, err := compactor.Render(ctx, prompt)
//	…
//	response, err := compactor.Current().Generate(ctx, request)
//	…
//	err = recorder.Step(ctx, compactor, result, response)
//	…
//	err = recorder.Write(file, inspect.Options{Title: "Run"})
//
// A step costs a survey of its prompt ([render.Result.Survey]), which is about half of what the render cost, and a count of its messages.
package record

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/summarize"
)

// Recorder collects the steps of a compactor. The zero value has none. It is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	heard []summarize.Event // since the last step
	log   inspect.Log
}

// Hear takes an event up for the next step. It is meant for [summarize.Compactor.OnEvent].
func (r *Recorder) Hear(e summarize.Event) {
	switch e.Kind {
	case summarize.EventStarted, summarize.EventAnswered, summarize.EventReady, summarize.EventTitled, summarize.EventUsage:
		return // which others say more of
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, e)
}

// Step adds a step: a prompt that the compactor rendered, and the response to it, which may be the zero value. What the compactor decided
// last ([summarize.Compactor.Explain]) is taken to be of this step, so call it before the compactor renders again.
func (r *Recorder) Step(ctx context.Context, c *summarize.Compactor, result *render.Result, response chat.Response) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	target := c.Current()
	now, err := c.Session.Now(ctx)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	step := inspect.Step{
		Request: inspect.Request{Result: result, Model: target.Name, Tokenizer: target.Tokenizer, Tools: target.Tools, Prices: target.Prices},
		At:      now, Did: did(response.Message), Usage: response.Usage, Dollars: target.Prices.Of(response.Usage).Total(),
	}
	explained := c.Explain(ctx)
	if explained.Err != "" {
		step.Notes, explained.Err = append(step.Notes, "The compaction failed: "+explained.Err), ""
	}
	step.Explain = explained.String()
	for _, e := range r.heard {
		if err := take(ctx, &step, c, target, e); err != nil {
			return err
		}
	}
	if err := r.log.Add(ctx, step); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.heard = nil
	return nil
}

// take adds an event to a step.
func take(ctx context.Context, to *inspect.Step, c *summarize.Compactor, target summarize.Target, e summarize.Event) error {
	switch e.Kind {
	case summarize.EventDone:
		done := inspect.Compaction{Before: e.TokensBefore, After: e.TokensAfter, Reason: string(e.Reason), Why: e.Why, Mode: string(e.Mode), Model: e.Model}
		if e.Model == "" || e.Model == target.Name {
			done.Dollars = target.Prices.Of(e.Usage).Total()
		}
		entry, err := c.Session.Entry(ctx, e.Entry)
		if err != nil {
			return fmt.Errorf("record: reading compaction %s: %w", e.Entry, err)
		}
		before, after, err := around(ctx, c.Session, entry)
		if err != nil {
			return fmt.Errorf("record: reading compaction %s: %w", e.Entry, err)
		}
		done.Shown, done.Covered = entry.Compaction().Messages, gone(before, after)
		to.Compactions = append(to.Compactions, done)
	case summarize.EventCleared:
		to.Cleared += e.TokensBefore - e.TokensAfter
	case summarize.EventCacheBreak:
		to.Break = &inspect.CacheBreak{Why: e.Why, Tokens: e.Break.Tokens, Dollars: e.Break.Dollars}
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

// around returns what a model saw before and after an entry.
func around(ctx context.Context, s *history.Session, e history.Entry) (before, after history.View, err error) {
	if before, err = s.ViewAt(ctx, e.Parent); err == nil {
		after, err = s.ViewAt(ctx, e.ID)
	}
	return before, after, err
}

// gone returns the messages of a view that another does not have.
func gone(before, after history.View) (list []chat.Message) {
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

// key returns the same for messages of the same content.
func key(m chat.Message) string {
	text, _ := json.Marshal(m) // what a session holds always encodes
	return string(text)
}

// did says in a line what a message does.
func did(m chat.Message) string {
	var says []string
	for _, c := range m.ToolCalls {
		says = append(says, c.Name+" "+c.Arguments)
	}
	if len(says) == 0 {
		says = []string{m.Text()}
	}
	const most = 200
	line := []rune(strings.Join(strings.Fields(strings.Join(says, "; ")), " "))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return string(line)
}

// Write writes the page of the steps so far.
func (r *Recorder) Write(w io.Writer, o inspect.Options) error {
	return inspect.Session(w, &r.log, o)
}
