package summarize

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
		if m, ok := t.MessageWithin(limits, s); ok {
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
	leaf := c.Session.Leaf() // what is appended meanwhile is kept
	view, err := c.Session.ViewAt(leaf)
	if err != nil {
		return job{}, err
	}
	size := sizing.Sizing{Window: c.Budget, TokenBudget: c.Budget, Tokenizer: c.Tokenizer}
	all := units(view, c.Limits, size)
	j := job{policy: policy, previous: view.Compacted, crumb: breadcrumb(policy, c.Session)}
	j.frame = c.Tokenizer.CountMessage(j.standIn(""))
	wanted := max(min(int(policy.Summary*float64(c.Budget)), policy.SummaryMax), j.frame+minWords)

	rules := []history.Cut{{Limits: c.Limits}} // the newest round alone
	if keep := int(policy.Keep * float64(c.Budget)); keep > 0 {
		rules = []history.Cut{{Tokens: keep, Limits: c.Limits}, rules[0]}
	}
	var last error = ErrNothingToCompact
	for i, rule := range rules {
		point, err := rule.Find(c.Session.PathTo(leaf), size)
		if errors.Is(err, history.ErrNoCut) {
			continue
		} else if err != nil {
			return job{}, err
		}
		cut := slices.IndexFunc(all, func(u unit) bool { return u.id == point.At })
		if cut < 0 {
			continue
		}
		j.covered, j.kept, j.firstKept = all[:cut], all[cut:], point.FirstKept
		room, err := c.room(ctx, prompt, j, wanted)
		if err == nil {
			if i < len(rules)-1 && room < wanted {
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
