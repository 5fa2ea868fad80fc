package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/breadcrumb"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/render"
)

// planner chooses what a compaction covers and keeps, and the room of its summary.
type planner struct{ *measurer }

// planned is a plan with the other things to store and report.
type planned struct {
	entry.Plan
	preamble      *entry.Preamble // nil if it is stored already
	covered, kept int             // numbers of units
	over          bool            // the kept history takes more than the rule allows
}

// plan chooses the cut by rendering the prompt with it. As long as the kept history leaves no room for a summary, or so
// little that the same condition would hold again at once, one round less is kept, down to the newest.
func (p *planner) plan(ctx context.Context, prompt elements.Node, s *measured, d Decision, instructions string) (planned, error) {
	frame, err := p.frame(ctx, s)
	if err != nil {
		return planned{}, err
	}
	return call(ctx, namePrompt, 0, func(ctx context.Context) (planned, error) { return p.choose(ctx, prompt, s, d, instructions, frame) })
}

// choose returns the plan. Frame is the number of tokens around the summary's words in the replacement.
func (p *planner) choose(ctx context.Context, prompt elements.Node, s *measured, d Decision, instructions string, frame int) (planned, error) {
	point, err := p.cut(ctx, s)
	if errors.Is(err, history.ErrNoCut) {
		return planned{}, ErrNothingToCompact
	} else if err != nil {
		return planned{}, err
	}
	system := slices.DeleteFunc(slices.Clone(s.messages()), func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	preamble, err := entry.NewPreamble(system, s.tools(p.target))
	if err != nil {
		return planned{}, err
	}
	plan := entry.Plan{
		Policy: p.policy.Name, Occasion: string(s.Occasion), Instructions: instructions, Mode: string(p.policy.Ask.Mode),
		Used: s.Used, Limit: d.Limit(), Base: s.Base, TokensBefore: s.tokens(), Model: p.target.Name,
		Background: d.Do == ActStart, Until: time.Now().Add(p.policy.Ask.TimeLimit), Preamble: preamble.Digest,
	}
	wanted := max(p.room(s.Budget), frame+minWords)
	excess := p.excess(s, d) // must go too, or the condition would hold again at once
	for {
		plan.FirstKept = point.FirstKept
		plan.Thinking = p.thinking(point)
		replaces := replaced(p.target.Tokenizer, s.view.Compacted, covered(point))
		room, err := p.replacementRoom(ctx, prompt, s, plan, replaces)
		if err != nil {
			return planned{}, err
		}
		later, more := point.Later()
		if room-excess >= wanted || !more && room >= frame+minWords {
			for _, t := range plan.Thinking { // it stays in the view
				replaces -= counted(p.target.Tokenizer.CountPart(t))
			}
			if replaces <= frame+minWords {
				return planned{}, fmt.Errorf("%w: %d tokens of history would be covered, and a summary takes %d at least", ErrNothingToCompact, replaces, frame+minWords)
			}
			plan.Room = min(room, wanted, replaces-1)
			plan.Words = plan.Room - frame - 4 // joined texts, and a line count that grew, may take more tokens
			break
		}
		if !more {
			return planned{}, fmt.Errorf("%w: %d tokens are left, and a summary takes %d at least", ErrNoRoom, max(0, room), frame+minWords)
		}
		for dropped := point.Tokens - later.Tokens; dropped < clamp.Sum(wanted, excess-room); dropped = point.Tokens - later.Tokens {
			next, ok := later.Later() // still too much is kept, so this cut need not be rendered
			if !ok {
				break
			}
			later = next
		}
		point = later
	}
	chosen := planned{plan, nil, len(covered(point)), len(point.Kept()), point.Over}
	if preamble.Digest != "" && p.ledger.Preambles[preamble.Digest].ID == "" {
		chosen.preamble = &preamble
	}
	return chosen, nil
}

// excess returns how many tokens of the budget are above the limit of the condition that decided.
func (p *planner) excess(s *measured, d Decision) int {
	limit := clamp.Int(float64(d.Limit())/s.Ratio) - s.size.tools
	if d.Limit() == 0 || limit <= 0 {
		return 0
	}
	return max(0, s.Budget-limit)
}

// replacementRoom returns how many tokens a replacement may take so that the prompt still fits with all history that is
// kept.
func (p *planner) replacementRoom(ctx context.Context, prompt elements.Node, s *measured, plan entry.Plan, replaced int) (int, error) {
	nothing := chat.UserMessage("…")
	view, err := p.session.ViewWith(ctx, entry.Compaction{Messages: []chat.Message{nothing}, FirstKept: plan.FirstKept, Thinking: plan.Thinking})
	if err != nil {
		return 0, err
	}
	layout, _, err := p.layOut(ctx, prompt, view, s.Budget, s.newest)
	if err != nil {
		return 0, within("trying the cut", err)
	}
	taken, _, err := layout.Floor(ctx, render.FitOptions{Budget: s.Budget, KeepUnranked: true, History: render.HistoryRequired})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok { // of a limit inside the prompt
		return over.Budget - over.Needed, nil
	}
	if err != nil {
		return 0, within("trying the cut", err)
	}
	cost := counted(p.target.Tokenizer.CountMessage(nothing))
	if taken >= s.floor && replaced > 2*cost {
		return 0, ErrOtherSession
	}
	return s.Budget - taken + cost, nil
}

// thinking returns the newest covered thinking of the turn that is cut, if the kept history must begin with it.
func (p *planner) thinking(point history.CutPoint) []chat.Thinking {
	first := point.Kept()[0]
	if !p.policy.Ask.quirks(p.target.Name).Thinking || first.Start || len(plaintext.Thinking(first.Messages[0])) > 0 {
		return nil
	}
	for _, u := range slices.Backward(covered(point)) {
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
func (p *planner) frame(ctx context.Context, s *measured) (int, error) {
	m := Material{Tokenizer: p.target.Tokenizer, Tools: s.tools(p.target)}
	var err error
	if m.Breadcrumb, err = transcript(ctx, p.session, p.policy, m.Tools); err != nil {
		return 0, err
	}
	m.Reminder = p.policy.Ask.quirks(p.target.Name).Reminder
	result, err := call(ctx, nameReplacement, p.policy.Ask.TimeLimit, func(ctx context.Context) (*render.Result, error) {
		return render.Render(ctx, elements.Nodes{p.policy.Place.Replacement(m)}, render.Options{Budget: 1, PromptBudget: s.Budget, Tokenizer: p.target.Tokenizer})
	})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return over.Needed, nil
	}
	if empty, ok := errors.AsType[*render.EmptyError](err); ok {
		return empty.Result.Tokens, nil
	}
	if err != nil {
		return 0, within("rendering the replacement", err)
	}
	return result.Tokens, nil
}

// transcript returns the breadcrumb of a session: where everything that was said can be looked up.
func transcript(ctx context.Context, s *history.Session, p Policy, tools []chat.Tool) (Breadcrumb, error) {
	kept := s.Transcript()
	if kept.Name == "" || p.Place.NoBreadcrumb {
		return Breadcrumb{}, nil
	}
	lines, err := s.Lines(ctx)
	t := Breadcrumb{Path: kept.Name, Lines: lines}
	if tool, example, ok := breadcrumb.Find(tools, cmp.Or(kept.Tool, p.Place.ReadTool)); ok {
		t.Tool, t.Example = tool, example
	}
	return t, err
}
