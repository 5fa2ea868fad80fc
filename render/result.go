package render

import (
	"context"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// result returns what is left.
func (f *fitting) result(budget int) *Result {
	t, left := f.state.Tree, f.state.At(tree.Latest)
	result := &Result{Messages: join.Messages(f.state), Tools: f.tools(), Tokens: f.count.Count(tree.Root), Budget: budget, Metadata: f.metadata()}
	if len(t.References) > 0 {
		var kept []elements.Reference
		left.Walk(tree.Root, func(n tree.ID) { kept = append(kept, t.Extra(n).References...) })
		result.References, result.OmittedReferences = splitReferences(t.References, kept)
	}
	tokens, options := result.Tokens, FitOptions{Budget: budget, KeepUnranked: f.unranked, History: f.growth.mode}
	result.survey = func(ctx context.Context) (*survey, error) { return f.layout.survey(ctx, options) }
	var counting sync.Mutex // guards the fitting's counter
	result.listing = sync.OnceValue(func() listing {
		counting.Lock()
		defer counting.Unlock()
		all, _ := guarded(context.Background(), f.layout.layouter, func(context.Context, *guard.Watch) (listing, error) {
			r := (&reporter{fit: f}).run(tree.Root)
			return listing{Report{tokens, f.cacheLost, r.pieces}, r.refs, r.outline, r.sent}, nil
		})
		return all
	})
	result.breakdown = sync.OnceValue(func() Breakdown {
		counting.Lock()
		defer counting.Unlock()
		b, _ := guarded(context.Background(), f.layout.layouter, func(context.Context, *guard.Watch) (Breakdown, error) { return f.breakdown(tree.Root), nil })
		return b
	})
	result.outlineOnce = sync.OnceValue(func() *Outline { return f.layout.counted(result) })
	return result
}

// metadata returns the global values in the order of layout, then the local values of the nodes that are left, in
// document order.
func (f *fitting) metadata() elements.Metadata {
	all := append(elements.Metadata(nil), f.state.Tree.Globals...)
	if f.state.Tree.HasLocals {
		f.state.At(tree.Latest).Walk(tree.Root, func(n tree.ID) { all = append(all, f.state.Tree.Extra(n).Locals...) })
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
