package plan

import (
	"maps"
	"slices"

	"github.com/promptree-go/promptree/internal/modelname"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Complete returns a policy with all its defaults.
func Complete(p policy.Policy) policy.Policy {
	p = p.WithDefaults()
	if len(p.Ask.Prompts) == 0 {
		p.Ask.Prompts = []policy.Prompt{prompts.FullPrompt(), prompts.SimplePrompt()}
	}
	if p.Replace.With == nil {
		p.Replace.With = prompts.ConversationSummary
	}
	return p
}

// QuirksOf returns the quirks of a model, merged into one.
func QuirksOf(a policy.Ask, model string) policy.Quirk {
	var all policy.Quirk
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

// Route returns the names of the models to ask before the agent's own.
func Route(a policy.Ask, agent string) []string {
	var names []string
	for _, r := range a.Routes {
		if matches(r.Agents, agent) {
			names = append(names, r.Model)
			break
		}
	}
	return append(names, a.Names...)
}

// Priced returns the models with prices that Cheapest adds to the named ones, sorted by name.
func Priced(a policy.Ask, models map[string]policy.Target, agent string) []policy.Target {
	var list []policy.Target
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if t := models[name]; t.Model != nil && t.Prices != (sizing.Prices{}) && name != agent && !slices.Contains(Route(a, agent), name) {
			t.Name = name
			list = append(list, t)
		}
	}
	return list
}

// PricesFor returns the prices that a policy weighs costs for a target by.
func PricesFor(p policy.Policy, t policy.Target) sizing.Prices {
	if t.Prices != (sizing.Prices{}) {
		return t.Prices
	}
	return p.Prices
}
