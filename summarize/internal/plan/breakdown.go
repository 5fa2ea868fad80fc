package plan

import (
	"context"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
)

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
func (r *Rendered) Breakdown(ctx context.Context, t policy.Target) (b render.Breakdown) {
	switch {
	case r.Over != nil:
		b, _ = guard.Value(ctx, guard.NameTokenizer, func() render.Breakdown {
			b := r.Over.Breakdown
			b.Tools += ToolTokens(t)
			return b
		})
	case r.Result != nil:
		b = Breakdown(ctx, t, r.Result)
	}
	return b
}
