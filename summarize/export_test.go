package summarize

import (
	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// ShortenRequest returns the request to shorten a draft.
func ShortenRequest(m policy.Material, draft string) elements.Node {
	m.Summary = draft
	return prompts.Shorten(m)
}

// Late returns the error about listeners that Close will return.
func (c *Compactor) Late() error {
	c.inner.observers.mu.Lock()
	defer c.inner.observers.mu.Unlock()
	return c.inner.observers.failed
}
