// Package plan measures a prompt and plans compactions: what is covered and kept, and the room of the summary. It writes
// nothing and asks no model.
package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/breadcrumb"
	"github.com/promptree-go/promptree/summarize/internal/failure"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Planned is a plan with the other things to store and report.
type Planned struct {
	entry.Plan                    // without Used and TokensBefore: those are of the prompt that was not cleared
	Preamble      *entry.Preamble // nil if it is stored already
	Covered, Kept int             // numbers of units
	Over          bool            // the kept history takes more than the rule allows
}

// Plan chooses the cut by rendering the prompt with it. As long as the kept history leaves no room for a summary, or so
// little that the same condition would hold again at once, one round less is kept, down to the newest.
func (p *Planner) Plan(ctx context.Context, prompt elements.Node, s *Rendered, d policy.Decision, instructions string) (Planned, error) {
	frame, err := p.frame(ctx, s)
	if err != nil {
		return Planned{}, err
	}
	return guard.Call(ctx, guard.NamePrompt, 0, func(ctx context.Context) (Planned, error) { return p.choose(ctx, prompt, s, d, instructions, frame) })
}

// choose returns the plan. Frame is the number of tokens around the summary's words in the replacement.
func (p *Planner) choose(ctx context.Context, prompt elements.Node, s *Rendered, d policy.Decision, instructions string, frame int) (Planned, error) {
	point, err := s.part, error(nil)
	if d.Do != policy.ActPart {
		point, err = p.cut(ctx, s)
	}
	if errors.Is(err, history.ErrNoCut) {
		return Planned{}, failure.ErrNothingToCompact
	} else if err != nil {
		return Planned{}, err
	}
	system := slices.DeleteFunc(slices.Clone(s.PromptMessages()), func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	preamble, err := newPreamble(system, s.PromptTools(p.Target))
	if err != nil {
		return Planned{}, err
	}
	plan := entry.Plan{
		Policy: p.Policy.Name, Occasion: string(s.Occasion), Why: d.Reason(), Instructions: instructions, Mode: string(p.Policy.Ask.Mode),
		Limit: d.Limit(), Base: s.Base, Model: p.Target.Name, Server: Server(p.Target),
		Background: d.Do == policy.ActStart, Until: time.Now().Add(2 * p.Policy.Ask.Timeout), Preamble: preamble.Digest,
		Pinned: clamp.Share(p.Policy.Replace.Pinned, s.Budget), Clears: len(p.Clear.Results)+len(p.Clear.Arguments) > 0,
	}
	wanted := max(p.summaryRoom(s.Budget), frame+policy.MinWords)
	indexed := wanted + p.indexRoom(s.Budget)
	excess := p.excess(s, d) // must go too, or the condition would hold again at once
	for {
		plan.FirstKept = point.FirstKept
		plan.Thinking = p.thinking(point)
		replaces := Replaced(p.Target.Tokenizer, s.View.Compacted, Covered(point))
		room, err := p.replacementRoom(ctx, prompt, s, plan, replaces)
		if err != nil {
			return Planned{}, err
		}
		later, more := point.Later()
		if d.Do == policy.ActPart { // history behind it may be let go
			more, room = false, max(room, indexed)
		}
		if room-excess >= indexed || !more && room >= frame+policy.MinWords {
			for _, t := range plan.Thinking { // it stays in the view
				replaces -= guard.Counted(p.Target.Tokenizer.CountPart(t))
			}
			if replaces <= frame+policy.MinWords {
				return Planned{}, fmt.Errorf("%w: %d tokens of history would be covered, and a summary takes %d at least", failure.ErrNothingToCompact, replaces, frame+policy.MinWords)
			}
			plan.Room = min(room, wanted, replaces-1)
			plan.Index = min(room, indexed, replaces-1) - plan.Room
			plan.Words = plan.Room - frame - 4 // joined texts, and a line count that grew, may take more tokens
			break
		}
		if !more {
			return Planned{}, fmt.Errorf("%w: %d tokens are left, and a summary takes %d at least", failure.ErrNoRoom, max(0, room), frame+policy.MinWords)
		}
		for dropped := point.Tokens - later.Tokens; dropped < clamp.Sum(indexed, excess-room); dropped = point.Tokens - later.Tokens {
			next, ok := later.Later() // still too much is kept, so this cut need not be rendered
			if !ok {
				break
			}
			later = next
		}
		point = later
	}
	chosen := Planned{Plan: plan, Covered: len(Covered(point)), Kept: len(point.Kept()), Over: point.Over}
	if preamble.Digest != "" && p.Ledger.Preambles[preamble.Digest].ID == "" {
		chosen.Preamble = &preamble
	}
	return chosen, nil
}

// excess returns how many tokens of the budget are above the limit of the condition that decided, or are to be spared.
func (p *Planner) excess(s *Rendered, d policy.Decision) int {
	limit := clamp.Int(float64(d.Limit())/s.Ratio) - s.Size.Tools
	if d.Limit() == 0 || limit <= 0 {
		return p.Spare
	}
	return max(p.Spare, s.Budget-limit)
}

// replacementRoom returns how many tokens a replacement may take so that the prompt still fits with all history that is
// kept.
func (p *Planner) replacementRoom(ctx context.Context, prompt elements.Node, s *Rendered, plan entry.Plan, replaced int) (int, error) {
	nothing := chat.UserMessage("…")
	view, err := p.Session.ViewWith(ctx, entry.Compaction{Messages: []chat.Message{nothing}, FirstKept: plan.FirstKept, Thinking: plan.Thinking})
	if err != nil {
		return 0, err
	}
	layout, shown, err := p.LayOut(ctx, prompt, view.Clear(p.Clear), s.Budget, s.Newest)
	if err != nil {
		return 0, failure.Within("trying the cut", err)
	}
	taken, _, err := layout.Floor(ctx, render.FitOptions{Budget: s.Budget, KeepUnranked: true, History: render.HistoryRequired})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok { // of a limit inside the prompt
		return over.Budget - over.Needed, nil
	}
	if err != nil {
		return 0, failure.Within("trying the cut", err)
	}
	cost := guard.Counted(p.Target.Tokenizer.CountMessage(nothing))
	if taken >= s.floor && replaced > 2*cost && !shown.Any() { // else what stood in the history stands elsewhere now, as a loaded skill does
		return 0, ErrOtherSession
	}
	return s.Budget - taken + cost, nil
}

// thinking returns the newest covered thinking of the turn that is cut, if the kept history must begin with it.
func (p *Planner) thinking(point history.CutPoint) []chat.Thinking {
	first := point.Kept()[0]
	if !QuirksOf(p.Policy.Ask, p.Target.Name).Thinking || first.Start || len(plaintext.Thinking(first.Messages[0])) > 0 {
		return nil
	}
	for _, u := range slices.Backward(Covered(point)) {
		if u.Start {
			break // another turn
		}
		if list := plaintext.Thinking(u.Messages[0]); len(list) > 0 {
			return list
		}
	}
	return nil
}

// frame returns the least tokens that a replacement takes without the summary's words.
func (p *Planner) frame(ctx context.Context, s *Rendered) (int, error) {
	material := policy.Material{Tokenizer: p.Target.Tokenizer, Tools: s.PromptTools(p.Target)}
	var err error
	if material.Breadcrumb, err = Transcript(ctx, p.Session, p.Policy, material.Tools); err != nil {
		return 0, err
	}
	pinned := clamp.Share(p.Policy.Replace.Pinned, s.Budget) // as if no pinned entry were kept
	if material.Pinned, err = Pins(ctx, p.Session, "", "", pinned, p.Target.Tokenizer); err != nil {
		return 0, err
	}
	material.Reminder = QuirksOf(p.Policy.Ask, p.Target.Name).Reminder
	result, err := guard.Call(ctx, guard.NameReplacement, p.Policy.Ask.Timeout, func(ctx context.Context) (*render.Result, error) {
		return render.Render(ctx, Stand(p.Policy, material), render.Options{Budget: 1, PromptBudget: s.Budget, Tokenizer: p.Target.Tokenizer})
	})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return over.Needed, nil
	}
	if empty, ok := errors.AsType[*render.EmptyPromptError](err); ok {
		return empty.Result.Tokens, nil
	}
	if err != nil {
		return 0, failure.Within("rendering the replacement", err)
	}
	return result.Tokens, nil
}

