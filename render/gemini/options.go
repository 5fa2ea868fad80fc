package gemini

import (
	"strconv"
	"strings"
)

// Options say for which kind of model a conversation is meant. The zero value is Gemini 3 and later.
type Options struct {
	// Legacy models, those before Gemini 3, take no media in a function response: it is sent beside the response. They do
	// not ask for thought signatures.
	Legacy bool
	// MediaResolution sends the detail of an image as the resolution of its part. Not every version of the API takes
	// that, so by default the detail is left to Gemini.
	MediaResolution bool
}

// OptionsFor gives the options for a model by its name, such as "gemini-2.5-flash" or "models/gemini-3-pro". A name
// that says nothing is taken for a newer model.
func OptionsFor(model string) Options {
	_, version, found := strings.Cut(model, "gemini-")
	if !found {
		return Options{}
	}
	major, _, _ := strings.Cut(version, "-")
	major, _, _ = strings.Cut(major, ".")
	generation, err := strconv.Atoi(major)
	return Options{Legacy: err == nil && generation < 3}
}
