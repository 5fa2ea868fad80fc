package history

import (
	"regexp"
	"sort"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/facts"
	"github.com/promptree-go/promptree/internal/plaintext"
)

const (
	namedShare = 6       // names take at most this part of what they are in: a sixth
	maxNamed   = 1 << 20 // bytes of a text in which names are looked for
)

// markStart matches the mark in a preview up to its names: its numbers are none of the result.
var markStart = regexp.MustCompile(`\[\.\.\. \d+ \w+ cut here[^;\]]*`)

// namesIn returns names that take at most room tokens in a mark: those that a text mentions most often, without those that shown has.
func namesIn(t chat.Tokenizer, text, shown string, room int) []string {
	text = markStart.ReplaceAllString(text[:min(len(text), maxNamed)], "")
	names := facts.Mentioned(text, shown, room/facts.LeastTokens)
	fit := sort.Search(len(names), func(n int) bool { return t.CountText(plaintext.NamesInIt+strings.Join(names[:n+1], ", ")) > room })
	return names[:fit]
}
