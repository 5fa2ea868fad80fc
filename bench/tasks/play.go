package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// outcome is the result of a run: a task under a policy, with a seed.
type outcome struct {
	Task, Policy string
	Seed         uint64
	About        fate // that the fact must have met
	Fate         fate // that it had met when the door was to be opened
	Shown        bool // the prompt showed the fact all the same, as in a summary
	Solved       bool // the door was opened, without a mistake
	Mistakes     int  // wrong and repeated actions
	LookBacks    int  // calls that read or search what was said
	Steps        int
	Compactions  int
	Input        int     // tokens, including those of requests for summaries
	Cached       int     // tokens of the input read from the cache
	Output       int     // tokens
	Dollars      float64 // 0 without prices
	Err          string  // why it ended early
}

// tested reports whether the run tested what its task is about.
func (o outcome) tested() bool { return o.Fate == o.About || o.Err != "" }

// add adds the counts of a run, and the first error.
func (o *outcome) add(r outcome) {
	o.Mistakes, o.LookBacks, o.Steps, o.Compactions = o.Mistakes+r.Mistakes, o.LookBacks+r.LookBacks, o.Steps+r.Steps, o.Compactions+r.Compactions
	o.Input, o.Cached, o.Output, o.Dollars = o.Input+r.Input, o.Cached+r.Cached, o.Output+r.Output, o.Dollars+r.Dollars
	o.Err = cmp.Or(o.Err, r.Err)
}

// setting holds the model and its limits.
type setting struct {
	model     chat.Model
	name      string // of the model
	tokenizer chat.Tokenizer
	window    int
	prices    sizing.Prices
	lookUp    string // what the model can look up with: recall, files or nothing
}

// The ways to look up.
const (
	withRecall  = "recall"  // the tools of package recall
	withFiles   = "files"   // a tool that reads files, among them the session's
	withNothing = "nothing" // no tool
)

const (
	// answerTokens is the limit of an agent's answer. Requests for summaries have other limits, by which [reader]
	// recognises them.
	answerTokens = 2_048
	maxSteps     = 150
)

// play lets a model do a task under a policy, the zero value for none.
func play(ctx context.Context, name string, seed uint64, p policy.Policy, with setting) outcome {
	t := newTask(name, seed, with.window)
	with.window = max(with.window, t.window)
	out := outcome{Task: t.name, Policy: cmp.Or(p.Name, none), Seed: seed, About: t.about}
	w := &world{task: t, tokenizer: with.tokenizer, size: min(with.window/16, 4000), room: 3 * with.window}
	err := w.play(ctx, p, with, &out)
	if err != nil {
		out.Err, _, _ = strings.Cut(err.Error(), "\n")
	}
	out.Mistakes, out.Solved = w.mistakes, w.open && w.mistakes == 0 && err == nil
	return out
}

// play makes the run.
func (w *world) play(ctx context.Context, p policy.Policy, with setting, out *outcome) (err error) {
	if with.lookUp == withFiles {
		if w.dir, err = os.MkdirTemp("", "tasks-"); err != nil {
			return err
		}
		defer os.RemoveAll(w.dir)
		w.session, err = history.Open(filepath.Join(w.dir, "s.jsonl"), history.Options{File: storage.FileOptions{Sync: storage.SyncNever}})
	} else {
		w.session, err = history.New(ctx, &storage.Memory{}, history.Options{Recall: with.lookUp == withRecall})
	}
	if err != nil {
		return err
	}
	defer w.session.Close()
	m := &meter{model: with.model, tokenizer: with.tokenizer, prices: with.prices}
	target := policy.Target{Model: m, Name: with.name, Tokenizer: with.tokenizer, Tools: w.declared(), ContextWindow: with.window, Prices: with.prices}
	target.Budget = with.window - with.tokenizer.CountTools(target.Tools) - answerTokens
	w.page = min(8000, target.Budget)
	p.Continue = "" // the tasks continue by themselves
	if p.Name == "" {
		p.Off, target.Budget, target.ContextWindow, w.room = true, math.MaxInt32, 0, with.window*3/4
	}
	steps := &agent.Agent{
		Compactor: &summarize.Compactor{Session: w.session, Policy: p, Target: target}, MaxTokens: answerTokens,
		Prompt: el.Prompt(
			el.System(el.Text("You do what the user asks, with the tools, one call at a time. You never guess a code. "+
				"If something that was said before is not shown any more, look it up if you have a tool for that.")),
			history.All{Session: w.session},
		),
	}
	if with.lookUp == withRecall {
		steps.Recall = &recall.Tools{}
	}
	err = errors.Join(w.turns(ctx, steps, out), steps.Compactor.Close())
	if _, failed := w.fate(ctx); err == nil {
		err = failed
	}
	out.Compactions = w.compactions
	out.Input, out.Cached, out.Output, out.Dollars = m.usage.Input, m.usage.CacheRead, m.usage.Output, m.dollars
	return err
}

