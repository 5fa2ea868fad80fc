package history_test

import (
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
)

// naivePath is a path whose methods search it each time.
type naivePath []entry.Entry

// shownEntries returns a path with the replacements of its clearings.
func shownEntries(path []entry.Entry) []entry.Entry {
	path = slices.Clone(path)
	for _, e := range path {
		c, ok := e.Body.(entry.Clearing)
		if !ok {
			continue
		}
		for i := range path {
			m, _ := path[i].Body.(entry.Message)
			for _, o := range c.Results {
				if o.Entry == path[i].ID {
					m.Content = chat.Parts{chat.Text(o.Text)}
					path[i].Body = m
				}
			}
			for _, o := range c.Arguments {
				if o.Entry == path[i].ID {
					m.ToolCalls = slices.Clone(m.ToolCalls)
					m.ToolCalls[slices.IndexFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == o.Call })].Arguments = o.Text
					path[i].Body = m
				}
			}
		}
	}
	return path
}

// caller returns the index of the entry whose call a result answers, -1 if there is none.
func (p naivePath) caller(result int) int {
	for i := result - 1; i >= 0; i-- {
		if slices.ContainsFunc(p[i].Message().ToolCalls, func(c chat.ToolCall) bool { return c.ID == p[result].Message().ToolCallID }) {
			return i
		}
	}
	return -1
}

func (p naivePath) results(assistant int) (list []int) {
	for i := assistant + 1; i < len(p); i++ {
		if p[i].Message().Role == chat.RoleTool && p.caller(i) == assistant {
			list = append(list, i)
		}
	}
	return list
}

// unit reports whether an entry is shown to the model and is not a result, but for one whose call is covered.
func (p naivePath) unit(i int) bool {
	return p.lost(i) || p[i].Message().Role != chat.RoleTool && speaks(p[i])
}

// lost reports whether an entry is the result of a call that the latest compaction covers.
func (p naivePath) lost(i int) bool {
	first := p.first()
	return i >= first && p[i].Message().Role == chat.RoleTool && p.caller(i) < first
}

// first returns the index of the first entry that the latest compaction does not cover.
func (p naivePath) first() (first int) {
	for i, e := range p {
		if e.Type() == entry.TypeCompaction {
			first = i + 1
			if k := slices.IndexFunc(p[:i], func(of entry.Entry) bool { return of.ID == e.Compaction().FirstKept }); k >= 0 {
				first = k
			}
		}
	}
	return first
}

// turn returns the index of the entry that starts the turn of a unit, -1 if there is none.
func (p naivePath) turn(i int) int {
	for ; i >= 0 && !starts(p[i]); i-- {
	}
	return i
}

// size returns the tokens and the messages of a unit as it is shown.
func (p naivePath) size(i int, limits history.RoundLimits, s elements.Sizing) (tokens, messages int) {
	if starts(p[i]) {
		m, _ := startWithin(p[i], limits, s)
		return s.CountMessage(m), 1
	}
	round := history.Round{Assistant: p[i]}
	for _, k := range p.results(i) {
		round.Results = append(round.Results, p[k])
	}
	for _, m := range within(round, limits, s) {
		tokens += s.CountMessage(m)
	}
	return tokens, len(within(round, limits, s))
}

// naiveCut returns the id of the entry at which a rule cuts, and all at which it may. It tries every entry, by the
// documentation of [history.Cut].
func naiveCut(rule history.Cut, path []entry.Entry, s elements.Sizing) (at string, all []string, err error) {
	p := naivePath(shownEntries(path))
	first, after := p.first(), 0
	for i, e := range p {
		if e.Type() == entry.TypeCompaction {
			after = i + 1
		}
	}
	lower := first
	if rule.SinceCompaction {
		lower = after
	}
	// The head ends after the last unit that is entirely among the first messages and has no result after the next
	// unit.
	var spoken []int
	for i := range p {
		if p.unit(i) {
			spoken = append(spoken, i)
		}
	}
	messages, reach := 0, -1
	for k, i := range spoken {
		results := p.results(i)
		_, n := p.size(i, rule.Limits, s)
		messages += n
		if messages > rule.First {
			break
		}
		reach = slices.Max(append(results, i, reach))
		if k+1 == len(spoken) || reach < spoken[k+1] {
			lower = max(lower, reach+1)
		}
	}
	considered := slices.DeleteFunc(slices.Clone(spoken), func(i int) bool { return i < lower })

	mayCut := func(c int) bool {
		for j := c; j < len(p); j++ {
			if p[j].Message().Role != chat.RoleTool {
				continue
			}
			if caller := p.caller(j); caller >= first && caller < c && p.unit(caller) {
				return false
			}
		}
		if rule.ToolBoundary {
			for i := len(p) - 1; i >= first; i-- {
				if p[i].Message().Role == chat.RoleAssistant && p.unit(i) {
					return c <= i || len(p.results(i)) >= len(p[i].Message().ToolCalls)
				}
			}
		}
		return true
	}
	var places []int
	for k, c := range considered {
		if k == 0 || p.lost(c) || !mayCut(c) {
			continue
		}
		if before := considered[k-1]; before == p.turn(c) && (k == 1 || slices.Contains(places, before)) {
			continue
		}
		places = append(places, c)
	}
	shown := func(c int) (tokens, messages, rounds int) {
		for _, i := range considered {
			if i >= c {
				t, m := p.size(i, rule.Limits, s)
				tokens, messages = tokens+t, messages+m
				if !starts(p[i]) {
					rounds++
				}
			}
		}
		if start := p.turn(c); start >= 0 && start < c && speaks(p[start]) {
			t, _ := p.size(start, rule.Limits, s)
			tokens += t
		}
		return tokens, messages, rounds
	}
	limit := rule.Tokens
	if share := max(1, int(rule.Share*float64(s.PromptBudget))); rule.Share > 0 && (limit == 0 || share < limit) {
		limit = share
	}
	fits := func(c int) bool { tokens, _, _ := shown(c); return limit == 0 || tokens <= limit }
	enough := func(c int) bool {
		_, messages, rounds := shown(c)
		if rule.Messages == 0 && rule.Rounds == 0 {
			return limit == 0
		}
		return messages >= rule.Messages && rounds >= rule.Rounds
	}
	if len(places) == 0 {
		return "", nil, history.ErrNoCut
	}
	for _, c := range places {
		all = append(all, p[c].ID)
	}
	// From the newest place back, the first that keeps enough, or else the last that fits.
	best := places[len(places)-1]
	if !fits(best) {
		return p[best].ID, all, nil
	}
	for _, c := range slices.Backward(places) {
		if !fits(c) {
			return p[best].ID, all, nil
		}
		if best = c; enough(c) {
			return p[best].ID, all, nil
		}
	}
	if fits(considered[0]) {
		return "", all, history.ErrNoCut
	}
	return p[best].ID, all, nil
}
