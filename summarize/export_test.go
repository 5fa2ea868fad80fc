package summarize

import "github.com/promptree-go/promptree/elements"

// ShortenRequest returns the request to shorten a draft.
func ShortenRequest(m Material, draft string) elements.Node {
	m.Summary = draft
	return shortenRequest(m)
}

// QuirksOf returns the quirks of the model with that name.
func QuirksOf(a Ask, model string) Quirk { return a.quirks(model) }

// Late returns the error about listeners that Close will return.
func (c *Compactor) Late() error {
	c.inner.eventMu.Lock()
	defer c.inner.eventMu.Unlock()
	return c.inner.listenerErrs
}
