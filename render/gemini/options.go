package gemini

import (
	"strconv"
	"strings"
)

// Options of a conversion. The zero value is for Gemini 3 and later; [OptionsFor] knows the older models.
type Options struct {
	// Legacy is for models before Gemini 3. They accept no media in a function response, so media is sent beside it,
	// and they do not require thought signatures. Off by default.
	Legacy bool

	written bool // calls have their arguments as a text (raw.go)
}

// OptionsFor returns the options for a model by its name, such as "gemini-2.5-flash" or "models/gemini-3-pro". For any
// other name it returns the zero value.
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