// Transcript returns the breadcrumb of a session: where everything that was said can be looked up.
func Transcript(ctx context.Context, s *history.Session, p policy.Policy, tools []chat.Tool) (policy.Breadcrumb, error) {
	if p.Replace.NoBreadcrumb || s.Path() == "" && !s.Recall() {
		return policy.Breadcrumb{}, nil
	}
	lines, err := s.Lines(ctx)
	if s.Recall() {
		return policy.Breadcrumb{Recall: true, Lines: lines}, err
	}
	t := policy.Breadcrumb{Path: s.Path(), Lines: lines}
	if text := s.TextPath("x"); text != "" {
		t.Texts = filepath.Dir(text)
	}
	t.Tool, t.Example = breadcrumb.Find(tools, p.Replace.ReadTool)
	return t, err
}

// newPreamble returns a preamble with its digest; that of nothing is "".
func newPreamble(system []chat.Message, tools []chat.Tool) (entry.Preamble, error) {
	p := entry.Preamble{System: system, Tools: tools}
	if len(system)+len(tools) == 0 {
		return p, nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("summarize: the system messages and tools: %w", err)
	}
	sum := sha256.Sum256(data)
	p.Digest = hex.EncodeToString(sum[:16])
	return p, nil
}

// Stand returns the tree of the messages that stand for a covered history: those of the policy, and behind them the
// pinned entries.
func Stand(p policy.Policy, m policy.Material) elements.Nodes {
	nodes := elements.Nodes{p.Replace.With(m)}
	if len(m.Pinned) > 0 {
		nodes = append(nodes, prompts.Pinned(m))
	}
	return nodes
}

