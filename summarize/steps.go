package summarize

import (
	"context"

	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/event"
)

// Emit passes an event to the observers, with the session and the policy filled in: for what an agent does between two
// prompts, and for a compaction that a provider or a remote agent made by itself ([event.Reported]).
func (c *Compactor) Emit(ctx context.Context, e event.Event) {
	c.init()
	c.emit(ctx, e)
}

// Shown returns the id of the session's leaf when a prompt was rendered, "" if that is not known because another prompt was
// rendered since.
func (c *Compactor) Shown(result *render.Result) string {
	if last := c.lastSent(); result != nil && last.result == result {
		return last.leaf
	}
	return ""
}
