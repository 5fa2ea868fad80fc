package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/replay/stepping"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// answering is a model that answers each request with the same summary, and does not keep the requests.
type answering struct{ step models.Step }

func (a answering) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	return a.step(ctx, req)
}

// budget is larger than any prompt, so that only the number of rounds causes a compaction.
const budget = 1 << 21

// agent appends a generated session to a log and renders a prompt in each step.
type agent struct {
	path    string
	rounds  int // maximum rounds of a view
	turn    int // rounds that answer a message of the user
	cache   *history.Cache
	speaker *speaker

	session   *history.Session
	compactor *summarize.Compactor
	prompt    elements.Node
	compacted bool // by the latest render
	entries   int  // of the session; growOne corrects it
	steps     int
	took      taken
}

// taken holds the times of steps and their parts.
type taken struct {
	step, compaction times
	add, view        times
}

// policy returns a policy that compacts a view that reaches its maximum of rounds to half of them.
func (a *agent) policy() policy.Policy {
	return policy.Policy{
		Name:    "bench",
		Trigger: policy.Trigger{{On: policy.OnRender, Messages: 2*a.rounds + a.rounds/a.turn + 1}},
		Cut:     history.Cut{Rounds: a.rounds / 2},
	}
}

// open opens the log and makes a compactor for it.
func (a *agent) open() error {
	s, err := history.Open(a.path, a.options())
	if err != nil {
		return err
	}
	a.session, a.prompt = s, stepping.Prompt(s)
	summary := strings.Repeat("The parser was mended, and its tests pass. The lexer is next. ", 40)
	a.compactor = &summarize.Compactor{
		Session: s, Policy: a.policy(),
		Target: policy.Target{
			Model: answering{models.SaySummary(summary)}, Name: "made-up", Tokenizer: sizing.Estimator{}, Budget: budget,
		},
		Hooks: summarize.Hooks{AfterCompact: func(context.Context, entry.Entry) error {
			a.compacted = true
			return nil
		}},
	}
	return nil
}

func (a *agent) options() history.Options {
	return history.Options{Cache: a.cache, File: storage.FileOptions{Sync: storage.SyncNever}}
}

func (a *agent) close() error {
	if a.session == nil {
		return nil
	}
	err := a.compactor.Close()
	if closeErr := a.session.Close(); err == nil {
		err = closeErr
	}
	a.session, a.compactor, a.prompt = nil, nil, nil
	return err
}

// step appends a round and renders the prompt for the next. In every other step it measures the parts instead of the
// whole, because measuring the parts takes time too.
func (a *agent) step(ctx context.Context) error {
	var added []entry.Entry
	if a.steps%a.turn == 0 {
		added = append(added, entry.Entry{Body: entry.Message{Message: a.speaker.question()}})
	}
	answer, result := a.speaker.round()
	usage := entry.Usage{Model: "made-up", Usage: chat.Usage{Input: 80_000, Output: 500, CacheRead: 79_000}, Counted: 80_000}
	added = append(added, entry.Entry{Body: entry.Message{Message: answer}}, entry.Entry{Body: usage})
	parts := a.steps%2 == 1
	a.steps++
	a.compacted = false

	begun := time.Now()
	if _, err := a.session.Add(ctx, added...); err != nil {
		return err
	}
	if err := a.session.Append(ctx, result); err != nil {
		return err
	}
	if parts {
		a.took.add.since(begun)
		if err := a.parts(ctx); err != nil {
			return err
		}
	}
	rendering := time.Now()
	prompt, err := a.compactor.Render(ctx, a.prompt)
	switch {
	case err != nil:
		return err
	case a.compacted:
		a.took.compaction.since(rendering)
		a.entries += 2 // the plan too
	case !parts:
		a.took.step.since(begun)
	}
	if len(prompt.Messages) < 3 {
		return fmt.Errorf("the prompt of step %d has %d messages", a.steps, len(prompt.Messages))
	}
	a.entries += len(added) + 1
	return nil
}

// parts measures what a render does with the session.
func (a *agent) parts(ctx context.Context) error {
	begun := time.Now()
	if _, err := a.session.View(ctx); err != nil {
		return err
	}
	a.took.view.since(begun)
	return nil
}

// shown returns the number of rounds in the view.
func (a *agent) shown(ctx context.Context) (rounds int, err error) {
	view, err := a.session.View(ctx)
	for _, t := range view.Turns {
		rounds += len(t.Rounds)
	}
	return rounds, err
}

// grow makes steps until the session has the given number of entries, and then until its view is full.
func (a *agent) grow(ctx context.Context, entries int) error {
	for {
		if err := a.step(ctx); err != nil {
			return err
		}
		if a.entries < entries {
			continue
		}
		if n, err := a.shown(ctx); err != nil || n >= a.rounds-1 {
			return err
		}
	}
}
