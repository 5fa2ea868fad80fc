package render

import (
	"context"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// result returns the prompt as it was after a step.
func (f *fitting) result(budget, tokens int, at tree.Step) *Result {
	seen := at
	if at == f.state.Now {
		seen = tree.Latest // the same, but faster to read
	}
	result := &Result{Messages: join.Messages(f.state, seen), Tools: f.tools(seen), Tokens: tokens, Budget: budget, Metadata: f.metadata(seen)}
	if len(f.state.Tree.References) > 0 {
		var left []elements.Reference
		f.state.At(seen).Walk(tree.Root, func(n tree.ID) { left = append(left, f.state.Tree.Extra(n).References...) })
		result.References, result.OmittedReferences = splitReferences(f.state.Tree.References, left)
	}
	trimmed := f.state.AllTrimmed()
	options := FitOptions{Budget: budget, KeepUnranked: f.unranked, History: f.growth.mode}
	result.survey = func(ctx context.Context) (*survey, error) { return f.layout.survey(ctx, options) }
	result.listing = sync.OnceValue(func() listing {
		all, _ := fitted(context.Background(), f.layout, func(ctx context.Context, w *guard.Watch) (all listing, err error) {
			if err := f.layout.takeTurn(ctx, w); err != nil {
				return all, err
			}
			defer f.layout.releaseTurn(w)
			f.layout.dropRunsOnPanic(func() {
				for at != tree.Latest && f.state.Now < at { // another fit rewound the run
					f.step(tree.Root)
				}
				r := (&reporter{fit: f, at: at, trimmed: trimmed}).run(tree.Root)
				all = listing{Report{tokens, r.pieces}, r.refs, r.outline, r.sent}
			})
			return all, nil
		})
		return all
	})
	result.outlineOnce = sync.OnceValue(func() *Outline { return f.layout.counted(result) })
	return result
}

// metadata returns the global values in the order of layout, then the local values of the nodes left after a step, in
// document order.
func (f *fitting) metadata(at tree.Step) elements.Metadata {
	all := append(elements.Metadata(nil), f.state.Tree.Globals...)
	if f.state.Tree.HasLocals {
		f.state.At(at).Walk(tree.Root, func(n tree.ID) { all = append(all, f.state.Tree.Extra(n).Locals...) })
	}
	return all
}

// splitReferences separates the references that were kept from those that were omitted, each name once.
func splitReferences(before, after []elements.Reference) (kept, omitted []elements.Reference) {
	seen := map[string]bool{}
	pick := func(from []elements.Reference) (list []elements.Reference) {
		for _, r := range from {
			if !seen[r.Name] {
				seen[r.Name] = r.Name != ""
				list = append(list, r)
			}
		}
		return list
	}
	return pick(after), pick(before)
}
