package modelinfo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/sizing"
)

// maxCatalogue is the largest catalogue that is read, in bytes. The public ones have 1 to 4 MB.
const maxCatalogue = 64 << 20

// errForm is returned for a catalogue in a form that is not known.
var errForm = errors.New(`modelinfo: the form of the catalogue is unknown: want the JSON of models.dev, LiteLLM or catwalk, or {"models": [{"name": …, "window": …}]}`)

// Read returns the package's table with the rows of a catalogue over it: the JSON of models.dev (api.json), of LiteLLM
// (model_prices_and_context_window.json), of catwalk (one provider, or a list of them), or the package's own form. What
// a row does not state stays as it was.
//
// In a catalogue of several providers the rows of a model's maker count; a row that only others list has no prices,
// since they are theirs. A catalogue of one provider counts as it is. A form that is not known is an error, and a row
// of impossible numbers is an error that names it.
func Read(r io.Reader) (*Table, error) {
	rows, err := Rows(r)
	if err != nil {
		return nil, err
	}
	return Published().With(rows...), nil
}

// Rows returns the rows of a catalogue by themselves, in the forms that [Read] knows.
func Rows(r io.Reader) ([]Info, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCatalogue+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("modelinfo: reading a catalogue: %w", err)
	case len(data) > maxCatalogue:
		return nil, fmt.Errorf("modelinfo: the catalogue is larger than %d MB: want the list of models alone", maxCatalogue>>20)
	}
	rows, err := rowsOf(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff")))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if err := r.validate(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// rowsOf returns the rows of a catalogue, by the form that it has.
func rowsOf(data []byte) ([]Info, error) {
	if list := []catwalkProvider(nil); json.Unmarshal(data, &list) == nil && len(list) > 0 {
		return ofProviders(list), nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	if models := object["models"]; len(models) > 0 && models[0] == '[' {
		var one catwalkProvider
		if json.Unmarshal(data, &one) == nil && slices.ContainsFunc(one.Models, func(m catwalkModel) bool { return m.ID != "" }) {
			return ofProviders([]catwalkProvider{one}), nil
		}
		rows, err := own(data)
		if err != nil {
			return nil, fmt.Errorf("modelinfo: a row of the catalogue: %w", err)
		}
		return rows, nil
	}
	if lists := map[string]modelsDevProvider(nil); json.Unmarshal(data, &lists) == nil &&
		slices.ContainsFunc(slices.Collect(maps.Values(lists)), func(p modelsDevProvider) bool { return len(p.Models) > 0 }) {
		return ofProviders(byKey(lists)), nil
	}
	return ofLiteLLM(object)
}

// validate returns an error for a row without a name or with impossible numbers.
func (i Info) validate() error {
	switch {
	case len(partsOf(strings.ToLower(i.Name)).words) == 0:
		return fmt.Errorf("modelinfo: a row of the catalogue has the name %q: want a model's", i.Name)
	case i.Window < 0 || i.Input < 0 || i.Answer < 0:
		return fmt.Errorf("modelinfo: model %q: a window of %d, input of %d, answer of %d tokens: want 0 or more", i.Name, i.Window, i.Input, i.Answer)
	case i.Prices != nil:
		if err := i.Prices.Validate(); err != nil {
			return fmt.Errorf("modelinfo: model %q: %w", i.Name, err)
		}
	}
	return nil
}

// provider is a provider of a catalogue, with the models that it lists.
type provider interface {
	list() (name string, rows []Info)
}

// Maker returns the maker whose own models a provider of a catalogue lists, in lower case; "" if it lists others'.
func Maker(provider string) string { return makers[provider] }

// makers by the name that a catalogue gives their provider.
var makers = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "google": "google", "gemini": "google", "deepseek": "deepseek",
	"moonshot": "moonshot", "moonshotai": "moonshot", "kimi": "moonshot", "kimi-coding": "moonshot", "zai": "zai", "zhipu": "zai", "zhipuai": "zai", "minimax": "minimax", "xai": "xai",
	"alibaba": "alibaba", "alibaba-singapore": "alibaba", "dashscope": "alibaba", "mistral": "mistral", "cohere": "cohere", "meta": "meta", "glm": "zai",
}

// ofProviders returns the rows of a catalogue: those of the makers over those of others, which have no prices. A version
// with a date is the model itself, unless the provider lists that too.
func ofProviders[P provider](providers []P) []Info {
	var own, others []Info
	listed := map[string]bool{} // what makers list
	for _, p := range providers {
		from, rows := p.list()
		maker, names := Maker(from), map[string]bool{}
		for _, row := range rows {
			names[strings.ToLower(row.Name)] = true
		}
		for _, row := range rows {
			vendor, name := "", row.Name
			if i := strings.LastIndexByte(name, '/'); i >= 0 {
				vendor, name = name[:i], name[i+1:]
			}
			row.Name, row.Maker = strings.ToLower(name), cmp.Or(maker, vendor)
			if plain := undated(row.Name); plain != row.Name {
				if names[plain] {
					continue
				}
				row.Name = plain
			}
			if maker == "" && len(providers) > 1 {
				row.Prices = nil
				others = append(others, row)
				continue
			}
			listed[keyOf(row.Name)] = true
			own = append(own, row)
		}
	}
	others = slices.DeleteFunc(others, func(row Info) bool {
		known := listed[keyOf(row.Name)]
		listed[keyOf(row.Name)] = true // of several, the first counts
		return known
	})
	return slices.Concat(others, own)
}

// catwalkProvider is a provider in catwalk's JSON (charm.land/catwalk, pkg/catwalk/provider.go).
type catwalkProvider struct {
	ID     string         `json:"id"`
	Models []catwalkModel `json:"models"`
}

type catwalkModel struct {
	ID        string   `json:"id"`
	Input     float64  `json:"cost_per_1m_in"`
	Output    float64  `json:"cost_per_1m_out"`
	Write     float64  `json:"cost_per_1m_in_cached"`
	Read      float64  `json:"cost_per_1m_out_cached"`
	Window    int      `json:"context_window"`
	Reasoning []string `json:"reasoning_levels"`
	Images    bool     `json:"supports_attachments"`
}

// list returns the provider's models. Its default_max_tokens is a default and not the longest answer. Cached input
// stands in the field of cache writes for some providers: a write costs no less than input, and a read less.
func (p catwalkProvider) list() (name string, rows []Info) {
	for _, m := range p.Models {
		row := Info{Name: m.ID, Window: m.Window, Reasoning: m.Reasoning}
		if m.Images {
			row.Takes = []string{"image"}
		}
		if m.Input > 0 && m.Output > 0 {
			read, write := m.Read, m.Write
			if write < m.Input {
				if write > 0 {
					read = write
				}
				write = 0
			}
			row.Prices = &sizing.Prices{Rates: sizing.Rates{Input: cents(m.Input), Output: cents(m.Output), CacheRead: cents(read), CacheWrite: cents(write)}}
		}
		rows = append(rows, row)
	}
	return p.ID, rows
}

// cents rounds a price to what was meant: catalogues have 0.39999999999999997.
func cents(dollars float64) float64 {
	meant, _ := strconv.ParseFloat(strconv.FormatFloat(dollars, 'g', 9, 64), 64)
	return meant
}

// modelsDevProvider is a provider in models.dev's api.json.
type modelsDevProvider struct {
	ID     string                    `json:"id"`
	Models map[string]modelsDevModel `json:"models"`
}

type modelsDevModel struct {
	ID   string `json:"id"`
	Cost *struct {
		modelsDevCost
		Above *modelsDevCost `json:"context_over_200k"`
		Tiers []struct {
			modelsDevCost
			Tier struct {
				Size int `json:"size"`
			} `json:"tier"`
		} `json:"tiers"`
	} `json:"cost"`
	Limit struct {
		Context int `json:"context"`
		Input   int `json:"input"`
		Output  int `json:"output"`
	} `json:"limit"`
	Modalities struct {
		Input []string `json:"input"`
	} `json:"modalities"`
	Reasoning []struct {
		Type   string   `json:"type"`
		Values []string `json:"values"`
	} `json:"reasoning_options"`
}

type modelsDevCost struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Read   float64 `json:"cache_read"`
	Write  float64 `json:"cache_write"`
}

