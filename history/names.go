package history

import (
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

// namesIn returns names that take at most room tokens in a mark: those that a text mentions most often, without those that shown has.
func namesIn(t chat.Tokenizer, text, shown string, room int) []string {
	names := facts.Mentioned(text[:min(len(text), maxNamed)], shown, room/facts.LeastTokens)
	fit := sort.Search(len(names), func(n int) bool { return t.CountText(plaintext.NamesInIt+strings.Join(names[:n+1], ", ")) > room })
	return names[:fit]
}
