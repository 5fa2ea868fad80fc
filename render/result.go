package render

import (
	"context"

	"github.com/promptree-go/promptree/elements"
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
	options := FitOptions{Budget: budget, KeepUnranked: f.unranked, History: f.growth.mode}
	result.survey = func(ctx context.Context) (*survey, error) { return f.layout.survey(ctx, options) }
	result.left, result.all = f.accounts()
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
