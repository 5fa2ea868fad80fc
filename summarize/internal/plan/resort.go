package plan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

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

// lastResort makes a prompt fit that nothing else makes fit: as the policy's last resort does, else without history that is
// Droppable. If less than the nominal budget may be sent because of refusals, history is left out in any case, and if
// nothing fits that it is not believed: the result is the smallest prompt that can be sent.
func (p *Planner) lastResort(ctx context.Context, s *Rendered) Resorted {
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
