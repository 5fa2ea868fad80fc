package write

import (
	"context"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/summarize/internal/index"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Material returns the material of a compaction that is made by hand, of a session as it is now.
func Material(ctx context.Context, s *history.Session, point history.CutPoint, t policy.Target) (policy.Material, error) {
	view, err := s.View(ctx)
	if err != nil {
		return policy.Material{}, err
	}
	j := &Attempt{ID: s.Leaf(), Plan: entry.Plan{FirstKept: point.FirstKept}, Policy: plan.Complete(policy.Policy{})}
	j.covered, j.prefix = plan.Covered(point), len(point.TurnPrefix())
	m := &j.Material
	m.Previous, m.Kept = index.Without(view.Compacted), history.UnitMessages(point.Kept())
	m.Tools, m.Tokenizer = t.Tools, t.Tokenizer
	if m.Breadcrumb, err = plan.Transcript(ctx, s, j.Policy, t.Tools); err != nil {
		return policy.Material{}, err
	}
	if m.Pinned, err = plan.Pins(ctx, s, j.ID, point.FirstKept, clamp.Share(j.Policy.Replace.Pinned, t.Budget), t.Tokenizer); err != nil {
		return policy.Material{}, err
	}
	shown, _ := shownStarts(point)
	err = j.readPath(ctx, s, shown)
	return j.Whole(), err
}