func (c modelsDevCost) rates() sizing.Rates {
	return sizing.Rates{Input: c.Input, Output: c.Output, CacheRead: c.Read, CacheWrite: c.Write}
}

func (p modelsDevProvider) list() (name string, rows []Info) {
	for _, m := range byKey(p.Models) {
		row := Info{Name: m.ID, Window: m.Limit.Context, Input: m.Limit.Input, Answer: m.Limit.Output}
		row.Takes = slices.DeleteFunc(slices.Clone(m.Modalities.Input), func(kind string) bool { return kind == "text" })
		for _, r := range m.Reasoning {
			if r.Type == "effort" {
				row.Reasoning = r.Values
			}
		}
		if c := m.Cost; c != nil && c.Input > 0 && c.Output > 0 {
			row.Prices = &sizing.Prices{Rates: c.rates()}
			if c.Above != nil {
				row.Prices.LongInput, row.Prices.LongRates = 200_000, c.Above.rates()
			}
			if len(c.Tiers) > 0 {
				row.Prices.LongInput, row.Prices.LongRates = c.Tiers[0].Tier.Size, c.Tiers[0].rates()
			}
		}
		rows = append(rows, row)
	}
	return p.ID, rows
}

// litellmModel is a model in LiteLLM's JSON. Prices are dollars per token.
type litellmModel struct {
	Provider  string  `json:"litellm_provider"`
	Mode      string  `json:"mode"`
	MaxInput  int     `json:"max_input_tokens"`
	MaxOutput int     `json:"max_output_tokens"`
	Input     float64 `json:"input_cost_per_token"`
	Output    float64 `json:"output_cost_per_token"`
	Read      float64 `json:"cache_read_input_token_cost"`
	Write     float64 `json:"cache_creation_input_token_cost"`
	WriteLong float64 `json:"cache_creation_input_token_cost_above_1hr"`
	Input200  float64 `json:"input_cost_per_token_above_200k_tokens"`
	Output200 float64 `json:"output_cost_per_token_above_200k_tokens"`
	Read200   float64 `json:"cache_read_input_token_cost_above_200k_tokens"`
	Write200  float64 `json:"cache_creation_input_token_cost_above_200k_tokens"`
	Input272  float64 `json:"input_cost_per_token_above_272k_tokens"`
	Output272 float64 `json:"output_cost_per_token_above_272k_tokens"`
	Read272   float64 `json:"cache_read_input_token_cost_above_272k_tokens"`
	Least     int     `json:"prompt_cache_min_tokens"`
	Images    bool    `json:"supports_vision"`
	PDF       bool    `json:"supports_pdf_input"`
}

