package summarize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/internal/plan"
)

// warn emits an event once what no compaction makes smaller, all but the history before the newest question, takes nine
// tenths of what the prompt may take.
func (w *walker) warn(ctx context.Context, s *plan.Rendered, b render.Breakdown) {
	most := s.Size.Nominal + s.Size.Tools
	near := most - most/10
	fixed := b.Total() - b.History
	if n := len(s.View.Turns); n > 0 && b.Total() >= near {
		if m, says := s.View.Turns[n-1].Message(); says {
			question, err := guard.Value(ctx, guard.NameTokenizer, func() int { return guard.Counted(w.target.Tokenizer.CountMessage(m)) })
			if err != nil {
				return
			}
			fixed += question
		}
	}
	w.c.inner.mu.Lock()
	warned := w.c.inner.warned
	w.c.inner.warned = fixed >= near
	w.c.inner.mu.Unlock()
	if fixed < near || warned {
		return
	}
	largest := slices.DeleteFunc(s.Result.Report().Kept(), func(p render.Piece) bool { return p.Category == elements.CategoryHistory })
	slices.SortStableFunc(largest, func(a, b render.Piece) int { return cmp.Compare(b.Tokens, a.Tokens) })
	why := []string{fmt.Sprintf("what cannot be compacted takes %d of %d tokens", fixed, most)}
	for _, p := range largest[:min(3, len(largest))] {
		why = append(why, fmt.Sprintf("%s (%d)", p.Path, p.Tokens))
	}
	w.c.emit(ctx, event.Event{Kind: event.Crowded, Reason: s.Occasion, Why: strings.Join(why, ", "), Size: event.Size{Base: s.Base, TokensAfter: fixed, Breakdown: b}})
}
