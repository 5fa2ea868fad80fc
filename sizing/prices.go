package sizing

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Rates are a provider's prices, in US dollars per million tokens. The zero value is free.
type Rates struct {
	// Input is the rate for input that the cache neither served nor stored.
	Input float64 `json:"input"`
	// CacheRead is the rate for input that the cache served. Defaults to Input.
	CacheRead float64 `json:"read,omitempty"`
	// CacheWrite is the rate for input that the cache stored. Defaults to Input, for providers that charge nothing
	// extra for it.
	CacheWrite float64 `json:"write,omitempty"`
	// CacheWriteLong is the rate for input that the cache stored for the longer of two lifetimes. Defaults to
	// CacheWrite.
	CacheWriteLong float64 `json:"writeLong,omitempty"`
	// Output is the rate of the answer, thinking included.
	Output float64 `json:"output"`
}

// withDefaults returns the rates with defaults filled in.
func (r Rates) withDefaults() Rates {
	r.CacheRead = cmp.Or(r.CacheRead, r.Input)
	r.CacheWrite = cmp.Or(r.CacheWrite, r.Input)
	r.CacheWriteLong = cmp.Or(r.CacheWriteLong, r.CacheWrite)
	return r
}

// Prices are the rates of a model and the lifetime of its provider's prompt cache. As JSON they are as in a row of
// package modelinfo, with lifetimes in nanoseconds.
type Prices struct {
	Rates
	// LongInput is the input, in tokens, above which the whole request is charged by LongRates. 0 means no such limit.
	LongInput int   `json:"above,omitempty"`
	LongRates Rates `json:"long,omitzero"`
	// Lifetime is the minimum time for which the cache keeps a prefix that no request uses. Each read restarts it. 0
	// means that the provider names no lifetime or has no cache; then no cache reads are predicted.
	Lifetime time.Duration `json:"lifetime,omitempty"`
	// LongLifetime is the longer lifetime that a request may ask for. 0 means that the provider offers none.
	LongLifetime time.Duration `json:"longLifetime,omitempty"`
	// LeastCached is the smallest prefix, in tokens, that the cache stores. 0 means no such limit, or an unknown one.
	LeastCached int `json:"least,omitempty"`
}

// At returns the rates for a request of that many input tokens, with defaults filled in.
func (p Prices) At(input int) Rates {
	if p.LongInput > 0 && input > p.LongInput {
		return p.LongRates.withDefaults()
	}
	return p.Rates.withDefaults()
}

// Of returns the cost of a request by its usage. Numbers below 0 count as 0, and input that the cache both served and
// stored counts once for each. It is zero if it is not known: the rate of what the cache served is another, and the
// usage does not say how much that is.
func (p Prices) Of(u chat.Usage) Cost {
	r := p.At(u.Size())
	if u.CacheUnknown && r.CacheRead != r.Input {
		return Cost{}
	}
	dollars := func(tokens int, rate float64) float64 { return float64(max(0, tokens)) * rate / 1e6 }
	read, written := max(0, u.CacheRead), max(0, u.CacheWrite)
	long := min(max(0, u.CacheWriteLong), written)
	return Cost{
		Input:      dollars(u.Input-read-written, r.Input),
		CacheRead:  dollars(read, r.CacheRead),
		CacheWrite: dollars(written-long, r.CacheWrite) + dollars(long, r.CacheWriteLong),
		Output:     dollars(u.Output, r.Output),
	}
}

// Planned describes a request that is not sent yet, in tokens.
type Planned struct {
	// Input is all of its input.
	Input int
	// Cached is the number of tokens, from the first on, that the provider has in its cache.
	Cached int
	// Output is the expected length of the answer.
	Output int
	// Long reports whether the request asks for LongLifetime.
	Long bool
}

// caches reports whether the provider has a cache with a known lifetime.
func (p Prices) caches() bool { return p.Lifetime > 0 || p.LongLifetime > 0 }

// Foretell returns the usage that a provider is expected to report for a request: Cached tokens are read if they are at
// least LeastCached, and the rest is written if the whole request is at least LeastCached. [Prices.Of] returns its
// cost.
func (p Prices) Foretell(r Planned) chat.Usage {
	u := chat.Usage{Input: max(0, r.Input), Output: max(0, r.Output)}
	if !p.caches() || u.Input < p.LeastCached {
		return u
	}
	if r.Cached >= p.LeastCached {
		u.CacheRead = min(max(0, r.Cached), u.Input)
	}
	u.CacheWrite = u.Input - u.CacheRead
	if r.Long && p.LongLifetime > 0 {
		u.CacheWriteLong = u.CacheWrite
	}
	return u
}

// Validate returns an error if a rate is not an amount of money, a number is below 0, or LongLifetime is not longer
// than Lifetime.
func (p Prices) Validate() error {
	for _, of := range []struct {
		name  string
		rates Rates
	}{{"Rates", p.Rates}, {"LongRates", p.LongRates}} {
		for _, rate := range []struct {
			name    string
			dollars float64
		}{
			{"Input", of.rates.Input}, {"CacheRead", of.rates.CacheRead}, {"CacheWrite", of.rates.CacheWrite},
			{"CacheWriteLong", of.rates.CacheWriteLong}, {"Output", of.rates.Output},
		} {
			if !(rate.dollars >= 0) || math.IsInf(rate.dollars, 1) {
				return fmt.Errorf("sizing: Prices.%s.%s is %v: want dollars per million tokens, 0 or more", of.name, rate.name, rate.dollars)
			}
		}
	}
	switch {
	case p.LongInput < 0:
		return fmt.Errorf("sizing: Prices.LongInput is %d: want a number of tokens, 0 or more", p.LongInput)
	case p.LeastCached < 0:
		return fmt.Errorf("sizing: Prices.LeastCached is %d: want a number of tokens, 0 or more", p.LeastCached)
	case p.Lifetime < 0:
		return fmt.Errorf("sizing: Prices.Lifetime is %v: want 0 or more", p.Lifetime)
	case p.LongLifetime != 0 && p.LongLifetime <= p.Lifetime:
		return fmt.Errorf("sizing: Prices.LongLifetime is %v: want more than Lifetime, which is %v, or 0", p.LongLifetime, p.Lifetime)
	}
	return nil
}

// Cost is the cost of requests, in US dollars, by kind of token.
type Cost struct {
	// Input that the cache neither served nor stored.
	Input float64
	// CacheRead and CacheWrite are for input that the cache served and stored.
	CacheRead, CacheWrite float64
	// Output is for the answers.
	Output float64
}

// Total returns the sum of all fields.
func (c Cost) Total() float64 { return c.Input + c.CacheRead + c.CacheWrite + c.Output }
