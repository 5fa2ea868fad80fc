package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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
		all.Note = strings.Trim(all.Note+"\n"+q.Note, "\n")
		all.Reminder = strings.Trim(all.Reminder+"\n"+q.Reminder, "\n")
		all.Thinking = all.Thinking || q.Thinking
		all.WithoutTools = append(all.WithoutTools, q.WithoutTools...)
	}
	return all
}

// matches reports whether a model matches one of the patterns.
func matches(patterns []string, model string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return modelname.Fits(p, model) })
}

// Writers returns the models that may be asked for summaries, each once: those that a policy names, with Cheapest the
// others that have prices, and the agent's own. Unknown lists the names that models does not have.
func Writers(a policy.Ask, models map[string]policy.Target, agent policy.Target) (list []policy.Target, unknown []string) {
	add := func(name string, t policy.Target) {
		t.Name = name
		if !slices.ContainsFunc(list, func(o policy.Target) bool { return o.Name == name }) {
			list = append(list, t)
		}
	}
	var names []string
	if i := slices.IndexFunc(a.Routes, func(r policy.Route) bool { return matches(r.Agents, agent.Name) }); i >= 0 {
		names = append(names, a.Routes[i].Model)
	}
	for _, name := range append(names, a.Names...) {
		if t := models[name]; t.Model != nil {
			add(name, t)
		} else if len(models) > 0 {
			unknown = append(unknown, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if t := models[name]; a.Cheapest && t.Model != nil && t.Prices != (sizing.Prices{}) && name != agent.Name {
			add(name, t)
		}
	}
	add(agent.Name, agent)
	return list, unknown
}

// PricesFor returns the prices that a policy weighs costs for a target by.
func PricesFor(p policy.Policy, t policy.Target) sizing.Prices {
	return cmp.Or(t.Prices, p.Prices)
}
