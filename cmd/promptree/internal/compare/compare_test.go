package compare

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// outputOf runs the program and returns its output.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitOK, Main(t.Context(), args, &stdout, &stderr, new(program.Folders)), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

func TestSessionsAndWindowsAreComparedInOneTable(t *testing.T) {
	args := []string{"-details", "-window", "900,2000", "-policy", "frugal,stagewise", "-unchecked", "-prices", "input=5000,read=500,write=6250,output=25000", "-summary-prices",
		"claude-haiku-4-5", "testdata/report.jsonl", "../../../../history/importer/testdata/formats/pi-tree.jsonl"}
	text := outputOf(t, args...)
	golden.Equal(t, "front.golden", text[strings.Index(text, "all 2 sessions"):])
}

// Folders of recordings hold other files too, and sessions in which nobody asked anything.
func TestAFolderStandsForTheRecordingsInIt(t *testing.T) {
	session := strings.Join(sessiontest.Talk, "\n") + "\n"
	dir := sure.Folder(t, map[string]string{
		"a/talk-1.jsonl": session, "talk-2.jsonl": session, "empty.jsonl": sessiontest.Talk[0],
		"package.json": `{"name":"x"}`, "README.md": "# Recordings", "notes.txt": "no recording",
	})
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitOK, Main(t.Context(), []string{"-policy", "frugal,a3s", "-prices", "claude-opus-4-5", dir}, &stdout, &stderr, new(program.Folders)), stderr.String())
	for _, name := range []string{"package.json: left out: importer: line 1: unknown format", "README.md: left out: importer: line 1: unknown format", "empty.jsonl: left out: no model answers in it"} {
		require.Contains(t, stderr.String(), filepath.Join(dir, name))
	}
	require.Equal(t, 3, strings.Count(stderr.String(), "\n"), stderr.String())
	require.Contains(t, stdout.String(), filepath.Join(dir, "a", "talk-1.jsonl")+": pi, ")
	require.Contains(t, stdout.String(), "all 2 sessions\n")
	require.Regexp(t, `(?m)^frugal +128,000 +0 +2 +\d`, stdout.String())
}

func TestACheckShowsEachRequest(t *testing.T) {
	text := outputOf(t, "-check", "-prices", "claude-opus-4-5", generatedSession)
	require.Contains(t, text, "foretells the reads of 335 of ")
	s := opened(t, generatedSession)
	require.NoError(t, s.priced(t.Context(), options{}))
	c, err := s.session.Check(t.Context())
	require.NoError(t, err)
	outcomes, off := map[string]int{}, 0.0
	for _, q := range c.Checked {
		outcomes[q.Outcome]++
		off += c.Prices.Of(q.Foretold).Total() - c.Prices.Of(q.Record.Usage).Total()
		if q.Outcome == "exact" {
			require.Equal(t, q.Record.Usage.CacheRead, q.Foretold.CacheRead)
		}
		require.Regexp(t, fmt.Sprintf(`(?m)^\d+ +%d  .*  %s +\d`, q.Record.Line, q.Outcome), strings.ReplaceAll(text, ",", ""))
	}
	require.Equal(t, 335, outcomes["exact"]+outcomes["expired"]+outcomes["outlived"])
	require.InDelta(t, c.Kept-c.Recorded, off, 1e-9, "the errors of the requests add up")
	require.LessOrEqual(t, c.MeanError, c.LargestError)
}
