// Package callid makes ids for tool calls that came without one.
package callid

import (
	"crypto/rand"
	"strings"
)

// An id is the prefix and the first characters of [rand.Text], whose alphabet this is. OpenAI accepts ids of up to 40
// characters, Anthropic letters, digits, "_" and "-".
const (
	prefix   = "call_"
	length   = 26
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// New returns a random id of 31 characters. Tests make it deterministic by testing/cryptotest.
func New() string { return prefix + rand.Text()[:length] }

// IsNew reports whether an id has the form of those that [New] returns. No provider's ids have that form.
func IsNew(id string) bool {
	text, ok := strings.CutPrefix(id, prefix)
	return ok && len(text) == length && strings.Trim(text, alphabet) == ""
}
