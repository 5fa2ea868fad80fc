package sizing

// Carry describes the choice between carrying a history, which is to send all of it again with the next request, and
// compacting it first. All fields are tokens by the provider's count.
type Carry struct {
	// Input of the request without the compaction.
	Input int
	// Head is the part of the request that stays as it is: the tools and the system prompt.
	Head int
	// Summary and Kept replace the history behind the head: the summary, and what is kept word for word.
	Summary, Kept int
	// Cold reports whether the cache holds nothing of the request, so that all of it is written anyway.
	Cold bool
	// Summarizer holds the prices of the model that writes the summary, which reads the history uncached. Defaults to
	// the agent's own model, which reads the history from the cache unless that is cold.
	Summarizer Prices
}

// Base returns the input of the request if the history is compacted.
func (c Carry) Base() int { return c.Head + c.Summary + c.Kept }

// Carrying returns the part of a request's cost, in dollars, that the compaction would save, because its input would be
// smaller. The difference is charged as a cache read if the provider has a cache.
func (p Prices) Carrying(c Carry, input int) float64 {
	return p.Reading(input, input-c.Base())
}

// Reading returns the cost, in dollars, of sending tokens that were sent before, in a request with that input.
func (p Prices) Reading(input, tokens int) float64 {
	return float64(max(0, tokens)) * p.reading(p.At(input)) / 1e6
}

// reading returns the rate for input that was sent before.
func (p Prices) reading(r Rates) float64 {
	if p.caches() {
		return r.CacheRead
	}
	return r.Input
}

// Breaking returns the cost, in dollars, of changing a cached request: the tokens behind the change are written instead
// of read.
func (p Prices) Breaking(input, behind int) float64 {
	r := p.At(input)
	return float64(max(0, behind)) * max(0, r.CacheWrite-p.reading(r)) / 1e6
}

// Summarizing returns the cost of the request for the summary, in dollars.
func (p Prices) Summarizing(c Carry) float64 {
	r := p.At(c.Input)
	input := p.reading(r)
	if c.Cold {
		input = r.Input
	}
	if c.Summarizer != (Prices{}) {
		r = c.Summarizer.At(c.Input)
		input = r.Input
	}
	return (float64(max(0, c.Input))*input + float64(max(0, c.Summary))*r.Output) / 1e6
}

// Compacting returns the cost of the compaction, in dollars: the request for the summary, plus writing the summary and
// the kept messages to the cache, less reading as much from it. If the cache is cold, everything is written anyway, so
// the tokens that the compaction saves are subtracted from the cost at the rate of a write. The result is never below
// 0.
//
// It is the buying price in the ski rental problem: compact as soon as carrying the history since the last compaction
// has cost as much. That needs no knowledge of the rest of the session.
func (p Prices) Compacting(c Carry) float64 {
	r := p.At(c.Input)
	written := float64(max(0, c.Summary)+max(0, c.Kept)) * max(0, r.CacheWrite-p.reading(r))
	if c.Cold && p.caches() {
		written = -float64(max(0, c.Input-c.Base())) * r.CacheWrite
	}
	return max(0, p.Summarizing(c)+written/1e6)
}
