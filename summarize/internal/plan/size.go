package plan

import (
	"context"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/journal"
	"github.com/promptree-go/promptree/summarize/policy"
)

// ToolTokens returns the tokens of a target's tool definitions.
func ToolTokens(t policy.Target) int {
	tools := t.Tools
	if f := t.Shape.Format; f != nil { // providers count a schema as that of a tool, or tell nobody
		tools = append(slices.Clip(tools), f.Tool())
	}
	return guard.Counted(t.Tokenizer.CountTools(tools))
}

// Declared returns the tools to declare with a prompt in which the given tools are left: the target's, and these.
func Declared(t policy.Target, left []chat.Tool) []chat.Tool {
	if len(left) == 0 {
		return t.Tools
	}
	return slices.Concat(t.Tools, left)
}

// ContextWindow returns the tokens that a target's model takes in.
func ContextWindow(t policy.Target) int {
	if t.ContextWindow > 0 {
		return t.ContextWindow
	}
	return clamp.Sum(t.Budget, ToolTokens(t))
}

// Size holds the current limits of a prompt and the size of the target's tools, in tokens. Nominal is the budget that the
// target and the policy set. Compactions are planned within budget, which is lower once a limit was confirmed, and the
// prompt is sent within send, which is lower after any refusal.
type Size struct{ budget, send, Nominal, base, Tools int }

// contradicted is how often a size must be refused, each time after it was let go, to be a limit for compactions although the
// model accepted a request of more than twice the size before.
const contradicted = 4

// confirmed returns the size within which compactions are planned ([entry.Fact.Confirmed]), given the largest that was
// accepted.
func confirmed(f entry.Fact, accepted, nominal int) int {
	if f.Tries < contradicted && f.Tokens < accepted/2 {
		return nominal
	}
	return f.Confirmed(nominal)
}

// sizeOf computes the limits of a prompt: the target's budget, lowered by the policy's threshold, by what the session
// remembers of refusals, and to most, unless that is 0; compactions too, if bound is set. Ratios are of base. inPrompt
// reports whether tools are in the prompt.
func sizeOf(t policy.Target, p policy.Policy, l *journal.Ledger, inPrompt bool, most int, bound bool) (Size, error) {
	s := Size{Nominal: t.Budget, base: ContextWindow(t), Tools: ToolTokens(t)}
	learnt := Learnt(l.Remembered, t)
	ceiling := learnt.Agent
	if confirmed(ceiling, learnt.Counted, math.MaxInt) < math.MaxInt {
		s.base = min(s.base, clamp.Int(math.Ceil(max(1, l.Ratio(t.Name))*float64(ceiling.Tokens))))
	}
	base, err := p.Counting.Base(s.base, 0, false)
	if err != nil {
		return s, err
	}
	if p.Counting.Threshold != 0 {
		budget, err := p.Counting.Base(ContextWindow(t), s.Tools, inPrompt)
		if err != nil {
			return s, err
		}
		s.Nominal = min(s.Nominal, budget)
	}
	if p.Counting.LoweredBase {
		s.base = min(base, clamp.Sum(t.Budget, s.Tools))
	}
	whole := clamp.Sum(s.Nominal, s.Tools)
	within := func(size int) int {
		if size >= whole {
			return s.Nominal
		}
		return max(1, size-s.Tools) // the renderer refuses a budget below 1
	}
	s.budget, s.send = within(confirmed(ceiling, learnt.Counted, whole)), within(ceiling.Size(whole))
	if most > 0 {
		s.send = min(s.send, within(most))
	}
	if bound {
		s.budget = s.send
	}
	s.send = min(s.send, s.budget)
	return s, nil
}

// Breakdown returns where the tokens of a prompt are, with the tools that the target declares beside it; the zero value if
// the tokenizer fails. What a last resort put into a prompt, or left of it without rendering it, is history; its system
// messages have no category.
func Breakdown(ctx context.Context, t policy.Target, r *render.Result) render.Breakdown {
	b, _ := guard.Value(ctx, guard.NameTokenizer, func() render.Breakdown {
		b := r.Breakdown()
		if b == (render.Breakdown{}) {
			b.Tools = guard.Counted(t.Tokenizer.CountTools(r.Tools))
			for _, m := range r.Messages {
				if m.Role == chat.RoleSystem {
					b.Other += guard.Counted(t.Tokenizer.CountMessage(m))
				}
			}
		}
		b.History += r.Tokens - b.Total()
		b.Tools += ToolTokens(t)
		return b
	})
	return b
}

// Breakdown returns where the tokens of the prompt are, with the tools that the target declares beside it; of what is
// needed if the prompt does not fit.
func (r *Rendered) Breakdown(ctx context.Context, t policy.Target) render.Breakdown {
	if r.Over == nil {
		return Breakdown(ctx, t, r.Result)
	}
	b, _ := guard.Value(ctx, guard.NameTokenizer, func() render.Breakdown {
		b := r.Over.Breakdown
		b.Tools += ToolTokens(t)
		return b
	})
	return b
}
