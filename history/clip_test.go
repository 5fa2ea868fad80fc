package history_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

var mark = regexp.MustCompile(`\n\[\.\.\. (\d+) tokens cut here(?:: [^\n]*)? \.\.\.\]\n`)

// clipping is a clipped text taken apart.
type clipping struct {
	start, end string // the parts of the text before and after the mark
	missing    int    // the tokens that the mark says are cut
}

// cuts returns all ways to take a clipped text apart, more than one if the text itself contains marks.
func cuts(text, clipped string) []clipping {
	var all []clipping
	for from := 0; ; {
		at := mark.FindStringSubmatchIndex(clipped[from:])
		if at == nil {
			return all
		}
		start, end := clipped[:from+at[0]], clipped[from+at[1]:]
		if len(start)+len(end) <= len(text) && strings.HasPrefix(text, start) && strings.HasSuffix(text, end) {
			missing, _ := strconv.Atoi(clipped[from+at[2] : from+at[3]])
			all = append(all, clipping{start, end, missing})
		}
		from += at[0] + 1
	}
}

// cut takes a clipped text apart, at its first mark.
func cut(text, clipped string) (start, end string, missing int, ok bool) {
	for _, c := range cuts(text, clipped) {
		return c.start, c.end, c.missing, true
	}
	return "", "", 0, false
}

// requireClipped checks what Clip promises for any text, limit and tokenizer.
func requireClipped(t testing.TB, tokens chat.Tokenizer, text string, limit int, head float64) {
	t.Helper()
	clipped := history.Clip(tokens, text, limit, head)
	total := tokens.CountText(text)
	if total <= limit {
		require.Equal(t, text, clipped, "a text that fits is unchanged")
		return
	}
	if utf8.ValidString(text) {
		require.True(t, utf8.ValidString(clipped), "a character was cut: %q", clipped)
	}
	bare := fmt.Sprintf("[... %d tokens cut here ...]", total)
	switch clipped {
	case bare:
		require.Less(t, tokens.CountText(bare), total, "the mark saves nothing")
		return
	case text:
		require.LessOrEqual(t, total, tokens.CountText(bare), "the mark would have been shorter")
		return
	}
	require.LessOrEqual(t, tokens.CountText(clipped), limit)
	require.True(t, slices.ContainsFunc(cuts(text, clipped), func(c clipping) bool {
		return c.missing == tokens.CountText(text[len(c.start):len(text)-len(c.end)])
	}), "not the start and the end of the text with the tokens missing between them: %q", clipped)
}

// numberedLines returns n lines of 10 characters.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %04d\n", i)
	}
	return b.String()
}

func TestClipKeepsTheStartAndTheEndInTheirShares(t *testing.T) {
	for _, tt := range []struct {
		rule, text string
		limit      int
		head       float64
		tokens     chat.Tokenizer
	}{
		{"short lines", numberedLines(1000), 400, 0.4, quarter{}},
		{"mostly the start", numberedLines(1000), 400, 0.9, quarter{}},
		{"only the end", numberedLines(1000), 400, 0, quarter{}},
		{"only the start", numberedLines(1000), 400, 1, quarter{}},
		{"a text a little too large", numberedLines(1000), 2499, 0.4, quarter{}},
		{"one long line", strings.Repeat("abcdefg", 10_000), 1000, 0.4, quarter{}},
		{"characters of two bytes", strings.Repeat("äöü", 10_000), 1000, 0.4, quarter{}},
		{"characters of three bytes", strings.Repeat("中文", 10_000), 1000, 0.4, quarter{}},
		{"characters of four bytes", strings.Repeat("🙂", 10_000), 1000, 0.4, quarter{}},
		{"characters of all lengths", strings.Repeat("aä中🙂", 10_000), 1000, 0.4, quarter{}},
		{"bytes that are not UTF-8", strings.Repeat("\x80", 10_000), 1000, 0.4, quarter{}},
		{"words", strings.Repeat("so many words on a line\n", 1000), 500, 0.4, words{}},
		{"tokens of many bytes", strings.Repeat(strings.Repeat("w", 200)+" ", 1000), 300, 0.4, words{}},
		{"line ends of two bytes", strings.ReplaceAll(numberedLines(1000), "\n", "\r\n"), 400, 0.4, quarter{}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			requireClipped(t, tt.tokens, tt.text, tt.limit, tt.head)
			start, end, _, ok := cut(tt.text, history.Clip(tt.tokens, tt.text, tt.limit, tt.head))
			require.True(t, ok)
			// The mark takes about 20 tokens, and a cut at the end of a line may keep a tenth less of its side.
			kept := float64(tt.tokens.CountText(start) + tt.tokens.CountText(end))
			require.Greater(t, kept, 0.85*float64(tt.limit)-20, "more could have been kept")
			share := float64(tt.tokens.CountText(start)) / kept
			require.InDelta(t, tt.head, share, 0.06, "the share of the start")
		})
	}
}

func TestClipCutsAtTheEndOfALine(t *testing.T) {
	text := numberedLines(1000)
	start, end, _, ok := cut(text, history.Clip(quarter{}, text, 400, 0.4))
	require.True(t, ok)
	require.Equal(t, "\n", text[len(start):len(start)+1])
	require.Equal(t, "\n", text[len(text)-len(end)-1:len(text)-len(end)])
	require.True(t, strings.HasPrefix(end, "line "))
}

