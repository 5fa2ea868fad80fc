package summarize

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/promptree-go/promptree/internal/modelname"
	"github.com/promptree-go/promptree/sizing"
)

// Ask says whom to ask for summaries, and how.
type Ask struct {
	// Prompts to ask with, in order: the next one is used if no model returned a usable summary. Defaults to
	// [FullPrompt] and [SimplePrompt].
	Prompts []Prompt
	// Mode limits Prompts to those of this mode and those that fork the agent's request. Defaults to [ModeAuto], which
	// allows all.
	Mode Mode
	// Routes choose a model to ask by the agent's model; the first route that matches is used.
	Routes []Route
	// Names of models in [Compactor.Models] to ask, in this order. An event reports a name that is not there, and it is
	// skipped. The agent's own model is asked last, and alone if no other is named.
	Names []string
	// Cheapest asks the models in the order of the cost of a summary, by their prices. It adds to Names the other
	// models of [Compactor.Models] that have prices. The agent's own model takes part, with the price of its cached
	// prompt if the first of Prompts forks its request. Off by default.
	Cheapest bool
	// Timeout of each answer. None by default.
	Timeout time.Duration
	// TimeLimit of a compaction with all its requests. Defaults to 5 minutes.
	TimeLimit time.Duration
	// Attempts is the most times that a request is made if it fails with a [*chat.TransientError]. Defaults to one. All
	// waits of a compaction together last at most RetryWait.
	Attempts int
	// RetryWait is the longest total time that a compaction waits between attempts. Defaults to 5 seconds.
	RetryWait time.Duration
	// MinChars is the fewest characters (code points) of an answer. None by default.
	MinChars int
	// MaxTokens is the most tokens that a model may answer. A request asks for fewer if the summary's room, plus an
	// allowance for thinking and analysis, is smaller. No limit by default.
	MaxTokens int
	// Temperature of each request. Defaults to the model's own.
	Temperature *float64
	// SimpleResult is a lower bound, in tokens, for prompts that clip tool results: no result is clipped below it.
	// Defaults to 200.
	SimpleResult int
	// Checks of a summary. Every policy also checks that a summary is not empty, fits its room, and is smaller than
	// what it replaces.
	Checks []Check
	// Quirks of the agent's model, by its name.
	Quirks []Quirk
}

// Route names the model that summarises for agents whose own model matches a pattern.
type Route struct {
	// Agents are patterns of model names, for example "claude-opus*". They match by family: case and a provider's
	// prefix do not count.
	Agents []string
	// Model is the name of the model to ask, in [Compactor.Models].
	Model string
}

// Quirk holds what models whose names match a pattern need.
type Quirk struct {
	// Models are patterns of model names, for example "claude-opus*". They match by family: case and a provider's
	// prefix do not count.
	Models []string
	// Note is added to the request for a summary.
	Note string
	// Reminder is added after the summary, for the agent's model.
	Reminder string
	// Thinking keeps the newest covered thinking of the turn that is cut: the kept part of that turn begins with it,
	// unless it begins with thinking of its own ([history.Compaction]). It is for providers that check thinking and
	// want some at the start of the calls that continue. Some models, such as Claude's newest, accept thinking only
	// after exactly the messages that it followed, and therefore not after a summary. For them it is dropped (see
	// anthropic.Thinking.Stale).
	Thinking bool
	// WithoutTools names tools whose calls and results are not shown to the model that summarises.
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

// prompts returns the prompts to try on an occasion, in order.
func (a Ask) prompts(on Occasion, background bool) []Prompt {
	return slices.DeleteFunc(slices.Clone(a.Prompts), func(p Prompt) bool {
		return !a.Mode.allows(p) || p.Background && !background || p.OnDemand && on != OnDemand && a.Mode == ModeAuto
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
		return fmt.Errorf("summarize: Policy.Ask.Temperature is %v: it must be 0 or more", *a.Temperature)
	}
	return errors.Join(
		notBelow0("Ask.Timeout", a.Timeout), notBelow0("Ask.TimeLimit", a.TimeLimit), notBelow0("Ask.RetryWait", a.RetryWait),
		notBelow0("Ask.Attempts", a.Attempts), notBelow0("Ask.MinChars", a.MinChars), notBelow0("Ask.MaxTokens", a.MaxTokens),
		notBelow0("Ask.SimpleResult", a.SimpleResult),
	)
}

// quirks returns the quirks of a model, merged into one.
func (a Ask) quirks(model string) Quirk {
	var all Quirk
	for _, q := range a.Quirks {
		if !matches(q.Models, model) {
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

// matches reports whether a model matches one of the patterns.
func matches(patterns []string, model string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return modelname.Fits(p, model) })
}

// route returns the names of the models to ask before the agent's own.
func (a Ask) route(agent string) []string {
	var names []string
	for _, r := range a.Routes {
		if matches(r.Agents, agent) {
			names = append(names, r.Model)
			break
		}
	}
	return append(names, a.Names...)
}

// priced returns the models with prices that Cheapest adds to the named ones, sorted by name.
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

// sortByPrice sorts candidates by the cost of a summary, the cheapest first.
func sortByPrice(list []*candidate, agent sizing.Prices, c sizing.Carry, forks bool) {
	cost := func(one *candidate) float64 {
		c := c
		if c.Summarizer = cmp.Or(one.Prices, agent); one.isAgent && forks {
			c.Summarizer = sizing.Prices{}
		}
		return agent.Summarizing(c)
	}
	slices.SortStableFunc(list, func(a, b *candidate) int { return cmp.Compare(cost(a), cost(b)) })
}
