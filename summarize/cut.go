package summarize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	policy    Policy
	material  Material // without what is covered
	covered   []unit
	prefix    int // how many of the last of covered belong to the turn that is cut
	kept      []unit
	firstKept string
	thinking  []chat.Thinking // with which what is kept begins
	frame     int             // tokens of what is put in place, without the summary's words
	begun     time.Time
	decision  Decision
	meter     *meter
}

// part is the material of some of what is covered, of which the last few may belong to the turn that is cut.
func (j job) part(covered []unit, prefix int) Material {
	m := j.material
	m.Covered = messagesOf(covered)
	m.TurnPrefix = messagesOf(covered[len(covered)-prefix:])
	return m
}

func messagesOf(list []unit) []chat.Message {
	var messages []chat.Message
	for _, u := range list {
		messages = append(messages, u.messages...)
	}
	return messages
}

// plan chooses the cut, by trying whether the prompt would fit.
func (c *Compactor) plan(ctx context.Context, o order) (job, error) {
	policy := c.Policy.withDefaults()
	leaf := c.Session.Leaf() // what is appended meanwhile is kept
	view, err := c.Session.ViewAt(leaf)
	if err != nil {
		return job{}, err
	}
	budget := o.at.size.budget
	size := sizing.Sizing{Window: c.elementWindow(), TokenBudget: budget, Tokenizer: c.Tokenizer}
	all := units(view, c.Limits, size)
	j := job{policy: policy, meter: &meter{}}
	if j.material, err = c.material(ctx, leaf, policy); err != nil {
		return job{}, err
	}
	j.material.Previous, j.material.Instructions = view.Compacted, o.instructions
	j.material.System = o.at.system()
	if j.frame, err = c.frame(ctx, policy, j.material); err != nil {
		return job{}, err
	}
	wanted := max(min(int(policy.Summary*float64(budget)), policy.SummaryMax), j.frame+minWords)

	rules := []history.Cut{{ToolBoundary: policy.Cut.ToolBoundary}} // the newest round alone
	if policy.Cut != rules[0] {
		first := policy.Cut
		if first.Tokens, err = c.adapted(ctx, o, policy); err != nil {
			return job{}, err
		}
		rules = []history.Cut{first, rules[0]}
	}
	var last error = ErrNothingToCompact
	for i, rule := range rules {
		rule.Limits = c.Limits
		point, err := rule.Find(view, size)
		if errors.Is(err, history.ErrNoCut) {
			continue
		} else if err != nil {
			return job{}, err
		}
		cut := slices.IndexFunc(all, func(u unit) bool { return u.id == point.Units[point.At].ID })
		if cut < 0 {
			continue
		}
		j.covered, j.kept, j.firstKept = all[:cut], all[cut:], point.FirstKept
		j.thinking = c.thinking(&j)
		room, err := c.room(ctx, o, j, wanted)
		if err == nil {
			if i < len(rules)-1 && room < wanted {
				last = ErrNoRoom
				continue // keeping less leaves more room
			}
			j.cut(point)
			c.quirks(&j)
			j.material.Room = room
			helps := max(j.replaced(c.Tokenizer)-1, j.frame+minWords) // more would be refused
			j.material.Words = min(room, helps) - j.frame - 2         // what is joined may count one or two more
			return j, nil
		}
		if last = err; !errors.Is(err, ErrNoRoom) {
			break
		}
	}
	return job{}, last
}

// adapted is how many tokens by our count are as many by the provider's as the policy keeps.
func (c *Compactor) adapted(ctx context.Context, o order, policy Policy) (int, error) {
	keep := policy.Cut.Tokens
	if keep == 0 || !policy.Reported || o.at.needed() == 0 {
		return keep, nil
	}
	return keep, nil
}

// cut notes what the cut parts.
func (j *job) cut(point history.CutPoint) {
	j.material.Kept = messagesOf(j.kept)
	j.material.Head = point.Head
	j.prefix = len(point.TurnPrefix())
	j.material.Said = unshown(j.material.Said, j.material.Kept)
}

