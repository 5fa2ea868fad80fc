package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// set sets a field of a row to the value of a fact. A fact of the cache or of prices needs prices to be about.
func set(row *modelinfo.Info, field, value string) error {
	number := func(to *int) error {
		_, err := fmt.Sscan(strings.ReplaceAll(value, "_", ""), to)
		return err
	}
	duration := func(to *time.Duration) (err error) {
		*to, err = time.ParseDuration(value)
		return err
	}
	switch field {
	case "window":
		return number(&row.Window)
	case "input":
		return number(&row.Input)
	case "answer":
		return number(&row.Answer)
	case "marked":
		row.Marked = value == "true"
		return nil
	case "encoding":
		row.Encoding = value
		return nil
	case "images":
		row.Images = value
		return nil
	case "maker":
		row.Maker = value
		return nil
	case "prices": // input, cache read, output
		row.Prices = &sizing.Prices{}
		_, err := fmt.Sscan(value, &row.Prices.Input, &row.Prices.CacheRead, &row.Prices.Output)
		return err
	}
	p := row.Prices
	if p == nil {
		return nil
	}
	switch field {
	case "lifetime":
		return duration(&p.Lifetime)
	case "long_lifetime":
		return duration(&p.LongLifetime)
	case "least":
		return number(&p.LeastCached)
	case "read":
		_, err := fmt.Sscan(value, &p.CacheRead)
		return err
	case "write": // as a multiple of input, for each lifetime
		var short, long float64
		_, err := fmt.Sscan(value, &short, &long)
		p.CacheWrite, p.CacheWriteLong = short*p.Input, long*p.Input
		return err
	case "long": // the input above which more is charged, and the factors of input and output
		var in, out float64
		_, err := fmt.Sscan(strings.ReplaceAll(value, "_", ""), &p.LongInput, &in, &out)
		p.LongRates = sizing.Rates{Input: in * p.Input, CacheRead: in * p.CacheRead, CacheWrite: in * p.CacheWrite, Output: out * p.Output}
		return err
	}
	return fmt.Errorf("there is no field %q", field)
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
