package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/policy"
)

// outcome is the result of a task under a policy.
type outcome struct {
	Task, Policy string
	Solved       bool
	Steps        int
	Input        int     // tokens, including those of requests for summaries
	Cached       int     // tokens of the input read from the cache
	Output       int     // tokens
	Dollars      float64 // 0 without prices
	LookBacks    int     // calls that ask again for something said before
	Compactions  int
	Err          string // why it ended early
}

// setting holds the model and its limits.
type setting struct {
	model     chat.Model
	name      string // of the model
	tokenizer chat.Tokenizer
	window    int
	prices    sizing.Prices
}

// answerTokens is the limit of an agent's answer. Requests for summaries have other limits, by which [reader]
// recognises them.
const answerTokens = 2_048

// play lets a model do a task under a policy, nil for none.
func play(ctx context.Context, t task, p *policy.Policy, with setting) outcome {
	out := outcome{Task: t.name, Policy: "none"}
	m := &meter{model: with.model, tokenizer: with.tokenizer, prices: with.prices}
	session := &history.Session{}
	world := newWorld(t, session)
	compactor := &summarize.Compactor{
		Session: session,
		Target: policy.Target{
			Model: m, Name: with.name, Tokenizer: with.tokenizer, Tools: world.declared(), ContextWindow: with.window, Prices: with.prices,
			Budget: with.window - with.tokenizer.CountTools(world.declared()) - answerTokens,
		},
	}
	if p != nil {
		out.Policy, compactor.Policy = p.Name, *p
		compactor.Policy.Continue = "" // the tasks continue by themselves
	} else {
		compactor.Policy.Off = true
		compactor.Target.Budget, compactor.Target.ContextWindow = math.MaxInt32, 0 // only the model refuses a request that is too large
	}
	defer compactor.Close()
	steps := &agent.Agent{
		Compactor: compactor, MaxTokens: answerTokens,
		Prompt: el.Prompt(
			el.System(el.Text("You do what the user asks, with the tools, one call at a time. "+
				"If something that was said before is not shown any more, ask the tools for it.")),
			history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
		),
	}
	answers, err := turns(ctx, t, session, steps, world, &out)
	switch {
	case err != nil:
		out.Err = firstLine(err)
	case len(answers) == len(t.asked):
		out.Solved = t.solved(answers)
	}
	if err := compactor.Close(); err != nil && out.Err == "" {
		out.Err = firstLine(err)
	}
	for e, err := range session.Entries(ctx) {
		if err == nil && e.Type() == entry.TypeCompaction {
			out.Compactions++
		}
	}
	out.LookBacks = world.lookBacks
	out.Input, out.Cached, out.Output, out.Dollars = m.usage.Input, m.usage.CacheRead, m.usage.Output, m.dollars
	return out
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

var errTooLong = errors.New("the model took too many steps")

// turns appends each message of the user, and lets the model call tools until it answers.
func turns(ctx context.Context, t task, session *history.Session, steps *agent.Agent, w *world, out *outcome) (answers []string, err error) {
	for _, asked := range t.asked {
		if err := session.Append(ctx, chat.UserMessage(asked)); err != nil {
			return answers, err
		}
		for {
			if out.Steps++; out.Steps > t.steps {
				return answers, errTooLong
			}
			answer, err := steps.Step(ctx)
			if err != nil {
				return answers, err
			}
			calls := answer.Message().ToolCalls
			if len(calls) == 0 {
				answers = append(answers, answer.Message().Text())
				break
			}
			for _, call := range calls {
				result, err := w.call(ctx, call)
				if err != nil {
					return answers, err
				}
				if err := session.Append(ctx, result); err != nil {
					return answers, err
				}
			}
		}
	}
	return answers, nil
}

// world runs the tools of a task, and counts look-backs.
type world struct {
	session   *history.Session
	tools     []function
	seen      map[string]bool // calls of tools that read
	lookBacks int
}

func newWorld(t task, session *history.Session) *world {
	w := &world{session: session, seen: map[string]bool{}}
	w.tools = append(w.tools, t.tools...)
	w.tools = append(w.tools, functionOf("search_log", "Searches everything that was said for words, and returns up to 5 messages with them.", false, nil, "words"))
	return w
}

func (w *world) declared() (list []chat.Tool) {
	for _, f := range w.tools {
		list = append(list, f.Tool)
	}
	return list
}

// call runs a tool. If the tool fails, the result tells the model why.
func (w *world) call(ctx context.Context, c chat.ToolCall) (chat.Message, error) {
	for _, f := range w.tools {
		if f.Name != c.Name {
			continue
		}
		var a arguments
		if err := json.Unmarshal([]byte(c.Arguments), &a); err != nil {
			return failed(c, fmt.Errorf("the arguments: %w", err)), nil
		}
		if f.call == nil {
			w.lookBacks++
			found, err := w.search(ctx, a.Words)
			return chat.ToolResult(c.ID, found), err
		}
		result, err := f.call(a)
		if err != nil {
			return failed(c, err), nil
		}
		if f.reads {
			key := fmt.Sprintf("%s %+v", c.Name, a)
			if w.seen[key] {
				w.lookBacks++
			}
			w.seen[key] = true
		}
		return chat.ToolResult(c.ID, result), nil
	}
	return failed(c, fmt.Errorf("there is no tool %q", c.Name)), nil
}

func failed(c chat.ToolCall, err error) chat.Message {
	m := chat.ToolResult(c.ID, err.Error())
	m.IsError = true
	return m
}

// search returns the first five messages that contain a text.
func (w *world) search(ctx context.Context, words string) (string, error) {
	var found []string
	for e, err := range w.session.Entries(ctx) {
		if err != nil {
			return "", err
		}
		m := e.Message()
		if text := m.Text(); e.Type() == entry.TypeMessage && words != "" && strings.Contains(text, words) && len(found) < 5 {
			found = append(found, string(m.Role)+": "+text[:min(len(text), 1000)])
		}
	}
	if len(found) == 0 {
		return "nothing was said with these words", nil
	}
	return strings.Join(found, "\n"), nil
}
