package tiktoken

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/sizing"
)

// UnknownModelError is returned for a model about which nothing is known: it is not OpenAI's, or newer than this
// package.
type UnknownModelError struct{ Model string }

func (e *UnknownModelError) Error() string {
	const advice = "count a model of another provider with a *sizing.Calibrated; for one of OpenAI's encodings, name its encoding with New and its window with sizing.Window{Tokens: …}"
	return fmt.Sprintf("tiktoken: unknown model %q: %s", e.Model, advice)
}

// family describes models of similar names.
type family struct {
	// name of a model; with a * at its end, the start of a name.
	name     string
	encoding func() *encoding
	images   imageRate
}

// defaultImages is the rate of GPT-4o, GPT-4.1, GPT-4.5 and GPT-4 Turbo. OpenAI documents a lower rate for GPT-5 and
// GPT-5.1, but some of their versions have been billed a fifth more than that, which is this rate.
var defaultImages = imageRate{base: 85, tile: 170}

// laterPatches is the rate for images of GPT-5.2 and later, which are counted in patches. OpenAI documents one token
// for each patch, but images have been billed a fifth more. GPT-5.6 is assumed to be like GPT-5.5.
const laterPatches = 1.2

// families of OpenAI's models. A model belongs to the family with the longest name that matches.
var families = []family{
	{"gpt-5*", o200kBase, defaultImages},
	{"gpt-5-mini*", o200kBase, imageRate{patchFactor: 1.62}},
	{"gpt-5-nano*", o200kBase, imageRate{patchFactor: 2.46}},
	{"gpt-5-codex-mini*", o200kBase, imageRate{patchFactor: 1.62}},
	{"gpt-5.1-codex-mini*", o200kBase, imageRate{patchFactor: 1.62}},
	{"gpt-5.2*", o200kBase, imageRate{patchFactor: laterPatches}},
	{"gpt-5.3*", o200kBase, imageRate{patchFactor: laterPatches}},
	{"gpt-5.4*", o200kBase, imageRate{patchFactor: laterPatches, maxPatches: 2500}},
	{"gpt-5.4-mini*", o200kBase, imageRate{patchFactor: 1.62}},
	{"gpt-5.4-nano*", o200kBase, imageRate{patchFactor: 2.46}},
	{"gpt-5.5*", o200kBase, imageRate{patchFactor: laterPatches, maxPatches: 2500, original: true}},
	{"gpt-5.6*", o200kBase, imageRate{patchFactor: laterPatches, maxPatches: 2500, original: true}},
	{"gpt-4.5*", o200kBase, defaultImages},
	{"gpt-4.1*", o200kBase, defaultImages},
	{"gpt-4.1-mini*", o200kBase, imageRate{patchFactor: 1.62}},
	{"gpt-4.1-nano*", o200kBase, imageRate{patchFactor: 2.46}},
	{"gpt-4o*", o200kBase, defaultImages},
	{"gpt-4o-mini*", o200kBase, imageRate{base: 2833, tile: 5667}},
	{"chatgpt-4o*", o200kBase, defaultImages},
	{"gpt-oss-*", o200kBase, defaultImages},
	{"codex-mini*", o200kBase, imageRate{patchFactor: 1.72}},
	{"o1*", o200kBase, imageRate{base: 75, tile: 150}},
	{"o3*", o200kBase, imageRate{base: 75, tile: 150}},
	{"o4-mini*", o200kBase, imageRate{patchFactor: 1.72}},
	{"gpt-4", cl100kBase, defaultImages},
	{"gpt-4-*", cl100kBase, defaultImages},
	{"gpt-3.5-turbo*", cl100kBase, defaultImages},
	{"gpt-35-turbo*", cl100kBase, defaultImages}, // as Azure spells it
	{"text-embedding-3-*", cl100kBase, defaultImages},
	{"text-embedding-ada-002", cl100kBase, defaultImages},
}

// familyOf returns the family of a model, and false if there is none.
func familyOf(model string) (family, bool) {
	model = tunedFrom(model)
	var best family
	for _, f := range families {
		start, open := strings.CutSuffix(f.name, "*")
		fits := model == start || open && strings.HasPrefix(model, start)
		if fits && len(f.name) > len(best.name) {
			best = f
		}
	}
	return best, best.name != ""
}

// tunedFrom returns the base model of a name: "gpt-4o" for the fine-tuned "ft:gpt-4o:team::id", for "openai/gpt-4o" and
// "azure/gpt-4o", as gateways write it, and for "GPT-4o".
func tunedFrom(model string) string {
	model = strings.ToLower(model)
	for _, gateway := range [...]string{"openai/", "azure/"} {
		if _, name, ok := strings.Cut(model, gateway); ok {
			model = name
		}
	}
	if tuned, ok := strings.CutPrefix(model, "ft:"); ok {
		model, _, _ = strings.Cut(tuned, ":")
	}
	return model
}

// WindowOf returns the context window of a model of OpenAI, with [ReplyPriming] as Window.Answer: add the longest
// answer to it. For models whose input is limited to less than their window, as GPT-5's is to 272,000 of 400,000
// tokens, Tokens is that limit. A dated name ("gpt-4o-2024-08-06") or a fine-tuned one means the model itself. If the
// window is not known, the error is an [*UnknownModelError].
func WindowOf(model string) (sizing.Window, error) {
	tokens := inputLimit(undated(tunedFrom(model)))
	if tokens == 0 {
		return sizing.Window{}, &UnknownModelError{Model: model}
	}
	return sizing.Window{Tokens: tokens, Answer: ReplyPriming}, nil
}

// undated returns a model's name without the date of its version.
func undated(model string) string {
	const date = "-2006-01-02"
	if len(model) <= len(date) {
		return model
	}
	name, end := model[:len(model)-len(date)], model[len(model)-len(date):]
	for i, c := range []byte(end) {
		digit := c >= '0' && c <= '9'
		if date[i] == '-' && c != '-' || date[i] != '-' && !digit {
			return model
		}
	}
	return name
}

// inputLimit returns the maximum number of input tokens of a model, as OpenAI documents it; 0 if that is not known
// here.
func inputLimit(model string) int {
	switch model {
	case "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano":
		return 1_047_576
	case "gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-codex",
		"gpt-5.1", "gpt-5.1-codex", "gpt-5.1-codex-mini", "gpt-5.1-codex-max",
		"gpt-5.2", "gpt-5.2-codex":
		return 400_000 - 128_000 // the window less the longest answer, for which room is reserved
	case "o1", "o1-pro", "o3", "o3-mini", "o3-pro", "o3-deep-research", "o4-mini", "o4-mini-deep-research",
		"codex-mini-latest":
		return 200_000
	case "gpt-oss-120b", "gpt-oss-20b":
		return 131_072
	case "gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-4.5-preview",
		"gpt-4-turbo", "gpt-4-turbo-preview", "gpt-4-1106-preview", "gpt-4-0125-preview",
		"gpt-5-chat-latest", "gpt-5.1-chat-latest", "gpt-5.2-chat-latest", "o1-mini", "o1-preview":
		return 128_000
	case "gpt-4-32k", "gpt-4-32k-0314", "gpt-4-32k-0613":
		return 32_768
	case "gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106", "gpt-3.5-turbo-16k", "gpt-3.5-turbo-16k-0613":
		return 16_385
	case "gpt-4", "gpt-4-0314", "gpt-4-0613":
		return 8_192
	default:
		return 0
	}
}
