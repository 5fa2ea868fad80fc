package gemini

import (
	"strconv"
	"strings"
)

// Options say for which kind of model a conversation is converted. The zero value is for Gemini 3 and later.
type Options struct {
	// Legacy is for models before Gemini 3. They accept no media in a function response, so it is sent beside the
	// response, and they do not require thought signatures. Off by default.
	Legacy bool
	// MediaResolution sends the detail of an image as the resolution of its part, which not every version of the API
	// accepts. Off by default, which leaves the detail to Gemini.
	MediaResolution bool
}

// OptionsFor returns the options for a model by its name, such as "gemini-2.5-flash" or "models/gemini-3-pro". Any other
// name counts as that of a newer model.
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
