package tiktoken

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/sizing/internal/split"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// NoEncodingError is returned for a model whose encoding is not known: it is not OpenAI's, or newer than the table of
// sizing/modelinfo.
type NoEncodingError struct{ Model string }

func (e *NoEncodingError) Error() string {
	const advice = "count it by sizing/counters, which takes the best counter there is, or name its encoding with New"
	return fmt.Sprintf("tiktoken: the encoding of model %q is unknown: %s", e.Model, advice)
}

// ForModel returns a counter for a model of OpenAI, by a name such as "gpt-4o", "o3-mini" or "gpt-4.1-2025-04-14", as
// [modelinfo.Find] finds it. A fine-tuned model ("ft:gpt-4o:…") counts as its base model, and one that is not in the
// table as the nearest of its family, as OpenAI's own tiktoken goes by the start of a name; modelinfo.Find reports that it
// is guessed. It links the tables of o200k_base and cl100k_base. If the encoding is not known, the error is an
// [*NoEncodingError].
func ForModel(model string) (*Counter, error) {
	known, _ := modelinfo.Find(model) // an unknown model has no encoding
	switch known.Encoding {
	case "o200k_base":
		return newCounter(o200kTable, split.O200k, rateOf(known.Images)), nil
	case "cl100k_base":
		return newCounter(cl100kTable, split.Cl100k, rateOf(known.Images)), nil
	}
	return nil, &NoEncodingError{Model: model}
}

// rateOf reads the rule for pictures of a row of modelinfo; without one the rate is that of GPT-4o.
func rateOf(rule string) imageRate {
	rate := imageRate{original: strings.HasSuffix(rule, " original")}
	if n, _ := fmt.Sscanf(rule, "patches %g most %g", &rate.patchFactor, &rate.maxPatches); n > 0 {
		return rate
	}
	if n, _ := fmt.Sscanf(rule, "tiles %d %d", &rate.base, &rate.tile); n == 2 {
		return rate
	}
	return defaultImages
}

// defaultImages is the rate of GPT-4o, GPT-4.1, GPT-4.5 and GPT-4 Turbo.
var defaultImages = imageRate{base: 85, tile: 170}