// Pins returns the pinned entries on the path to an entry, in the order of the session, without those from the entry
// firstKept on, if it is not "". Together they take about limit tokens: of one for which no room is left, the handle
// stands there, as long as that fits.
func Pins(ctx context.Context, s *history.Session, id, firstKept string, limit int, t chat.Tokenizer) ([]policy.PinnedEntry, error) {
	pinned, err := s.Pinned(ctx, id)
	if err != nil || len(pinned) == 0 {
		return nil, err
	}
	kept := map[string]bool{}
	if firstKept != "" {
		for e, err := range s.Back(ctx, id) {
			if err != nil {
				return nil, err
			}
			if kept[e.ID] = true; e.ID == firstKept {
				break
			}
		}
	}
	return guard.Value(ctx, guard.NameTokenizer, func() []policy.PinnedEntry {
		var list []policy.PinnedEntry
		for _, e := range pinned {
			m, _ := e.Shown()
			p := policy.PinnedEntry{Entry: e.ID, Role: m.Role, Text: plaintext.Outside(e.Text())}
			if kept[e.ID] || p.Text == "" {
				continue
			}
			size := func() int { return guard.Counted(t.CountText(prompts.PinnedText(p))) }
			if p.Tokens = size(); p.Tokens > limit {
				p.Left = true
				p.Text = plaintext.LeftOut(fmt.Sprintf("pinned entry of %d tokens", p.Tokens), s.Handle(e, 0, 0))
				if size() > limit {
					p.Text = ""
				}
			}
			if p.Text != "" {
				limit -= size()
			}
			list = append(list, p)
		}
		return list
	})
}
