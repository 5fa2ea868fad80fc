package summarize

import "github.com/promptree-go/promptree/elements"

// ShortenRequest is for a summary that is too long.
func ShortenRequest(m Material, draft string) elements.Node {
	m.Summary = draft
	return shortenRequest(m)
}

// QuirksOf returns what a model of a name needs.
func QuirksOf(a Ask, model string) Quirk { return a.quirks(model) }

// TitleOf is a summary's title.
var TitleOf = titleOf

// Late returns what Close will say of listeners.
func (c *Compactor) Late() error {
	c.inner.telling.Lock()
	defer c.inner.telling.Unlock()
	return c.inner.late
}