var errTooLong = errors.New("the model took too many steps")

// turns plays all turns of the task. Before the last, it talks on until the fact has met the fate that the task is about,
// or cannot meet it any more.
func (w *world) turns(ctx context.Context, steps *agent.Agent, out *outcome) error {
	last := len(w.task.turns) - 1
	for _, turn := range w.task.turns[:last] {
		if err := w.turn(ctx, steps, turn, out); err != nil {
			return err
		}
	}
	for is, err := w.fate(ctx); w.room > 0 && is != w.task.about && is != covered; is, err = w.fate(ctx) {
		if err == nil {
			err = w.turn(ctx, steps, w.more(), out)
		}
		if err != nil {
			return err
		}
	}
	return w.turn(ctx, steps, w.task.turns[last], out)
}

// turn appends a message of the user, and lets the model call tools until it answers. It sets Fate and Shown, as of its
// first prompt.
func (w *world) turn(ctx context.Context, steps *agent.Agent, t turn, out *outcome) error {
	if t.said != "" {
		return w.session.Append(ctx, chat.UserMessage(t.asked), chat.AssistantMessage(t.said))
	}
	if err := w.session.Append(ctx, chat.UserMessage(t.asked)); err != nil {
		return err
	}
	for going, first := true, true; going; first = false {
		if out.Steps++; out.Steps > maxSteps {
			return errTooLong
		}
		answer, err := steps.Step(ctx)
		if err != nil {
			return err
		}
		w.prompt = answer.Result.Messages
		if first {
			if out.Fate, err = w.fate(ctx); err != nil {
				return err
			}
			out.Shown = w.shown(t)
		}
		for _, call := range answer.Message().ToolCalls {
			if history.IsLookUp(call.Name) || call.Name == fileTool {
				out.LookBacks++
			}
		}
		for _, call := range answer.Open {
			if err := w.session.Append(ctx, w.call(call)); err != nil {
				return err
			}
		}
		going = len(answer.Open) > 0 || answer.GoOn
	}
	return nil
}

// shown reports whether the latest prompt shows the facts before the message of a turn.
func (w *world) shown(t turn) bool {
	text, _, _ := strings.Cut(textOf(w.prompt), t.asked)
	for _, fact := range w.task.facts {
		if !strings.Contains(text, fact) {
			return false
		}
	}
	return true
}

// fate returns what happened to the words of the last fact, and counts compactions.
func (w *world) fate(ctx context.Context) (fate, error) {
	w.compactions = 0
	fact := w.task.facts[len(w.task.facts)-1]
	at, found, n, is := map[string]int{}, entry.Entry{}, 0, intact
	for e, err := range w.session.Entries(ctx) {
		if err != nil {
			return is, err
		}
		n++
		at[e.ID] = n
		switch body := e.Body.(type) {
		case entry.Message:
			if found.ID == "" && strings.Contains(e.Text(), fact) {
				found = e
			}
		case entry.Clearing:
			for _, r := range body.Results {
				if r.Entry == found.ID && !body.Preview && is != covered {
					is = cleared
				}
			}
		case entry.Compaction:
			w.compactions++
			if b := cmp.Or(at[body.Boundary()], n); found.ID != "" && at[found.ID] < b {
				is = covered
			}
		}
	}
	for _, m := range w.prompt {
		if is == intact && m.ToolCallID != "" && m.ToolCallID == found.Message().ToolCallID && !strings.Contains(m.Text(), fact) {
			is = clipped
		}
	}
	return is, nil
}