// ofLiteLLM returns the models that answer.
func ofLiteLLM(models map[string]json.RawMessage) ([]Info, error) {
	delete(models, "sample_spec") // describes the fields
	lists := map[string]litellmProvider{}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		var m litellmModel
		if err := json.Unmarshal(models[name], &m); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errForm, name, err)
		}
		if m.Provider != "" && (m.Mode == "chat" || m.Mode == "responses") {
			lists[m.Provider] = litellmProvider{m.Provider, append(lists[m.Provider].rows, m.row(name))}
		}
	}
	if len(lists) == 0 {
		return nil, errForm
	}
	return ofProviders(byKey(lists)), nil
}

type litellmProvider struct {
	name string
	rows []Info
}

func (p litellmProvider) list() (name string, rows []Info) { return p.name, p.rows }

// row returns a model with a name. LiteLLM states the limit of input; for the models of OpenAI whose input is limited to
// less than their window, that is the two limits together.
func (m litellmModel) row(name string) Info {
	row := Info{Name: strings.TrimPrefix(name, m.Provider+"/"), Window: m.MaxInput, Answer: m.MaxOutput}
	if m.MaxInput == gpt5Input {
		row.Window, row.Input = m.MaxInput+m.MaxOutput, m.MaxInput
	}
	if m.Images {
		row.Takes = append(row.Takes, "image")
	}
	if m.PDF {
		row.Takes = append(row.Takes, "pdf")
	}
	if m.Input > 0 && m.Output > 0 {
		const million = 1e6
		rates := func(in, out, read, write, long float64) sizing.Rates {
			return sizing.Rates{
				Input: cents(in * million), Output: cents(out * million), CacheRead: cents(read * million),
				CacheWrite: cents(write * million), CacheWriteLong: cents(long * million),
			}
		}
		row.Prices = &sizing.Prices{Rates: rates(m.Input, m.Output, m.Read, m.Write, m.WriteLong), LeastCached: m.Least}
		if m.Input200 > 0 {
			row.Prices.LongInput, row.Prices.LongRates = 200_000, rates(m.Input200, m.Output200, m.Read200, m.Write200, 0)
		}
		if m.Input272 > 0 {
			row.Prices.LongInput, row.Prices.LongRates = gpt5Input, rates(m.Input272, m.Output272, m.Read272, 0, 0)
		}
	}
	return row
}

// gpt5Input is the limit of input of GPT-5 to GPT-5.2, in tokens, and later the input from which on more is charged.
const gpt5Input = 272_000

// byKey returns the values of a map in the order of their keys.
func byKey[V any](of map[string]V) (list []V) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		list = append(list, of[key])
	}
	return list
}
