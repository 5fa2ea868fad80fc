package summarize

import (
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Models say who is asked for summaries, by names that [Compactor.Models] resolves. The agent's own model is asked last, and
// alone where nobody else is named.
type Models struct {
	// Routes name models for agents of some models; the first that fits counts.
	Routes []Route
	// Names of models that are asked in this order, each where the one before it failed.
	Names []string
	// Timeout of each. Defaults to none.
	Timeout time.Duration
	// Attempts of each where a failure may pass ([Retry]). Defaults to one.
	Attempts int
	// Next tells after which failures the next model is asked. Defaults to all; [Transient] is one such rule.
	Next func(error) bool
	// MinChars that an answer must have, or the next model is asked. Defaults to none.
	MinChars int
	// MaxTokens of an answer. Defaults to twice the room for the summary, for an analysis may come first. What a model thinks
	// before it answers is taken out of it too, unless its adapter adds a budget for that: set more for a model that thinks
	// long, or its answer is cut off, which is a refusal.
	MaxTokens int
}

// Route names the model that summarises for agents of some models.
type Route struct {
	// Agents are patterns of names, such as "claude-opus*" (path.Match).
	Agents []string
	// Model that is asked.
	Model string
}

// Quirk is what the models of some names need.
type Quirk struct {
	// Models are patterns of names, such as "claude-opus*" (path.Match).
	Models []string
	// Note is said to the model that summarises.
	Note string
	// Reminder stands after the summary.
	Reminder string
	// Thinking keeps the last thinking that is covered of the turn that is cut: what is kept of that turn begins with it,
	// where it begins with none of its own ([history.Compaction]). It is for providers that check thinking and want some
	// at the start of the calls that go on. One that takes thinking only behind all that it was thought after, as the newest
	// models of Claude's do, refuses any that stands behind a summary, this and what is kept, unless it is told to drop it:
	// package render/anthropic says how.
	Thinking bool
	// WithoutTools names tools whose calls, with their results, are not shown to the model that summarises.
	WithoutTools []string
}

func fits(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return sameFamily(p, name) })
}

// model that is asked for summaries.
func (c *Compactor) model(p Policy) chat.Model {
	var names []string
	for _, r := range p.Models.Routes {
		if fits(r.Agents, c.ModelName) {
			names = append(names, r.Model)
			break
		}
	}
	names = append(names, p.Models.Names...)
	candidate := func(name string, m chat.Model) Candidate {
		if p.Models.Attempts > 1 {
			m = Retry{Model: m, Attempts: p.Models.Attempts}
		}
		return Candidate{Name: name, Model: m, Timeout: p.Models.Timeout}
	}
	cascade := Cascade{Last: candidate(c.ModelName, c.Model), Next: p.Models.Next}
	for _, name := range names {
		if m := c.Models[name]; m != nil {
			cascade.Candidates = append(cascade.Candidates, candidate(name, m))
		}
	}
	if p.Models.MinChars > 0 {
		cascade.Accept = Accept(AtLeast(p.Models.MinChars))
	}
	if len(cascade.Candidates) == 0 && p.Models.Timeout == 0 && p.Models.Attempts <= 1 && p.Models.MinChars == 0 {
		return c.Model
	}
	return cascade
}

// quirks put what the models need into a job.
func (c *Compactor) quirks(j *job) {
	for _, q := range j.policy.Quirks {
		if !fits(q.Models, c.ModelName) {
			continue
		}
		if q.Note != "" {
			j.material.Notes = append(j.material.Notes, q.Note)
		}
		if q.Reminder != "" {
			j.material.Reminder = q.Reminder
		}
		if len(q.WithoutTools) > 0 {
			for i, u := range j.covered {
				j.covered[i].messages = withoutTools(u.messages, q.WithoutTools)
			}
			j.covered = slices.Clone(j.covered)
		}
	}
}

// thinking is what the model thought last of what a job covers, where what is kept begins with it.
func (c *Compactor) thinking(j *job) []chat.Thinking {
	wanted := slices.ContainsFunc(j.policy.Quirks, func(q Quirk) bool { return q.Thinking && fits(q.Models, c.ModelName) })
	if first := j.kept[0]; !wanted || first.user || len(thoughts(first.messages[0])) > 0 {
		return nil
	}
	for _, u := range slices.Backward(j.covered) {
		if u.user {
			break // another turn
		}
		if list := thoughts(u.messages[0]); len(list) > 0 {
			return list
		}
	}
	return nil
}

// thoughts are the thinking that a message is sent with. They are kept together, for a provider takes them whole or not.
func thoughts(m chat.Message) []chat.Thinking {
	var list []chat.Thinking
	for _, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok {
			list = append(list, t)
		}
	}
	return list
}

// withoutTools leaves the calls of some tools out, with their results. What is left of a message may be nothing.
func withoutTools(messages []chat.Message, tools []string) []chat.Message {
	gone := map[string]bool{}
	var list []chat.Message
	for _, m := range messages {
		if m.Role == chat.RoleTool && gone[m.ToolCallID] {
			continue
		}
		if len(m.ToolCalls) > 0 {
			kept := make([]chat.ToolCall, 0, len(m.ToolCalls))
			for _, call := range m.ToolCalls {
				if slices.Contains(tools, call.Name) {
					gone[call.ID] = true
				} else {
					kept = append(kept, call)
				}
			}
			if m.ToolCalls = kept; len(kept) == 0 && m.Text() == "" {
				continue
			}
		}
		list = append(list, m)
	}
	return list
}

// meter counts what a compaction asks of models. It is safe for concurrent use.
type meter struct {
	mu    sync.Mutex
	calls int
	usage chat.Usage
}

func (m *meter) add(u chat.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.usage.Input += u.Input
	m.usage.Output += u.Output
	m.usage.CacheRead += u.CacheRead
	m.usage.CacheWrite += u.CacheWrite
}

func (m *meter) read() (int, chat.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.usage
}
