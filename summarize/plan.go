package summarize

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/breadcrumb"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/render"
)

// planner decides what a compaction covers, keeps and may take.
type planner struct{ *measurer }

// planned is a plan with what must be stored beside it.
type planned struct {
	history.Plan
	preamble      *history.Preamble // nil if it is stored already
	covered, kept int               // units
	over          bool              // what is kept takes more than the rule allows
}

// plan chooses the cut, by what the prompt would take with it. If what the policy keeps leaves no room for a summary, or takes so
// much with it that the condition which decided would hold at once again, one round less is kept, and so on, down to the newest.
func (p *planner) plan(ctx context.Context, prompt elements.Node, s *measured, d Decision, instructions string) (planned, error) {
	frame, err := p.frame(ctx, s)
	if err != nil {
		return planned{}, err
	}
	return call(ctx, namePrompt, 0, func(ctx context.Context) (planned, error) { return p.chosen(ctx, prompt, s, d, instructions, frame) })
}

// chosen returns the plan for what is put in place with a frame of so many tokens.
func (p *planner) chosen(ctx context.Context, prompt elements.Node, s *measured, d Decision, instructions string, frame int) (planned, error) {
	point, err := p.cut(ctx, s)
	if errors.Is(err, history.ErrNoCut) {
		return planned{}, ErrNothingToCompact
	} else if err != nil {
		return planned{}, err
	}
	system := slices.DeleteFunc(slices.Clone(s.messages()), func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	preamble, err := newPreamble(system, s.tools(p.target))
	if err != nil {
		return planned{}, err
	}
	plan := history.Plan{
		Policy: p.policy.Name, Occasion: string(s.Occasion), Instructions: instructions, Mode: string(p.policy.Ask.Mode),
		Used: s.Used, Limit: d.Limit(), Base: s.Base, TokensBefore: s.tokens(), Model: p.target.Name,
		Background: d.Do == ActStart, Until: time.Now().Add(p.policy.Ask.TimeLimit), Preamble: preamble.Digest,
	}
	wanted := max(p.room(s.Budget), frame+minWords)
	above := p.above(s, d) // which must go too, or the condition holds at once again
	for {
		plan.FirstKept = point.FirstKept
		plan.Thinking = p.thinking(point)
		helps := replaced(p.target.Tokenizer, s.view.Compacted, covered(point))
		room, err := p.free(ctx, prompt, s, plan, helps)
		if err != nil {
			return planned{}, err
		}
		later, more := point.Later()
		if room-above >= wanted || !more && room >= frame+minWords {
			for _, t := range plan.Thinking { // which is shown on
				helps -= counted(p.target.Tokenizer.CountPart(t))
			}
			if helps <= frame+minWords {
				return planned{}, fmt.Errorf("%w: %d tokens of history would be covered, and a summary takes %d at least", ErrNothingToCompact, helps, frame+minWords)
			}
			plan.Room = min(room, wanted, helps-1)
			plan.Words = plan.Room - frame - 4 // what is joined may count more, and so may a line count that grew
			break
		}
		if !more {
			return planned{}, fmt.Errorf("%w: what must be kept leaves %d tokens, and a summary takes %d at least", ErrNoRoom, max(0, room), frame+minWords)
		}
		for dropped := point.Tokens - later.Tokens; dropped < clamp.Sum(wanted, above-room); dropped = point.Tokens - later.Tokens {
			next, ok := later.Later() // still too much is kept: no need to render
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

// above returns how many tokens of the budget are above the limit of the condition that decided.
func (p *planner) above(s *measured, d Decision) int {
	limit := clamp.Int(float64(d.Limit())/s.Ratio) - s.size.tools
	if d.Limit() == 0 || limit <= 0 {
		return 0
	}
	return max(0, s.Budget-limit)
}

// free returns how many tokens what is put in place may take so that the prompt fits with it and all its history.
func (p *planner) free(ctx context.Context, prompt elements.Node, s *measured, plan history.Plan, replaced int) (int, error) {
	nothing := chat.UserMessage("…")
	view, err := p.session.ViewWith(ctx, history.Compaction{Messages: []chat.Message{nothing}, FirstKept: plan.FirstKept, Thinking: plan.Thinking})
	if err != nil {
		return 0, err
	}
	layout, err := p.lay(ctx, prompt, view, s.Budget)
	if err != nil {
		return 0, fmt.Errorf("summarize: trying the cut: %w", err)
	}
	taken, _, err := layout.Floor(ctx, render.FitOptions{Budget: s.Budget, KeepUnranked: true, History: render.HistoryRequired})
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok { // a limit in the prompt
		return over.Budget - over.Needed, nil
	}
	if err != nil {
		return 0, fmt.Errorf("summarize: trying the cut: %w", err)
	}
	cost := counted(p.target.Tokenizer.CountMessage(nothing))
	if taken >= s.floor && replaced > 2*cost {
		return 0, ErrOtherSession
	}
	return s.Budget - taken + cost, nil
}

// thinking returns what the model thought last of what is covered, if what is kept is to begin with it.
func (p *planner) thinking(point history.CutPoint) []chat.Thinking {
	first := point.Kept()[0]
	if !p.policy.Ask.quirks(p.target.Name).Thinking || first.Start || len(thoughts(first.Messages[0])) > 0 {
		return nil
	}
	for _, u := range slices.Backward(covered(point)) {
		if u.Start {
			break // another turn
		}
		if list := thoughts(u.Messages[0]); len(list) > 0 {
			return list
		}
	}
	return nil
}

// frame returns what is put in place takes at least without the summary's words, in tokens.
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
	if err != nil {
		return 0, fmt.Errorf("summarize: rendering what is put in place: %w", err)
	}
	return result.Tokens, nil
}

// newPreamble returns the system messages and tools of a prompt with their digest, which is "" if there are none.
func newPreamble(system []chat.Message, tools []chat.Tool) (history.Preamble, error) {
	p := history.Preamble{System: system, Tools: tools}
	if len(system)+len(tools) == 0 {
		return p, nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("summarize: the system messages and tools: %w", err)
	}
	p.Digest = digest(data, 16)
	return p, nil
}

// digest names data by so many bytes of its hash, in hexadecimal.
func digest(data []byte, size int) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:size])
}

// transcript says where everything that was said can be looked up.
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
