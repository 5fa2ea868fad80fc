package sizing

// Carry describes the choice between carrying a history on with the next request and compacting it before. All fields
// are tokens by the provider's count.
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

// Carrying returns what one request costs, in dollars, because its input is larger than it would be with the
// compaction. The difference is charged as a cache read if the provider has a cache.
func (p Prices) Carrying(c Carry, input int) float64 {
	return p.Reading(input, input-c.Base())
}

// Reading returns what it costs, in dollars, to send tokens that were sent before, in a request of that input.
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

// Breaking returns what it costs, in dollars, to change a request that is cached: the tokens behind the change are
// written instead of read.
func (p Prices) Breaking(input, behind int) float64 {
	r := p.At(input)
	return float64(max(0, behind)) * max(0, r.CacheWrite-p.reading(r)) / 1e6
}

// Summarizing returns what the request for the summary costs, in dollars.
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

// Compacting returns what the compaction costs, in dollars: the request for the summary, plus writing the summary and
// what is kept to the cache, less reading as much from it. If the cache is cold, everything is written anyway, and what
// need no longer be written is subtracted from the request for the summary. The result is never below 0.
//
// It is the buying price in the ski rental problem: compact as soon as carrying the history since the last compaction
// has cost as much. That needs no knowledge of how the session goes on.
func (p Prices) Compacting(c Carry) float64 {
	r := p.At(c.Input)
	written := float64(max(0, c.Summary)+max(0, c.Kept)) * max(0, r.CacheWrite-p.reading(r))
	if c.Cold && p.caches() {
		written = -float64(max(0, c.Input-c.Base())) * r.CacheWrite
	}
	return max(0, p.Summarizing(c)+written/1e6)
}
