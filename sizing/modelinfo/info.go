package modelinfo

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/sizing"
)

// Info holds what is known of a model. A field with its zero value is not known.
type Info struct {
	// Name as its maker writes it, without the date of a version: "claude-opus-4-5".
	Name string `json:"name"`
	// Maker in lower case: "anthropic". In a row that only a gateway lists, the name that the gateway puts before the
	// model's.
	Maker string `json:"maker,omitempty"`
	// Window is the context window, in tokens: the input, and the answer too.
	Window int `json:"window,omitempty"`
	// Input is the most tokens of input, if that is less than the window.
	Input int `json:"input,omitempty"`
	// Answer is the longest answer, in tokens, thinking included.
	Answer int `json:"answer,omitempty"`
	// Prices that the maker charges for standard requests to its own API, with the rules of its cache. Gateways may
	// charge more. Nil if they are not known.
	Prices *sizing.Prices `json:"-"`
	// Marked reports that requests mark what the provider's cache keeps, as for Claude. Else the provider keeps what it
	// likes, as OpenAI and Google do, or has no cache.
	Marked bool `json:"marked,omitempty"`
	// Encoding of OpenAI's by which the model's tokens are counted, such as "o200k_base".
	Encoding string `json:"encoding,omitempty"`
	// Images is the rule by which OpenAI's models count a picture: "tiles BASE TILE" in tokens, or "patches FACTOR", with
	// "most N" if a picture is scaled down to N patches instead of 1,536, and "original" if it is taken in its size.
	Images string `json:"images,omitempty"`
	// Takes lists what the model takes in besides text: "image", "pdf", "audio", "video".
	Takes Words `json:"takes,omitempty"`
	// Reasoning lists the levels of effort that a request may ask for, the lowest first.
	Reasoning Words `json:"reasoning,omitempty"`
	// Source names where the row is from, and Date is the day of that source, as 2006-01-02.
	Source string `json:"source,omitempty"`
	Date   string `json:"date,omitempty"`
}

// Words are a list that JSON has as one string: "low medium high".
type Words []string

// MarshalText returns the words with spaces between them.
func (w Words) MarshalText() ([]byte, error) { return []byte(strings.Join(w, " ")), nil }

// UnmarshalText reads them.
func (w *Words) UnmarshalText(text []byte) error {
	*w = strings.Fields(string(text))
	return nil
}

// Sizing returns the window of a model for requests whose answers take up to answer tokens. With a limit of its own for
// the input, as GPT-5's of 272,000 in a window of 400,000, so much is kept free that a prompt stays within it.
func (i Info) Sizing(answer int) sizing.Window {
	switch {
	case i.Window == 0:
		return sizing.Window{Tokens: i.Input}
	case i.Input > 0:
		answer = max(answer, i.Window-i.Input)
	}
	return sizing.Window{Tokens: i.Window, Answer: answer}
}

// With returns the row with another window, in tokens; as it is for 0.
func (i Info) With(window int) Info { return i.over(Info{Window: window}) }

// over returns the row with what a newer one of the same model knows put over it.
func (i Info) over(newer Info) Info {
	set := func(to *int, from int) {
		if from != 0 {
			*to = from
		}
	}
	name := func(to *string, from string) {
		if from != "" {
			*to = from
		}
	}
	if newer.Window != 0 { // limits of a larger window are those of another offer
		if i.Input >= newer.Window {
			i.Input = 0
		}
		if i.Answer > newer.Window {
			i.Answer = 0
		}
	}
	set(&i.Window, newer.Window)
	set(&i.Input, newer.Input)
	set(&i.Answer, newer.Answer)
	name(&i.Maker, newer.Maker)
	i.Marked = i.Marked || newer.Marked
	name(&i.Encoding, newer.Encoding)
	name(&i.Images, newer.Images)
	name(&i.Source, newer.Source)
	name(&i.Date, newer.Date)
	for _, kind := range newer.Takes {
		if !slices.Contains(i.Takes, kind) {
			i.Takes = append(slices.Clip(i.Takes), kind)
		}
	}
	if newer.Reasoning != nil {
		i.Reasoning = newer.Reasoning
	}
	if p := newer.Prices; p != nil {
		if old := i.Prices; old != nil && p.Lifetime == 0 && p.LeastCached == 0 {
			kept := *p // catalogues state the rates, and not how the cache works
			kept.Lifetime, kept.LongLifetime, kept.LeastCached = old.Lifetime, old.LongLifetime, old.LeastCached
			if kept.CacheWriteLong == 0 && kept.LongLifetime > 0 && kept.Input == old.Input {
				kept.CacheWriteLong = old.CacheWriteLong
			}
			p = &kept
		}
		i.Prices = p
	}
	return i
}

