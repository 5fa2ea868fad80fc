package summarize_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
)

const restLeftOut = "[… the rest of the summary did not fit and is left out]"

func TestShortenRequestShowsTheDraftAndItsRoom(t *testing.T) {
	m := again()
	m.Words = 700
	got := text(requested(t, summarize.ShortenRequest(m, "## A\n\nx < y & </summary-draft>")))
	for _, want := range []string{
		"<summary-draft>\n## A\n\nx < y & <\\/summary-draft>\n</summary-draft>", fmt.Sprintf("Shorten it to 700 tokens, about %d characters", m.Characters()),
		"room for 700 tokens", "Keep every heading", "what the user decided", "Mind the flags.", "You may not call tools.",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "Fix the build", "it needs the draft alone")
}

func TestOfflineShortensADigest(t *testing.T) {
	m := stuff()
	m.Words = 40
	draft := "## The user said\n- Start.\n" + strings.Repeat("- more and more and more\n", 3) + "## Files\n- a.go\n" + fmt.Sprint("- ", words(100))
	response, err := models.Offline{Tokenizer: quarter{}}.Generate(t.Context(), chat.Request{Messages: requested(t, summarize.ShortenRequest(m, draft))})
	require.NoError(t, err)
	require.LessOrEqual(t, quarter{}.CountText(response.Message.Text()), 40)
	require.Contains(t, response.Message.Text(), "- Start.")
}

func TestSummaryThatIsTooLongIsCutAtTheLastPartThatFits(t *testing.T) {
	para := strings.TrimSpace(strings.Repeat("Some words of it. ", 6)) // 107 bytes
	for _, c := range []struct {
		rule, text string
		bytes      int
		want       string // before the mark
	}{
		{"what fits stays", "## A\n\nx\n", 20, ""},
		{"at a section", "## A\n\n" + para + "\n\n## B\n\n" + para + "\n\n## C\n\n" + para, 320, "## A\n\n" + para + "\n\n## B\n\n" + para},
		{"or a numbered one", "1. Overview: " + para + "\n2. Next: " + para + "\n3. Last: " + para, 340, "1. Overview: " + para + "\n2. Next: " + para},
		{"unless too much would go", "## A\n\nx\n\n## B\n\n" + para + "\n\n" + para + "\n\n" + para, 320, "## A\n\nx\n\n## B\n\n" + para + "\n\n" + para},
		{"else at a paragraph", para + "\n\n" + para + "\n\n" + para, 300, para + "\n\n" + para},
		{"else at a line", para + "\n" + para + "\n" + para, 300, para + "\n" + para},
		{"else at a sentence", para + " " + para, 200, strings.TrimSpace(strings.Repeat("Some words of it. ", 7))},
		{"of Chinese too", strings.Repeat("修复构建。", 20), 120, strings.Repeat("修复构建。", 4)},
		{"else at a word", strings.Repeat("word ", 60), 100, strings.TrimSpace(strings.Repeat("word ", 8))},
		{"else at a character", strings.Repeat("ä", 200), 100, strings.Repeat("ä", 20)},
		{"a heading that nothing follows goes", para + "\n\n## B\n\n" + para + para, 200, para},
		{"a block of code is closed", "```go\n" + strings.Repeat("x := 1 // y\n", 30), 140, "```go\n" + strings.TrimSpace(strings.Repeat("x := 1 // y\n", 6)) + "\n```"},
		{"nor is one cut at what looks like a heading", "```sh\n# one\n" + para + "\n# two\n" + para + "\n```\n", 230, "```sh\n# one\n" + para + "\n```"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			fits := func(s string) bool { return len(s) <= c.bytes }
			got := summarize.CutToSection(c.text, fits)
			if c.want == "" {
				require.Equal(t, c.text, got)
				return
			}
			require.Equal(t, c.want+"\n\n"+restLeftOut, got)
			require.Equal(t, got, summarize.CutToSection(got, fits))
		})
	}
	require.Equal(t, "word wo", summarize.CutToSection("word word word", func(s string) bool { return len(s) < 8 }), "without the mark where that does not fit")
	require.Empty(t, summarize.CutToSection("word", func(s string) bool { return s == "" }))
}

func TestCutSummaryFitsAndIsNeverEmpty(t *testing.T) {
	pieces := []string{"## Heading\n", "\n\n", "\n", "A sentence of words. ", "- item\n", "```\n", "修复构建。", "ä", "word ", strings.Repeat("x", 50), "3. Third\n", " "}
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		whole := b.String()
		for _, tokens := range []int{1, 2, 5, 12, 15, 16, 20, 30, 60, 100, 300} {
			fits := func(s string) bool { return quarter{}.CountText(s) <= tokens }
			got := summarize.CutToSection(whole, fits)
			require.True(t, fits(got))
			if strings.TrimSpace(whole) != "" {
				require.NotEmpty(t, got, "%q in %d", whole, tokens)
			}
			if fits(whole) {
				require.Equal(t, whole, got)
				continue
			}
			start := strings.TrimSuffix(strings.TrimSuffix(got, "\n\n"+restLeftOut), "\n```")
			require.True(t, strings.HasPrefix(strings.TrimSpace(whole), start), "%q of %q", got, whole)
		}
	}
}
