package counting_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

var counters = []*tiktoken.Counter{tiktoken.O200k(), tiktoken.Cl100k(), tiktoken.P50k()}

func TestEndsAreTheFirstAndTheLastSafeCut(t *testing.T) {
	for _, tt := range []struct {
		rule, head, middle, tail string
	}{
		{"one cut is both ends", "one", "", " two"},
		{"cuts between the ends are skipped", "one", " two", " three"},
		{"no cut is within white space", "  one", " two", "  "},
		{"a cut may be at the end of a line", "one", ".\n", "two"},
		{"no cut is beside an invalid byte", "\xff\xffone", " two\xff three", " four\xff 5"},
		{"no cut is beside half a character", "\xb8\xad one", " two", " \xe4\xb8"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			head, tail, ok := counting.Ends(tiktoken.O200k(), tt.head+tt.middle+tt.tail)
			require.True(t, ok)
			require.Equal(t, []int{len(tt.head), len(tt.head) + len(tt.middle)}, []int{head, tail})
		})
	}
	for _, text := range []string{"", "a", " ", "one", "中文", "\xff", "\xff\xff \xff", "  \n", "()"} {
		_, _, ok := counting.Ends(tiktoken.O200k(), text)
		require.False(t, ok, "%q", text)
	}
}

// requireJoins requires that the count of a+b is the sum of the counts of its parts: up to the tail of a, from there to
// the head of b, and the rest.
func requireJoins(t *testing.T, c *tiktoken.Counter, a, b string) {
	t.Helper()
	_, tail, ok := counting.Ends(c, a)
	if !ok {
		tail = 0
	}
	head, _, ok := counting.Ends(c, b)
	if !ok {
		head = len(b)
	}
	got := c.CountText(a[:tail]) + c.CountText(a[tail:]+b[:head]) + c.CountText(b[head:])
	require.Equal(t, c.CountText(a+b), got, "%q + %q", a, b)
}

func TestOnlyTheTextBetweenTheEndsIsCountedAgain(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		texts []string
	}{
		{"no texts", nil},
		{"empty texts", []string{"", "", ""}},
		{"empty texts beside others", []string{"", "one two", "", "three", ""}},
		{"a word in pieces", []string{"inter", "nation", "al", "ization"}},
		{"a seam inside a word", []string{"The quick bro", "wn fox jumps"}},
		{"a seam before a contraction", []string{"it isn", "'", "t so"}},
		{"a seam in white space", []string{"one ", " ", " \n", "\n  ", "two"}},
		{"a seam in a line end", []string{"one\r", "\ntwo"}},
		{"a seam before a slash", []string{"one.\n", "/ two"}},
		{"a seam in a number", []string{"1", "23", "456", "7", " 8"}},
		{"a seam before a mark", []string{"e", "\u0301", "te\u0301"}},
		{"a seam inside a character", []string{"\xe4", "\xb8\xad \xe6\x96", "\x87"}},
		{"a seam inside a digit beside a cut", []string{"a \xd9", "\xa1", "\xd9", "\xa2b"}},
		{"bytes that stay invalid", []string{"a\xff", "\xff b", "\xe4\xb8", " c"}},
		{"no cut at all", []string{"中", "文字", "列的", "长度"}},
		{"cuts only at the seams", []string{"a", "1", "b", "2"}},
		{"symbols", []string{"((", "))", " {", "}\n", "\n", "x"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, c := range counters {
				for i := range tt.texts {
					requireJoins(t, c, strings.Join(tt.texts[:i], ""), strings.Join(tt.texts[i:], ""))
				}
			}
		})
	}
}

func randomText(r *rand.Rand) string {
	pieces := []string{
		"a", "b", "the", "Z", "HTTP", "É", "中", "文字", "ก", "\u0301", "\u200d", "'", "'s", "'LL", "1", "23", "½", "٣",
		" ", " ", "  ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u2028", ".", "/", "//", "(", "}", "_", "🙂", "👩‍👧", "𐐀",
		"\xff", "\xc3", "\xe4\xb8", "\xad", "\xed\xa0\x80", "\ufffd", "return", "internationalization",
	}
	var b strings.Builder
	for range r.IntN(20) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func TestRandomTextsJoinAtTheirEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range counters {
		for range 8000 {
			text := randomText(r)
			i := r.IntN(len(text) + 1)
			requireJoins(t, c, text[:i], text[i:])
		}
	}
}

func FuzzEnds(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		text := randomText(r)
		f.Add(text, uint16(r.IntN(len(text)+1)))
	}
	f.Fuzz(func(t *testing.T, text string, i uint16) {
		for _, c := range counters {
			at := min(int(i), len(text))
			requireJoins(t, c, text[:at], text[at:])
		}
	})
}