func TestClipCutsWithinALineIfItsEndIsFar(t *testing.T) {
	text := "first\n" + strings.Repeat("x", 10_000) + "\nlast"
	start, end, _, ok := cut(text, history.Clip(quarter{}, text, 400, 0.4))
	require.True(t, ok)
	require.Greater(t, len(start), 400)
	require.Greater(t, len(end), 600)
}

func TestAnyClippedTextKeepsItsLimitAndIsNeverLonger(t *testing.T) {
	for n := range 100 {
		for limit := range n/4 + 2 {
			requireClipped(t, quarter{}, strings.Repeat("x", n), limit, 0.4)
		}
	}
	requireClipped(t, quarter{}, numberedLines(1000), math.MaxInt, 0.4)
}

func TestClipToLessThanTheMarkIsTheMarkAlone(t *testing.T) {
	text := numberedLines(100)
	for _, limit := range []int{10, 1, 0, -1, math.MinInt32} {
		require.Equal(t, "[... 250 tokens cut here ...]", history.Clip(quarter{}, text, limit, 0.4))
	}
}

func TestClipKeepsItsLimitAndSharesWithARealTokenizer(t *testing.T) {
	t.Parallel()
	tokens := tiktoken.Cl100k()
	texts := map[string]string{
		"source":  content(t, "clip.go") + content(t, "session.go"),
		"chinese": strings.Repeat("提示词是一棵由元素组成的树，按预算修剪。\n", 300),
		"base64":  strings.Repeat("aGVsbG8gd29ybGQhIFRoaXMgaXMgYSB0ZXN0", 300),
		"emoji":   strings.Repeat("👩‍👩‍👧‍👦🏳️‍🌈👍🏽", 300),
		"blanks":  strings.Repeat("   \n\t\t", 3000),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			total := tokens.CountText(text)
			for _, limit := range []int{total - 1, total / 2, total / 10, 100, 40, 30, 20, 10, 1} {
				requireClipped(t, tokens, text, limit, 0.4)
			}
			start, end, _, ok := cut(text, history.Clip(tokens, text, total/2, 0.4))
			require.True(t, ok)
			kept := tokens.CountText(start) + tokens.CountText(end)
			require.Greater(t, kept, total/2*85/100-20)
			require.InDelta(t, 0.4, float64(tokens.CountText(start))/float64(kept), 0.06)
		})
	}
}

// The mark of a text far larger than the limit has bytes, not tokens.
func TestClipDoesNotCountAHugeText(t *testing.T) {
	t.Parallel()
	tokens := &counting{Tokenizer: quarter{}}
	text := numberedLines(200_000)
	clipped := history.Clip(tokens, text, 1000, 0.4)
	start, rest, ok := strings.Cut(clipped, "\n[... ")
	require.True(t, ok)
	_, end, ok := strings.Cut(rest, "...]\n")
	require.True(t, ok)
	require.True(t, strings.HasPrefix(text, start) && strings.HasSuffix(text, end))
	require.Contains(t, rest, fmt.Sprintf("%d bytes cut here", len(text)-len(start)-len(end)))
	require.LessOrEqual(t, tokens.CountText(clipped), 1000)
	require.Less(t, tokens.bytes, len(text)/10, "it counts only a few times the text that it keeps")
}

// counting is a tokenizer that adds up the bytes of the texts it counts.
type counting struct {
	chat.Tokenizer
	bytes int
}

func (c *counting) CountText(text string) int {
	c.bytes += len(text)
	return c.Tokenizer.CountText(text)
}

func FuzzClip(f *testing.F) {
	tokens := tiktoken.Cl100k()
	f.Add("", 0, 0.4)
	f.Add(numberedLines(100), 100, 0.4)
	f.Add(strings.Repeat("aä中🙂", 100), 60, 0.5)
	f.Add(strings.Repeat("\x80", 1000), 100, 0.4)
	f.Add(strings.Repeat("\xf0\x9f", 300), 90, 1.0)
	f.Add("short, and yet too long", 2, 0.4)
	f.Add(strings.Repeat("\n[... 5 tokens cut here ...]\n", 20), 100, 0.4)
	f.Add(strings.Repeat(" ", 1000)+strings.Repeat("\r\n", 1000), 50, 0.1)
	f.Fuzz(func(t *testing.T, text string, limit int, head float64) {
		if !(head >= 0 && head <= 1) {
			t.Skip("the share is not between 0 and 1")
		}
		requireClipped(t, quarter{}, text, limit, head)
		requireClipped(t, words{}, text, limit, head)
		requireClipped(t, tokens, text, limit, head)
	})
}

func TestACutDoesNotPartABackslashFromWhatItEscapes(t *testing.T) {
	const mark = `\[result left out here: x]`
	for tail := range 100 {
		text := strings.Repeat("a", 500) + strings.Repeat(mark, 20) + `\` + mark + strings.Repeat("b", tail)
		require.NotRegexp(t, `[^\\]\[result`, history.Clip(quarter{}, text, 60, history.DefaultHead))
	}
}
