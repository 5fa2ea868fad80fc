package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Resorted is the result of the last resort for a prompt that does not fit.
type Resorted struct {
	Result *render.Result // nil if it does not help
	Event  event.Kind
	Err    error // of a caller's function, or the context's end
}

// lastResort makes a prompt fit that nothing else makes fit, as [Planner.letGo] does. Where less than the nominal budget may be
// sent because of refusals, what that leaves out of the newest round is cut instead: else the agent would make the same call
// again. At least half of the room is for it, as far as history stands before it.
func (p *Planner) lastResort(ctx context.Context, s *Rendered, prompt elements.Node) Resorted {
	r := p.letGo(ctx, s)
	if s.Size.send >= s.Size.Nominal || ctx.Err() != nil {
		return r
	}
	units := s.View.Units(p.Policy.Cut.Limits, p.Sizing())
	if len(units) == 0 {
		return r
	}
	newest := units[len(units)-1].Messages
	last := newest[len(newest)-1]
	shows := func(r Resorted) bool {
		return r.Result != nil && r.Result.Tokens <= s.Size.send && slices.ContainsFunc(r.Result.Messages, func(m chat.Message) bool {
			return m.Role == chat.RoleTool && m.ToolCallID == last.ToolCallID
		})
	}
	if last.Role != chat.RoleTool || shows(r) {
		return r
	}
	cut, err := guard.Call(ctx, guard.NamePrompt, 0, func(ctx context.Context) (*Rendered, error) { return p.cutNewest(ctx, s, prompt) })
	if err != nil || cut == nil {
		r.Err = cmp.Or(r.Err, err)
		return r
	}
	if cut.Over == nil {
		return Resorted{Result: cut.Result, Event: cmp.Or(r.Event, event.LetGo)}
	}
	if then := p.letGo(ctx, cut); shows(then) {
		return then
	}
	return r
}

// cutNewest returns a prompt with the newest round cut to what may be sent beside all that is not history, the message that
// it answers, and earlier history up to as much; nil if there is no room for some words of it.
func (p *Planner) cutNewest(ctx context.Context, s *Rendered, prompt elements.Node) (*Rendered, error) {
	_, beside, earlier, err := p.besideNewest(ctx, s, s.Over.Needed)
	if start, ok := s.View.Turns[len(s.View.Turns)-1].Message(); ok {
		beside += guard.Counted(p.Target.Tokenizer.CountMessage(start))
	}
	left := s.Size.send - beside
	if err != nil || left < policy.MinWords {
		return nil, err
	}
	cut := *s
	cut.Over, cut.Newest = nil, left-min(earlier, left/2)
	if cut.layout, cut.Shown, err = p.LayOut(ctx, prompt, s.View, s.Budget, cut.Newest); err != nil {
		return nil, err
	}
	cut.Result, err = cut.layout.Fit(ctx, s.Size.send)
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		cut.Over, err = over, nil
	}
	return &cut, err
}

// letGo makes a prompt fit as the policy's last resort does, else without history that is Droppable. If less than the nominal
// budget may be sent because of refusals, history is left out in any case, and if nothing fits that it is not believed: the
// result is the smallest prompt that can be sent.
func (p *Planner) letGo(ctx context.Context, s *Rendered) Resorted {
	lowered := s.Size.send < s.Size.Nominal
	if p.Policy.Overflow.LastResort == policy.ResortTruncate {
		return p.truncated(ctx, s, lowered)
	}
	o := render.FitOptions{Budget: s.Size.send, KeepUnranked: true}
	if lowered || p.Policy.Overflow.LastResort == policy.ResortDrop {
		o.KeepUnranked, o.History = false, render.HistoryDroppable
	}
	fit := func() (*render.Result, error) {
		return guard.Call(ctx, guard.NamePrompt, 0, func(ctx context.Context) (*render.Result, error) { return s.layout.FitWith(ctx, o) })
	}
	result, err := fit()
	over, exceeded := errors.AsType[*render.BudgetExceededError](err)
	if exceeded && lowered && over.Limit == "" && over.Needed <= s.Size.Nominal {
		o.Budget = over.Needed
		result, err = fit()
	}
	if err != nil || FromUser(s.Over.Messages) && !FromUser(result.Messages) {
		return Resorted{Err: err}
	}
	messages := result.Messages
	if n := len(messages); n > 0 && messages[n-1].Role == chat.RoleAssistant { // after a turn the user speaks next
		messages = append(slices.Clip(messages), chat.UserMessage("…"))
	}
	if chat.Validate(messages) != nil { // what is left cannot be sent
		return Resorted{}
	}
	return Resorted{Result: result, Event: event.LetGo}
}

// noteLeftOut returns the result with a note behind the system messages that says how the agent reads the history that it
// leaves out, if the agent can and there is room.
func (p *Planner) noteLeftOut(ctx context.Context, s *Rendered, r Resorted) Resorted {
	if r.Result == nil || len(r.Result.Messages) >= len(s.Over.Messages) || len(s.View.Turns) == 0 {
		return r
	}
	first := s.View.Turns[0].Start
	if rounds := s.View.Turns[0].Rounds; first.ID == "" && len(rounds) > 0 {
		first = rounds[0].Assistant
	}
	whole, err := p.Session.Entry(ctx, first.ID)
	handle := p.Session.Handle(whole, 0, 0)
	if err != nil || handle == "" {
		return r
	}
	note := chat.UserMessage(fmt.Sprintf("[%d messages of this conversation left out here, from %s on]", len(s.Over.Messages)-len(r.Result.Messages), handle))
	noted := *r.Result
	counted, err := guard.Value(ctx, guard.NameTokenizer, func() int { return guard.Counted(p.Target.Tokenizer.CountMessage(note)) })
	if noted.Tokens = clamp.Sum(noted.Tokens, counted); err != nil || noted.Tokens > noted.Budget {
		return r
	}
	at := slices.IndexFunc(noted.Messages, func(m chat.Message) bool { return m.Role != chat.RoleSystem })
	noted.Messages = slices.Insert(slices.Clone(noted.Messages), max(0, at), note)
	r.Result = &noted
	return r
}

// truncated returns the prompt without its oldest messages.
func (p *Planner) truncated(ctx context.Context, s *Rendered, lowered bool) Resorted {
	if len(s.Over.Messages) == 0 {
		return Resorted{}
	}
	g := history.Truncator{
		Tokenizer: p.Target.Tokenizer, Limit: s.Size.send + s.Size.Tools,
		Last: func(m chat.Message) bool { // what is not of the conversation, or stands for it, goes last
			return !slices.ContainsFunc(s.View.Turns, func(t history.Turn) bool {
				said, ok := t.Message()
				return ok && reflect.DeepEqual(said, m)
			})
		},
	}
	result, err := guard.Value(ctx, guard.NameTokenizer, func() *render.Result {
		messages, _ := g.Truncate(s.Over.Messages, s.PromptTools(p.Target))
		r := &render.Result{Messages: messages, Tools: s.Over.Tools, Budget: s.Size.send, Metadata: s.Over.Metadata}
		r.Tokens = guard.Counted(p.Target.Tokenizer.CountTools(r.Tools))
		r.Tokens += Replaced(p.Target.Tokenizer, messages, nil)
		if r.Tokens > s.Size.send && !(lowered && r.Tokens <= s.Size.Nominal) {
			return nil
		}
		return r
	})
	return Resorted{Result: result, Event: event.Truncated, Err: err}
}

// FromUser reports whether a message is the user's.
func FromUser(messages []chat.Message) bool {
	return slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Role == chat.RoleUser })
}
