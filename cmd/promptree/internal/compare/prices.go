package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/replay"
)

// noPrices stands for no prices in a flag.
const noPrices = "none"

// pricing holds the flags about prices.
type pricing struct {
	agent, summaries string
	lifetime         time.Duration
	needed           string // the first flag that needs prices, "" if there is none
	table            *modelinfo.Table
}

// complete checks the flags. needs lists those that need prices, and whether they are set.
func (p *pricing) complete(needs map[string]bool) error {
	for _, flag := range slices.Sorted(maps.Keys(needs)) {
		if needs[flag] && p.agent == noPrices {
			return fmt.Errorf("%s needs prices, and -prices is %s: set others", flag, noPrices)
		} else if needs[flag] {
			p.needed = cmp.Or(p.needed, flag)
		}
	}
	if p.lifetime < 0 {
		return fmt.Errorf("-ttl is %v: set a time above 0", p.lifetime)
	}
	for flag, name := range map[string]string{"-prices": p.agent, "-summary-prices": p.summaries} {
		if name == "" || name == noPrices {
			continue
		}
		if _, err := p.named(flag, name); err != nil {
			return err
		}
	}
	return nil
}

// session returns a session with prices: those of the flags, else those of the model that it names, if they are known.
func (p pricing) session(r *importer.Recording, model string) (s *replay.Session, err error) {
	s = &replay.Session{Recording: r, Lifetime: p.lifetime, Table: p.table}
	if p.agent == noPrices || unpriced(r) != "" || p.agent == "" && (model == "" || unknownPrices(p.table, model)) {
		if p.needed != "" {
			return nil, fmt.Errorf("%s needs prices, and those of the session's model %q are unknown: give them by %s", p.needed, model, pricesExample)
		}
		return s, nil
	}
	if s.Prices, err = p.named("-prices", cmp.Or(p.agent, model)); err == nil && p.summaries != "" {
		s.Summarizer, err = p.named("-summary-prices", p.summaries)
	}
	return s, err
}

// unpriced says why a recording cannot have dollars, "" if it can.
func unpriced(r *importer.Recording) string {
	if r.Format == "aider" {
		return "aider does not record the files that its prompts hold"
	}
	return ""
}

func unknownPrices(table *modelinfo.Table, model string) bool {
	_, err := table.Prices(model)
	return err != nil
}

const pricesExample = "-prices input=3,read=0.3,output=15, in dollars a million tokens"

// named returns the prices of a model, or those of a list such as
// "input=5,read=0.5,write=6.25,output=25,least=4096", which a flag gives.
func (p pricing) named(flag, name string) (prices sizing.Prices, err error) {
	if strings.Contains(name, "=") {
		prices, err = listedPrices(flag, name)
	} else if prices, err = p.table.Prices(name); err != nil {
		err = fmt.Errorf("the prices of model %q are unknown: give them by %s", name, strings.Replace(pricesExample, "-prices", flag, 1))
	}
	return prices, cmp.Or(err, prices.Validate())
}

func listedPrices(flag, list string) (sizing.Prices, error) {
	p := sizing.Prices{Lifetime: 5 * time.Minute}
	named := map[string]bool{}
	rates := map[string]*float64{"input": &p.Input, "read": &p.CacheRead, "write": &p.CacheWrite, "output": &p.Output}
	for _, pair := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(pair, "=")
		var err error
		if rate := rates[name]; rate != nil {
			*rate, err = strconv.ParseFloat(value, 64)
		} else if name == "least" {
			p.LeastCached, err = strconv.Atoi(value)
		} else {
			err = errors.New("the names are input, read, write, output and least")
		}
		if err != nil {
			return p, fmt.Errorf("%s: %q: %w", flag, pair, err)
		}
		named[name] = true
	}
	if !named["input"] || !named["output"] {
		return p, fmt.Errorf("%s: %q lacks input or output: name both; read and write cost what input does by default", flag, list)
	}
	return p, nil
}
