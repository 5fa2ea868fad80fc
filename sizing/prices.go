package sizing

import (
	"fmt"
	"math"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Rates are what a provider charges, in US dollars a million tokens. The zero value is free.
type Rates struct {
	// Input is the rate of input that no cache served and none took in.
	Input float64
	// CacheRead is the rate of input that the cache served. Defaults to Input.
	CacheRead float64
	// CacheWrite is the rate of input that the cache took in. Defaults to Input, as providers have it that charge nothing for it.
	CacheWrite float64
	// CacheWriteLong is the rate of input that the cache took in for the longer of two lifetimes. Defaults to CacheWrite.
	CacheWriteLong float64
	// Output is the rate of the answer, thinking included.
	Output float64
}

// withDefaults returns the rates with all of them set.
func (r Rates) withDefaults() Rates {
	if r.CacheRead == 0 {
		r.CacheRead = r.Input
	}
	if r.CacheWrite == 0 {
		r.CacheWrite = r.Input
	}
	if r.CacheWriteLong == 0 {
		r.CacheWriteLong = r.CacheWrite
	}
	return r
}

// Prices say what requests to a model cost and how long its provider's prompt cache lasts.
type Prices struct {
	Rates
	// LongInput is the input, in tokens, above which a request is charged by LongRates, all of it. 0 is no such limit.
	LongInput int
	LongRates Rates
	// Lifetime is how long the cache keeps at least what no request read or wrote again. 0 is a provider that names none, or
	// has no cache: nothing is foretold to be read. Each read starts it anew.
	Lifetime time.Duration
	// LongLifetime is the longer lifetime that a request may ask for. 0 is a provider that offers none.
	LongLifetime time.Duration
	// LeastCached is the least tokens of a prefix that the cache takes in. 0 is no such limit, or one that is not known.
	LeastCached int
}

// At returns the rates of a request with so many input tokens, all of them set.
func (p Prices) At(input int) Rates {
	if p.LongInput > 0 && input > p.LongInput {
		return p.LongRates.withDefaults()
	}
	return p.Rates.withDefaults()
}

// Of returns what a request cost by its usage. Numbers below 0 count as 0, and input that the cache both served and took in
// counts once for each.
func (p Prices) Of(u chat.Usage) Cost {
	r := p.At(u.Input)
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

// Planned is a request that is not sent yet, in tokens.
type Planned struct {
	// Input in all.
	Input int
	// Cached is how many of them, from the first on, the provider has in its cache.
	Cached int
	// Output that is expected.
	Output int
	// Long reports whether the request asks for LongLifetime.
	Long bool
}

// caches reports whether the provider has a cache that may be counted on.
func (p Prices) caches() bool { return p.Lifetime > 0 || p.LongLifetime > 0 }

// Foretell returns the usage that a provider is expected to report for a request: what is cached is read if it is
// LeastCached or more, and the rest is written if the whole is. [Prices.Of] says what that costs.
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

// Validate returns an error if a rate is no amount of money, a number is below 0, or LongLifetime is not longer than Lifetime.
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
				return fmt.Errorf("sizing: Prices.%s.%s is %v: it is dollars a million tokens, 0 or more", of.name, rate.name, rate.dollars)
			}
		}
	}
	switch {
	case p.LongInput < 0:
		return fmt.Errorf("sizing: Prices.LongInput is %d: it is a number of tokens, 0 or more", p.LongInput)
	case p.LeastCached < 0:
		return fmt.Errorf("sizing: Prices.LeastCached is %d: it is a number of tokens, 0 or more", p.LeastCached)
	case p.Lifetime < 0:
		return fmt.Errorf("sizing: Prices.Lifetime is %v: it is 0 or more", p.Lifetime)
	case p.LongLifetime != 0 && p.LongLifetime <= p.Lifetime:
		return fmt.Errorf("sizing: Prices.LongLifetime is %v: it is longer than Lifetime, which is %v, or 0", p.LongLifetime, p.Lifetime)
	}
	return nil
}

// Cost is what requests cost, in US dollars, by what is charged for.
type Cost struct {
	// Input that no cache served and none took in.
	Input float64
	// CacheRead and CacheWrite are for input that the cache served and took in.
	CacheRead, CacheWrite float64
	// Output is for the answers.
	Output float64
}

// Total is the sum.
func (c Cost) Total() float64 { return c.Input + c.CacheRead + c.CacheWrite + c.Output }

// Plus returns what both cost.
func (c Cost) Plus(other Cost) Cost {
	return Cost{
		Input: c.Input + other.Input, CacheRead: c.CacheRead + other.CacheRead, CacheWrite: c.CacheWrite + other.CacheWrite,
		Output: c.Output + other.Output,
	}
}
