package trim_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/summarize/internal/trim"
)

func TestASummaryThatIsTooLongIsCutAfterTheLastPartThatFits(t *testing.T) {
	para := strings.TrimSpace(strings.Repeat("Some words of it. ", 6)) // 107 bytes
	for _, c := range []struct {
		rule, text string
		bytes      int
		want       string // before the mark
	}{
		{"a text that fits is unchanged", "## A\n\nx\n", 20, ""},
		{"cut at a section", "## A\n\n" + para + "\n\n## B\n\n" + para + "\n\n## C\n\n" + para, 320, "## A\n\n" + para + "\n\n## B\n\n" + para},
		{"cut at a numbered section", "1. Overview: " + para + "\n2. Next: " + para + "\n3. Last: " + para, 340, "1. Overview: " + para + "\n2. Next: " + para},
		{"not at a section if more than half would go", "## A\n\nx\n\n## B\n\n" + para + "\n\n" + para + "\n\n" + para, 320, "## A\n\nx\n\n## B\n\n" + para + "\n\n" + para},
		{"without sections at a paragraph", para + "\n\n" + para + "\n\n" + para, 300, para + "\n\n" + para},
		{"without paragraphs at a line", para + "\n" + para + "\n" + para, 300, para + "\n" + para},
		{"within a line at a sentence", para + " " + para, 200, strings.TrimSpace(strings.Repeat("Some words of it. ", 7))},
		{"at a sentence in Chinese", strings.Repeat("修复构建。", 20), 120, strings.Repeat("修复构建。", 4)},
		{"within a sentence at a word", strings.Repeat("word ", 60), 100, strings.TrimSpace(strings.Repeat("word ", 8))},
		{"within a word at a character", strings.Repeat("ä", 200), 100, strings.Repeat("ä", 20)},
		{"a heading at the end is removed", para + "\n\n## B\n\n" + para + para, 200, para},
		{"a block of code is closed", "```go\n" + strings.Repeat("x := 1 // y\n", 30), 140, "```go\n" + strings.TrimSpace(strings.Repeat("x := 1 // y\n", 6)) + "\n```"},
		{"a comment in code is not a heading", "```sh\n# one\n" + para + "\n# two\n" + para + "\n```\n", 230, "```sh\n# one\n" + para + "\n```"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			fits := func(s string) bool { return len(s) <= c.bytes }
			got := trim.ToSection(c.text, fits)
			if c.want == "" {
				require.Equal(t, c.text, got)
				return
			}
			require.Equal(t, c.want+"\n\n"+trim.RestLeftOut, got)
			require.Equal(t, got, trim.ToSection(got, fits))
		})
	}
	require.Equal(t, "word wo", trim.ToSection("word word word", func(s string) bool { return len(s) < 8 }), "without the mark if it does not fit")
	require.Empty(t, trim.ToSection("word", func(s string) bool { return s == "" }))
}

func TestACutSummaryFitsAndIsNeverEmpty(t *testing.T) {
	pieces := []string{"## Heading\n", "\n\n", "\n", "A sentence of words. ", "- item\n", "```\n", "修复构建。", "ä", "word ", strings.Repeat("x", 50), "3. Third\n", " "}
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		whole := b.String()
		for _, tokens := range []int{1, 2, 5, 12, 15, 16, 20, 30, 60, 100, 300} {
			fits := func(s string) bool { return sizingtest.Quarter{}.CountText(s) <= tokens }
			got := trim.ToSection(whole, fits)
			require.True(t, fits(got))
			if strings.TrimSpace(whole) != "" {
				require.NotEmpty(t, got, "%q in %d", whole, tokens)
			}
			if fits(whole) {
				require.Equal(t, whole, got)
				continue
			}
			start := strings.TrimSuffix(strings.TrimSuffix(got, "\n\n"+trim.RestLeftOut), "\n```")
			require.True(t, strings.HasPrefix(strings.TrimSpace(whole), start), "%q of %q", got, whole)
		}
	}
}
