// Package modelname matches the names of models by family, as providers and gateways write them.
package modelname

import (
	"iter"
	"path"
	"strings"
)

// Fits reports whether a model is of the family that a pattern names. The name is matched by [path.Match], with both in
// lower case and with hyphens for spaces, dots, underscores and at signs. A provider, a gateway or a region may come
// before the name: "claude-opus*" matches "openrouter/anthropic/claude-opus-4.5",
// "us.anthropic.claude-opus-4-5-20251101-v1:0" and "Claude Opus 4.5". A number before a star is a whole number:
// "gpt-4.1*" matches "gpt-4.1-mini" and neither "gpt-4-1106-preview" nor "gpt-4.10".
func Fits(pattern, model string) bool {
	patterns := wholeNumbers(Hyphened(pattern))
	for written := range Spellings(model) {
		for _, p := range patterns {
			if ok, err := path.Match(p, written); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// Spellings returns a name, [Hyphened], and then what is left of it behind each prefix that may be a provider's, a
// gateway's or a region's.
func Spellings(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := strings.TrimSpace(name); name != ""; name = withoutPrefix(name) {
			if !yield(Hyphened(name)) {
				return
			}
		}
	}
}

// Hyphened returns a name in the form that most providers use: in lower case, with hyphens for spaces, dots, underscores
// and at signs.
func Hyphened(name string) string {
	name = strings.Join(strings.Fields(strings.ToLower(name)), "-")
	return strings.NewReplacer(".", "-", "_", "-", "@", "-").Replace(name)
}

// wholeNumbers returns patterns that together match the names that pattern does, except those in which a star after a
// digit would begin with another digit.
func wholeNumbers(pattern string) []string {
	for i := 1; i < len(pattern); i++ {
		if pattern[i] != '*' || pattern[i-1] < '0' || pattern[i-1] > '9' {
			continue
		}
		var patterns []string
		for _, rest := range wholeNumbers(pattern[i+1:]) {
			patterns = append(patterns, pattern[:i]+rest, pattern[:i]+"[^0-9]*"+rest)
		}
		return patterns
	}
	return []string{pattern}
}

// withoutPrefix returns the part of a name after its first separator: a slash, a colon, or a dot before a letter. It
// returns "" if there is none.
func withoutPrefix(name string) string {
	for i := range len(name) {
		switch {
		case name[i] == '/', name[i] == ':',
			name[i] == '.' && i+1 < len(name) && ('a' <= name[i+1]|0x20 && name[i+1]|0x20 <= 'z'):
			return strings.TrimSpace(name[i+1:])
		}
	}
	return ""
}
