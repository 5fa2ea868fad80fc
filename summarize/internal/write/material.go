package write

import (
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Material returns the material of a compaction that is made by hand, of a session as it is now, with the point at which
// the rule cuts it.
func Material(ctx context.Context, s *history.Session, cut history.Cut, t policy.Target) (policy.Material, history.CutPoint, error) {
	view, err := s.View(ctx)
	if err != nil {
		return policy.Material{}, history.CutPoint{}, err
	}
	point, err := cut.Find(ctx, view, elements.Sizing{TokenBudget: t.Budget, PromptBudget: t.Budget, Tokenizer: t.Tokenizer})
	if err != nil {
		return policy.Material{}, history.CutPoint{}, err
	}
	j := &Attempt{ID: s.Leaf(), Plan: entry.Plan{FirstKept: point.FirstKept}, Policy: plan.Complete(policy.Policy{})}
	j.Plan.Pinned = clamp.Share(j.Policy.Replace.Pinned, t.Budget)
	j.covered, j.prefix = plan.Covered(point), len(point.TurnPrefix())
	j.Material.Tools, j.Material.Tokenizer = t.Tools, t.Tokenizer
	err = j.read(ctx, s, view, point)
	return j.Whole(), point, err
}
