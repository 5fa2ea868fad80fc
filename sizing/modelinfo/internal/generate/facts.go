package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// set sets a field of a row to the value of a fact. A fact of the cache or of prices needs prices to be about.
func set(row *modelinfo.Info, field, value string) (err error) {
	number := strings.ReplaceAll(value, "_", "")
	p := cmp.Or(row.Prices, new(sizing.Prices))
	switch field {
	case "prices": // input, cache read, output
		row.Prices = &sizing.Prices{}
		_, err = fmt.Sscan(value, &row.Prices.Input, &row.Prices.CacheRead, &row.Prices.Output)
	case "lifetime":
		p.Lifetime, err = time.ParseDuration(value)
	case "longLifetime":
		p.LongLifetime, err = time.ParseDuration(value)
	case "least":
		_, err = fmt.Sscan(number, &p.LeastCached)
	case "read":
		_, err = fmt.Sscan(value, &p.CacheRead)
	case "write": // as a multiple of input, for each lifetime
		var short, long float64
		_, err = fmt.Sscan(value, &short, &long)
		p.CacheWrite, p.CacheWriteLong = short*p.Input, long*p.Input
	case "long": // the input above which more is charged, and the factors of input and output
		var in, out float64
		_, err = fmt.Sscan(number, &p.LongInput, &in, &out)
		p.LongRates = sizing.Rates{Input: in * p.Input, CacheRead: in * p.CacheRead, CacheWrite: in * p.CacheWrite, Output: out * p.Output}
	default: // as in the table
		if !json.Valid([]byte(number)) {
			number = strconv.Quote(value)
		}
		err = json.Unmarshal(fmt.Appendf(nil, "{%q: %s}", field, number), row)
	}
	return err
}

// zoo reads MODEL_CONFIGS of the npm package llm-zoo, written as JSON, by putting it into LiteLLM's form. A name of which
// two of its entries state different things is left out: which of them is meant is not known.
func zoo(data []byte) ([]modelinfo.Info, error) {
	var models map[string]struct {
		Name     string  `json:"fullName"`
		Provider string  `json:"provider"`
		Window   int     `json:"contextWindow"`
		Answer   int     `json:"maxOutputTokens"`
		Input    float64 `json:"inputPrice"`
		Output   float64 `json:"outputPrice"`
		Can      struct {
			Explicit bool    `json:"supportsPromptCaching"`
			Auto     bool    `json:"supportsAutoPromptCaching"`
			Factor   float64 `json:"cacheDiscountFactor"`
			Vision   bool    `json:"supportsVision"`
			PDF      bool    `json:"supportsNativePdf"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(data, &models); err != nil {
		return nil, err
	}
	const million = 1e6
	form := map[string]any{}
	unclear := map[string]bool{}
	for _, m := range models {
		if m.Provider == "others" || m.Provider == "copilot" {
			continue
		}
		row := map[string]any{
			"litellm_provider": m.Provider, "mode": "chat", "max_input_tokens": m.Window, "max_output_tokens": m.Answer,
			"input_cost_per_token": m.Input / million, "output_cost_per_token": m.Output / million,
			"supports_vision": m.Can.Vision, "supports_pdf_input": m.Can.PDF,
		}
		if m.Can.Explicit || m.Can.Auto {
			row["cache_read_input_token_cost"] = m.Input * m.Can.Factor / million
		}
		if first, ok := form[m.Name]; ok && fmt.Sprint(first) != fmt.Sprint(row) {
			unclear[m.Name] = true
		}
		form[m.Name] = row
	}
	for name := range unclear {
		delete(form, name)
	}
	data, err := json.Marshal(form)
	if err != nil {
		return nil, err
	}
	return modelinfo.Rows(bytes.NewReader(data))
}