// material gathers what is known of the path to a leaf.
func (c *Compactor) material(ctx context.Context, leaf string, policy Policy) (Material, error) {
	m := Material{
		Tools: c.Tools, Tokenizer: c.Tokenizer, Window: c.requestBudget(), ResultTokens: policy.SimpleResult,
	}
	if path := c.Session.Path(); path != "" && !policy.NoBreadcrumb {
		m.Transcript = Transcript{Path: path, Lines: c.Session.Lines()}
		m.Transcript.Tool, m.Transcript.Example, _ = breadcrumbTool(c.Tools, policy.ReadTool)
	}
	for e, err := range c.Session.PathTo(leaf) {
		if err != nil {
			return Material{}, err
		}
		switch b := e.Body.(type) {
		case history.Message:
			if b.Role == chat.RoleUser {
				m.Said = append(m.Said, b.Message)
			}
		case history.Compaction:
			m.PreviousSummary = b.Text
		case history.Todos:
			m.Plan, m.Todo = planText(b)
		}
	}
	if c.Workspace != nil {
		c.hook(ctx, "Workspace", func() error {
			known, err := c.Workspace(ctx)
			if err != nil {
				return err
			}
			if known.Plan == "" {
				known.Plan = m.Plan
			}
			if known.Todo == "" {
				known.Todo = m.Todo
			}
			m.Workspace = known
			return nil
		})
	}
	tools := c.FileTools
	if tools == nil {
		tools = history.DefaultFileTools()
	}
	files, err := tools.Of(c.Session.PathTo(leaf))
	if err != nil {
		return Material{}, err
	}
	m.Files = files
	return m, nil
}

// planText is a plan and its list of things to do as text.
func planText(p history.Todos) (plan, todo string) {
	var b strings.Builder
	for _, t := range p.Items {
		status := t.Status
		if status == "" {
			status = "pending"
		}
		fmt.Fprintf(&b, "- %s (%s)\n", t.Text, status)
	}
	return p.Text, strings.TrimSuffix(b.String(), "\n")
}

// room is how many tokens what is put in place may take so that the prompt fits: what is wanted, or what there is.
func (c *Compactor) room(ctx context.Context, o order, j job, wanted int) (int, error) {
	budget := o.at.size.budget
	nothing := history.Compaction{Messages: []chat.Message{chat.UserMessage("…")}, FirstKept: j.firstKept, Thinking: j.thinking}
	view, err := c.Session.ViewWith(nothing)
	if err != nil {
		return 0, err
	}
	ctx = history.WithView(ctx, c.Session, view)
	if err := c.fixedParts(ctx, o, j); err != nil {
		return 0, err
	}
	_, err = c.render(ctx, o.prompt, max(1, budget-wanted))
	if err == nil {
		return wanted, nil
	}
	over, ok := errors.AsType[*render.BudgetExceededError](err)
	if !ok {
		return 0, fmt.Errorf("trying the cut: %w", err)
	}
	if room := budget - over.Needed; over.Limit == "" && room >= j.frame+minWords {
		return min(room, wanted), nil
	}
	return 0, fmt.Errorf("%w: that takes %d of %d tokens, and a summary at least %d", ErrNoRoom, over.Needed, over.Budget+wanted, j.frame+minWords)
}

// fixedParts refuses a compaction for a limit that the prompt exceeds without its history.
func (c *Compactor) fixedParts(ctx context.Context, o order, j job) error {
	if o.limit <= 0 {
		return nil
	}
	tools := c.Tokenizer.CountTools(c.Tools)
	_, err := c.render(ctx, o.prompt, max(1, o.limit-tools))
	over, ok := errors.AsType[*render.BudgetExceededError](err)
	if !ok || over.Limit != "" {
		return nil
	}
	kept := 0
	for _, u := range j.kept {
		kept += u.tokens
	}
	for _, u := range j.covered {
		if u.current {
			kept += u.tokens
		}
	}
	if fixed := over.Needed - kept + tools; fixed >= o.limit {
		return &FixedPartsError{Fixed: fixed, At: o.limit}
	}
	return nil
}
