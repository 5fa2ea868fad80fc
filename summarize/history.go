package summarize

import (
	"context"
	"errors"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// History shows the session of a compactor, as [history.All] does, in a tree that render.Render renders. With Compact it
// is the element that makes the tree fit.
type History struct {
	elements.Props
	// Compactor whose session is shown. The tokenizer and the budget of its target are those of the render.
	Compactor *Compactor
	// Compact has the session compacted if the tree does not fit, by as much as it is over, and then shows it. The
	// compactor does so as if a user had asked for it ([Compactor.Compact]); if it fails, the render's error holds the
	// reason beside the budget error. In [Compactor.Render], which compacts as its policy says, Compact is an error. Off
	// by default.
	Compact bool
	// Limits of a round.
	Limits history.RoundLimits
}

// ElementProps returns the properties, with Required.
func (h History) ElementProps() elements.Props {
	h.Props.Required = true
	return h.Props
}

// ShowsHistory marks the element as one that shows history.
func (h History) ShowsHistory() {}

// IgnoresBudget marks the element as one whose size does not depend on its budget.
func (h History) IgnoresBudget() {}

// Render shows the session.
func (h History) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	switch {
	case h.Compactor == nil || h.Compactor.Session == nil:
		return nil, errors.New("summarize: History.Compactor is not set, or has no Session: set the compactor of the session to show")
	case h.Compact && plan.LaysOut(ctx):
		return nil, errors.New("summarize: History.Compact is set in a prompt that a Compactor renders: leave it unset, because the compactor compacts by itself, as its policy says")
	}
	return history.All{Session: h.Compactor.Session, Limits: h.Limits}, nil
}

// MakeRoom has the session compacted so that it takes over tokens less.
func (h History) MakeRoom(ctx context.Context, over int) (bool, error) {
	if !h.Compact {
		return false, nil
	}
	w, ctx, err := h.Compactor.onDemand(ctx, policy.OnDemand)
	if err != nil {
		return false, err
	}
	defer w.release()
	w.prompt, w.alone = history.All{Session: h.Compactor.Session, Limits: h.Limits}, true
	now, err := w.measure(ctx, policy.OnDemand)
	if err != nil {
		return false, err
	}
	left := max(1, now.PromptTokens()-over)
	w.spare, w.most = max(1, w.target.Budget-left), left+now.Size.Tools
	_, err = w.demanded(ctx, policy.OnDemand, "")
	return err == nil, err
}