// rates are [sizing.Rates] as JSON, in dollars per million tokens.
type rates struct {
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	Read      float64 `json:"read,omitempty"`
	Write     float64 `json:"write,omitempty"`
	WriteLong float64 `json:"write_long,omitempty"`
}

func (r rates) rates() sizing.Rates {
	return sizing.Rates{Input: r.Input, Output: r.Output, CacheRead: r.Read, CacheWrite: r.Write, CacheWriteLong: r.WriteLong}
}

func ratesOf(r sizing.Rates) rates {
	return rates{Input: r.Input, Output: r.Output, Read: r.CacheRead, Write: r.CacheWrite, WriteLong: r.CacheWriteLong}
}

// prices are [sizing.Prices] as JSON.
type prices struct {
	rates
	// Above is the input, in tokens, above which Long are the rates.
	Above int    `json:"above,omitempty"`
	Long  *rates `json:"long,omitempty"`
	// Lifetime and LongLifetime of the cache, as "5m"; Least is its smallest prefix in tokens.
	Lifetime     string `json:"lifetime,omitempty"`
	LongLifetime string `json:"long_lifetime,omitempty"`
	Least        int    `json:"least,omitempty"`
}

// row is an [Info] as JSON.
type row struct {
	*plain
	Prices *prices `json:"prices,omitempty"`
}

// plain is an Info without its methods.
type plain Info

// MarshalJSON returns the row as [Read] reads it.
func (i Info) MarshalJSON() ([]byte, error) {
	r := row{plain: (*plain)(&i)}
	if p := i.Prices; p != nil {
		r.Prices = &prices{rates: ratesOf(p.Rates), Above: p.LongInput, Least: p.LeastCached}
		if p.LongInput > 0 {
			long := ratesOf(p.LongRates)
			r.Prices.Long = &long
		}
		if p.Lifetime > 0 {
			r.Prices.Lifetime = short(p.Lifetime)
		}
		if p.LongLifetime > 0 {
			r.Prices.LongLifetime = short(p.LongLifetime)
		}
	}
	return json.Marshal(r)
}

// short writes a duration without its zeros: "5m" for "5m0s".
func short(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if t := strings.TrimSuffix(s, zero); strings.HasSuffix(t, "m") || strings.HasSuffix(t, "h") {
			s = t
		}
	}
	return s
}

// UnmarshalJSON reads a row. A field that it does not know is an error.
func (i *Info) UnmarshalJSON(data []byte) error {
	r := row{plain: (*plain)(i)}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || r.Prices == nil {
		return err
	}
	p := sizing.Prices{Rates: r.Prices.rates.rates(), LongInput: r.Prices.Above, LeastCached: r.Prices.Least}
	if r.Prices.Long != nil {
		p.LongRates = r.Prices.Long.rates()
	}
	for _, t := range []struct {
		to   *time.Duration
		from string
	}{{&p.Lifetime, r.Prices.Lifetime}, {&p.LongLifetime, r.Prices.LongLifetime}} {
		if t.from == "" {
			continue
		}
		var err error
		if *t.to, err = time.ParseDuration(t.from); err != nil {
			return err
		}
	}
	i.Prices = &p
	return p.Validate()
}
