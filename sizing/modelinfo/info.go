package modelinfo

import (
	"bytes"
	"cmp"
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

// WindowFor returns the window of a model for requests whose answers take up to answer tokens. With a limit of its own for
// the input, as GPT-5's of 272,000 in a window of 400,000, so much is kept free that a prompt stays within it.
func (i Info) WindowFor(answer int) sizing.Window {
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
	if newer.Window != 0 { // limits of a larger window are those of another offer
		if i.Input >= newer.Window {
			i.Input = 0
		}
		if i.Answer > newer.Window {
			i.Answer = 0
		}
	}
	i.Window = cmp.Or(newer.Window, i.Window)
	i.Input = cmp.Or(newer.Input, i.Input)
	i.Answer = cmp.Or(newer.Answer, i.Answer)
	i.Maker = cmp.Or(newer.Maker, i.Maker)
	i.Marked = newer.Marked || i.Marked
	i.Encoding = cmp.Or(newer.Encoding, i.Encoding)
	i.Images = cmp.Or(newer.Images, i.Images)
	i.Source = cmp.Or(newer.Source, i.Source)
	i.Date = cmp.Or(newer.Date, i.Date)
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

// row is an [Info] as JSON, its prices in dollars per million tokens.
type row struct {
	*plain
	Prices *prices `json:"prices,omitempty"`
}

// plain is an Info without its methods.
type plain Info

// prices are [sizing.Prices] with lifetimes that people read.
type prices struct {
	*sizing.Prices
	Lifetime     lifetime `json:"lifetime,omitempty"`
	LongLifetime lifetime `json:"longLifetime,omitempty"`
}

// lifetime is a duration as text: "5m".
type lifetime time.Duration

// MarshalText writes it without zeros at the end, which are those of "5m0s".
func (l lifetime) MarshalText() ([]byte, error) {
	s := time.Duration(l).String()
	for _, zero := range []string{"0s", "0m"} {
		if t := strings.TrimSuffix(s, zero); strings.HasSuffix(t, "m") || strings.HasSuffix(t, "h") {
			s = t
		}
	}
	return []byte(s), nil
}

// UnmarshalText reads it.
func (l *lifetime) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*l = lifetime(d)
	return err
}

// MarshalJSON returns the row as [Read] reads it.
func (i Info) MarshalJSON() ([]byte, error) {
	r := row{plain: (*plain)(&i)}
	if p := i.Prices; p != nil {
		r.Prices = &prices{p, lifetime(p.Lifetime), lifetime(p.LongLifetime)}
	}
	return json.Marshal(r)
}

// UnmarshalJSON reads a row. A field that it does not know is an error.
func (i *Info) UnmarshalJSON(data []byte) error {
	r := row{plain: (*plain)(i)}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || r.Prices == nil {
		return err
	}
	p := cmp.Or(r.Prices.Prices, new(sizing.Prices))
	p.Lifetime, p.LongLifetime = time.Duration(r.Prices.Lifetime), time.Duration(r.Prices.LongLifetime)
	i.Prices = p
	return p.Validate()
}
