package summarize

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/modelname"
	"github.com/promptree-go/promptree/sizing"
)

// Ask says how, and whom, to ask for summaries.
type Ask struct {
	// Prompts by which a model is asked, each if the one before it brought no summary. Defaults to [FullPrompt] and
	// [SimplePrompt].
	Prompts []Prompt
	// Mode of the only prompt that is used, besides those that fork the agent's request. Defaults to [ModeAuto], which uses
	// all.
	Mode Mode
	// Routes name models for agents of some models; the first that fits counts.
	Routes []Route
	// Names of models that are asked in this order. [Compactor.Models] has them; a name that it does not have is passed over,
	// and told of. The agent's own model is asked last, and alone if nobody else is named.
	Names []string
	// Cheapest asks first whom a summary costs least of, by prices: one of Names, another of [Compactor.Models] that has prices,
	// or the agent's own model, by a fork of its request if Prompts begins with one. The others are asked after it. Off by
	// default.
	Cheapest bool
	// Timeout of each answer. None by default.
	Timeout time.Duration
	// TimeLimit of a compaction with all that it asks. Defaults to 5 minutes.
	TimeLimit time.Duration
	// Attempts of each request if a failure may pass ([*chat.TransientError]). Defaults to one. What they wait together is at
	// most RetryWait.
	Attempts int
	// RetryWait is the longest that a compaction waits for failures to pass. Defaults to 5 seconds.
	RetryWait time.Duration
	// MinChars is the least number of characters (code points) of an answer. None by default.
	MinChars int
	// MaxTokens is the most that a model is allowed to answer. The room for the summary, and what a model may think or analyse
	// before it, is asked for if that is less. No bound by default.
	MaxTokens int
	// Temperature at which a model is asked. Defaults to the model's own.
	Temperature *float64
	// SimpleResult is the least number of tokens of a tool result that a prompt which cuts results shows. Defaults to 200.
	SimpleResult int
	// Checks of a summary, besides those that no policy goes without: it is not empty, fits its room, and is smaller than what
	// it replaces.
	Checks []Check
	// Quirks of the agent's model, by its name.
	Quirks []Quirk
}

// Route names the model that summarises for agents of some models.
type Route struct {
	// Agents are patterns of names, such as "claude-opus*", matched by family: case and a provider's prefix do not count.
	Agents []string
	// Model that is asked.
	Model string
}

// Quirk is what the models of some names need.
type Quirk struct {
	// Models are patterns of names, such as "claude-opus*", matched by family: case and a provider's prefix do not count.
	Models []string
	// Note is said to the model that summarises.
	Note string
	// Reminder stands after the summary.
	Reminder string
	// Thinking keeps the last thinking that is covered of the turn that is cut: what is kept of that turn begins with it,
	// if it begins with none of its own ([history.Compaction]). It is for providers that check thinking and want some at the
	// start of the calls that go on. A provider that takes thinking only behind exactly what it was thought after, as the newest
	// models of Claude's do, does not take it behind a summary: there it is dropped (anthropic.Thinking.Stale says how).
	Thinking bool
	// WithoutTools names tools whose calls, with their results, are not shown to the model that summarises.
	WithoutTools []string
}

func (a Ask) withDefaults() Ask {
	if len(a.Prompts) == 0 {
		a.Prompts = []Prompt{FullPrompt(), SimplePrompt()}
	}
	if a.TimeLimit == 0 {
		a.TimeLimit = 5 * time.Minute
	}
	if a.RetryWait == 0 {
		a.RetryWait = 5 * time.Second
	}
	if a.SimpleResult == 0 {
		a.SimpleResult = 200
	}
	return a
}

// prompts lists those that are tried, in order.
func (a Ask) prompts(background bool) []Prompt {
	return slices.DeleteFunc(slices.Clone(a.Prompts), func(p Prompt) bool {
		return !a.Mode.allows(p) || p.Background && !background
	})
}

// allows reports whether a prompt may be used if the mode is forced.
func (m Mode) allows(p Prompt) bool { return m == ModeAuto || p.Mode == m || p.Forks }

func (a Ask) check() error {
	all := a.withDefaults().Prompts
	switch {
	case a.Mode != ModeAuto && !slices.ContainsFunc(all, func(p Prompt) bool { return p.Mode == a.Mode }):
		modes := make([]Mode, len(all))
		for i, p := range all {
			modes[i] = p.Mode
		}
		return fmt.Errorf("summarize: Policy.Ask.Mode is %q: its prompts have the modes %q", a.Mode, modes)
	case a.Temperature != nil && !(*a.Temperature >= 0 && !math.IsInf(*a.Temperature, 1)):
		return fmt.Errorf("summarize: Policy.Ask.Temperature is %v: it is 0 or more", *a.Temperature)
	}
	return errors.Join(
		notBelow0("Ask.Timeout", a.Timeout), notBelow0("Ask.TimeLimit", a.TimeLimit), notBelow0("Ask.RetryWait", a.RetryWait),
		notBelow0("Ask.Attempts", a.Attempts), notBelow0("Ask.MinChars", a.MinChars), notBelow0("Ask.MaxTokens", a.MaxTokens),
		notBelow0("Ask.SimpleResult", a.SimpleResult),
	)
}

// quirks returns what a model of this name needs, all of it together.
func (a Ask) quirks(model string) Quirk {
	var all Quirk
	for _, q := range a.Quirks {
		if !fits(q.Models, model) {
			continue
		}
		if q.Note != "" {
			all.Note = joinLines(all.Note, q.Note)
		}
		if q.Reminder != "" {
			all.Reminder = joinLines(all.Reminder, q.Reminder)
		}
		all.Thinking = all.Thinking || q.Thinking
		all.WithoutTools = append(all.WithoutTools, q.WithoutTools...)
	}
	return all
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// fits reports whether a model is one of those that patterns name.
func fits(patterns []string, model string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return modelname.Fits(p, model) })
}

// route returns the names of the models to ask before the agent's own.
func (a Ask) route(agent string) []string {
	var names []string
	for _, r := range a.Routes {
		if fits(r.Agents, agent) {
			names = append(names, r.Model)
			break
		}
	}
	return append(names, a.Names...)
}

// priced lists the models by which Cheapest adds to those that are named, in the order of their names.
func (a Ask) priced(models map[string]Target, agent string) []Target {
	var list []Target
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if t := models[name]; t.Model != nil && t.Prices != (sizing.Prices{}) && name != agent && !slices.Contains(a.route(agent), name) {
			t.Name = name
			list = append(list, t)
		}
	}
	return list
}

// sortByPrice puts those first who write a summary of a history of so many tokens for the least.
func sortByPrice(list []*candidate, agent sizing.Prices, c sizing.Carry, forks bool) {
	cost := func(one *candidate) float64 {
		c := c
		if c.Summarizer = cmp.Or(one.Prices, agent); one.own && forks {
			c.Summarizer = sizing.Prices{}
		}
		return agent.Summarizing(c)
	}
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(cost(a), cost(b)) })
}

// thoughts lists the thinking that a message is sent with. It is kept together: a provider takes it whole or not.
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
