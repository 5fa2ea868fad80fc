package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/golden"
)

func TestTheBarIsAsFullAsTheBudget(t *testing.T) {
	tests := []struct {
		name           string
		tokens, budget int
		full           int // blocks
	}{
		{"no tokens", 0, 100, 0},
		{"one token is one block", 1, 1_000_000, 1},
		{"half", 50, 100, barWidth / 2},
		{"a little over half", 51, 100, barWidth/2 + 1},
		{"full", 100, 100, barWidth},
		{"more than full is full", 250, 100, barWidth},
		{"a budget below the width", 1, 2, barWidth / 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, strings.Repeat("█", test.full)+strings.Repeat("░", barWidth-test.full), bar(test.tokens, test.budget))
		})
	}
}

func TestFitCutsATextToItsColumn(t *testing.T) {
	tests := []struct {
		name, give, want string
	}{
		{"an empty text", "", ""},
		{"a short text is unchanged", "list_files .", "list_files ."},
		{"a text as wide as the column is unchanged", strings.Repeat("x", didWidth), strings.Repeat("x", didWidth)},
		{"one letter too many", strings.Repeat("x", didWidth+1), strings.Repeat("x", didWidth-1) + "…"},
		{"letters count, not bytes", strings.Repeat("世", didWidth), strings.Repeat("世", didWidth)},
		{"letters are not split", strings.Repeat("🙂", 2*didWidth), strings.Repeat("🙂", didWidth-1) + "…"},
		{"control characters are escaped", "search a\nb\r\tc\x1b[2J", `search a b c\u001b[2J`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := fit(test.give)
			require.Equal(t, test.want, got)
			require.True(t, utf8.ValidString(got))
		})
	}
}

func TestASurveyPrintsItsTable(t *testing.T) {
	text := func(line string, n int) string { return strings.Repeat(line+"\n", n) }
	dir := folder(t, map[string]string{
		"README.md":   "# Harbour\n\n" + text("Ships are counted when they come and when they go.", 60),
		"count.go":    "package harbour\n\n" + text("// Count the ships, and tell the type of each.", 250),
		"go.mod":      "module example.org/harbour\n",
		"sea/wind.go": "package sea\n\n" + text("func blow() error { return nil }", 180),
		"sea/tide.md": text("| hour | height |", 90),
	})
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"-dir", dir, "-window", "5200", "-transcript", filepath.Join(t.TempDir(), "t.jsonl")}, &stdout, &stderr), stderr.String())
	lines := strings.SplitAfter(stdout.String(), "\n")
	got := strings.Join(lines[:min(12, len(lines))], "")
	require.NotContains(t, got, "compacted")

	golden.Equal(t, "survey.golden", got)
	require.Regexp(t, `\n\d+ rounds, \d+ compactions, \d+ tokens sent, at most \d+ of \d+; transcript: .*t\.jsonl\nby the prices of claude-opus-4-5: \$0\.\d+, of which \$0\.\d+ for summaries; \$0\.\d+ if nothing had been compacted\n$`, stdout.String())
}
