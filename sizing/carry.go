package sizing

// Carry is a history that is either carried on with the next request or compacted before it, in tokens of the provider.
type Carry struct {
	// Input of the request without it.
	Input int
	// Head of the request that stays as it is: the tools and the system prompt.
	Head int
	// Summary and Kept are what stands behind the head instead of the history: a summary, and what is kept word for word.
	Summary, Kept int
	// Cold reports whether the cache has nothing of the request, so that all of it is written anyway.
	Cold bool
	// Summarizer has the prices of the model that writes the summary, which reads the history as input that no cache
	// has. Defaults to the agent's own model, which reads it from the cache if that is not cold.
	Summarizer Prices
}

// Base is the input of the request with the compaction.
func (c Carry) Base() int { return c.Head + c.Summary + c.Kept }

// Carrying returns what it costs one request, in dollars, that its input is larger than it would be with the compaction: what
// is more is read from the cache, if the provider has one.
func (p Prices) Carrying(c Carry, input int) float64 {
	return p.Reading(input, input-c.Base())
}

// Reading returns what it costs, in dollars, to send tokens that were sent before, with an input of so many.
func (p Prices) Reading(input, tokens int) float64 {
	return float64(max(0, tokens)) * p.reading(p.At(input)) / 1e6
}

// reading is the rate of input that was sent before.
func (p Prices) reading(r Rates) float64 {
	if p.caches() {
		return r.CacheRead
	}
	return r.Input
}

// Breaking returns what it costs to change a request that the cache has, in dollars: so many tokens stand behind the change, and
// are written instead of read.
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

// Compacting returns what the compaction costs, in dollars: the request for the summary, and what it costs to write the summary
// and what is kept to the cache, and not to read as much from it. If the cache is cold, everything is written anyway, and what
// need not be written any more goes off the request for the summary. It is never below 0.
//
// The rule of ski rental follows: compact as soon as carrying the history since the last compaction has cost as much. It
// needs to know nothing of how the session goes on.
func (p Prices) Compacting(c Carry) float64 {
	r := p.At(c.Input)
	written := float64(max(0, c.Summary)+max(0, c.Kept)) * max(0, r.CacheWrite-p.reading(r))
	if c.Cold && p.caches() {
		written = -float64(max(0, c.Input-c.Base())) * r.CacheWrite
	}
	return max(0, p.Summarizing(c)+written/1e6)
}
