package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestASurveyPrintsItsTable(t *testing.T) {
	text := func(line string, n int) string { return strings.Repeat(line+"\n", n) }
	dir := sure.Folder(t, map[string]string{
		"README.md":   "# Harbour\n\n" + text("Ships are counted when they come and when they go.", 60),
		"count.go":    "package harbour\n\n" + text("// Count the ships, and tell the type of each.", 250),
		"go.mod":      "module example.org/harbour\n",
		"sea/wind.go": "package sea\n\n" + text("func blow() error { return nil }", 180),
		"sea/tide.md": text("| hour | height |", 90),
	})
	var stdout, stderr bytes.Buffer
	require.Equal(t, folderagent.ExitOK, run(t.Context(), []string{"-dir", dir, "-window", "4696", "-transcript", filepath.Join(t.TempDir(), "t.jsonl")}, &stdout, &stderr), stderr.String())
	lines := strings.SplitAfter(stdout.String(), "\n")
	got := strings.Join(lines[:min(12, len(lines))], "")
	require.NotContains(t, got, "compacted")

	golden.Equal(t, "survey.golden", got)
	for line := range strings.Lines(stdout.String()) {
		if !strings.HasPrefix(line, "transcript: ") && !strings.HasPrefix(line, "The SHA-256") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 81, "a line fits a terminal of 80 columns: %s", line)
		}
	}
	require.Regexp(t, `\n\d+ rounds, \d+ compactions, \d+ tokens sent, at most \d+ of \d+\ntranscript: .*t\.jsonl\nwithout compaction the largest prompt has \d+ tokens: it does not fit in \d+\nby the prices of claude-opus-4-5, summaries by those of claude-haiku-4-5:\n\$\d+\.\d+, \$0\.\d+ of it for summaries(; saved \d+% of \$\d+\.\d+ without compaction)?\n$`, stdout.String())
}
