package summarize

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// unit is what a cut may stand before: a turn's user message or a round.
type unit struct {
	id       string // of its first entry
	user     bool
	current  bool // the current turn's user message, which stays
	messages []chat.Message
	tokens   int
}

// units lists what a view shows word for word.
func units(v history.View, limits history.Limits, s sizing.Sizing) []unit {
	var list []unit
	add := func(u unit) {
		for _, m := range u.messages {
			u.tokens += s.CountMessage(m)
		}
		list = append(list, u)
	}
	for i, t := range v.Turns {
		if m, ok := t.Message(); ok {
			add(unit{id: t.Start.ID, user: true, current: i == len(v.Turns)-1, messages: []chat.Message{m}})
		}
		for _, r := range t.Rounds {
			if messages := r.Messages(limits, s); len(messages) > 0 {
				add(unit{id: r.Assistant.ID, messages: messages})
			}
		}
	}
	return list
}

// job is a compaction that is worth making.
type job struct {
	policy        Policy
	previous      []chat.Message // what stands for the entries that were compacted before
	covered, kept []unit
	firstKept     string
	crumb         string // the breadcrumb
	room          int    // tokens that what stands for the covered units may take
	frame         int    // tokens of that without the summary's words
}

// words is how many tokens are left for the summary's words. What is joined may count one or two more.
func (j job) words() int { return j.room - j.frame - 2 }

// plan chooses the cut, by trying whether the prompt would fit.
func (c *Compactor) plan(ctx context.Context, prompt elements.Node, policy Policy) (job, error) {
	view, err := c.Session.View()
	if err != nil {
		return job{}, err
	}
	all := units(view, c.Limits, sizing.Sizing{Window: c.Budget, TokenBudget: c.Budget, Tokenizer: c.Tokenizer})
	if len(all) == 0 {
		return job{}, ErrNothingToCompact
	}
	newest := len(all) - 1
	j := job{policy: policy, previous: view.Compacted, crumb: breadcrumb(policy, c.Session)}
	j.frame = c.Tokenizer.CountMessage(j.standIn(""))
	wanted := max(min(int(policy.Summary*float64(c.Budget)), policy.SummaryMax), j.frame+minWords)

	cuts := []int{tail(all, int(policy.Keep*float64(c.Budget)))}
	if cuts[0] != newest {
		cuts = append(cuts, newest)
	}
	var last error = ErrNothingToCompact
	for _, cut := range cuts {
		j.covered, j.kept, j.firstKept = all[:cut], all[cut:], all[cut].id
		if !worthwhile(j.covered) {
			continue
		}
		room, err := c.room(ctx, prompt, j, wanted)
		if err == nil {
			if cut != newest && room < wanted {
				last = ErrNoRoom
				continue // keeping less leaves more room
			}
			j.room = room
			return j, nil
		}
		if last = err; !errors.Is(err, ErrNoRoom) {
			break
		}
	}
	return job{}, last
}

// tail is where the newest units that take at most limit tokens begin; the newest one is always among them.
func tail(all []unit, limit int) int {
	cut, tokens := len(all)-1, all[len(all)-1].tokens
	for cut > 0 && tokens+all[cut-1].tokens <= limit {
		cut--
		tokens += all[cut].tokens
	}
	return cut
}

// worthwhile tells that covering the units takes something out of the prompt.
func worthwhile(covered []unit) bool {
	for _, u := range covered {
		if !u.current {
			return true
		}
	}
	return false
}

// room is how many tokens a summary may take so that the prompt fits: what is wanted, or what there is.
func (c *Compactor) room(ctx context.Context, prompt elements.Node, j job, wanted int) (int, error) {
	nothing := history.Compaction{Messages: []chat.Message{chat.UserMessage("…")}, FirstKept: j.firstKept}
	ctx = history.Preview(ctx, c.Session, nothing)
	_, err := c.render(ctx, prompt, max(1, c.Budget-wanted))
	if err == nil {
		return wanted, nil
	}
	over, ok := errors.AsType[*render.BudgetExceededError](err)
	if !ok {
		return 0, fmt.Errorf("trying the cut: %w", err)
	}
	if room := c.Budget - over.Needed; over.Limit == "" && room >= j.frame+minWords {
		return min(room, wanted), nil
	}
	return 0, fmt.Errorf("%w: that takes %d of %d tokens, and a summary at least %d", ErrNoRoom, over.Needed, over.Budget+wanted, j.frame+minWords)
}
