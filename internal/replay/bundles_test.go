package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize/policy"
)

// listed returns the names and the contents of all files in a folder as one text.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(&b, "=== %s\n%s\n", path, text)
		return err
	}))
	return b.String()
}

func everyPolicy(t *testing.T) []policy.Policy {
	t.Helper()
	list, err := policiesNamed(all)
	require.NoError(t, err)
	require.Len(t, list, 6)
	return list
}

// bundled runs the program with -bundles and returns the folder.
func bundled(t *testing.T, args ...string) (dir string, runs []Run) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "new", "bundles")
	runs, stderr := ranJSON(t, program.ExitOK, append([]string{"-prices", "none", "-bundles", dir}, args...)...)
	require.Empty(t, stderr)
	return dir, runs
}

// The session has a recorded compaction, and the policy compacts in this window too.
func TestEachCompactionHasABundle(t *testing.T) {
	dir, runs := bundled(t, "-policy", "copilot-chat", "-window", "800", "testdata/report.jsonl")
	for _, r := range runs {
		require.Equal(t, 1, r.Bundles)
		require.Len(t, r.Compactions, 1)
	}
	golden.Equal(t, "bundles.golden", listed(t, dir))
}

func TestARecordedCompactionHasABundleForEachPolicy(t *testing.T) {
	s := opened(t, generatedSession)
	require.NoError(t, s.priced(t.Context(), options{prices: pricing{agent: noPrices}}))
	policies := everyPolicy(t)
	dir := t.TempDir()
	written, err := newBundles(dir, 0)
	require.NoError(t, err)
	c := &comparison{options: options{policies: policies, windows: []int{200_000}}, bundles: written}
	run, err := c.recorded(t.Context(), &s, 200_000)
	require.NoError(t, err)
	require.Equal(t, 2*len(policies), run.Bundles)
	var summaries []string
	for _, rec := range s.recording.Path(s.recording.Leaf) {
		if text := rec.Compaction().Text; text != "" {
			summaries = append(summaries, text)
		}
	}
	for _, p := range policies {
		at := 0
		for i, summary := range summaries {
			folder := filepath.Join(dir, "001-generated", "recorded-"+p.Name, fmt.Sprintf("compaction-%03d", i+1))
			output, err := os.ReadFile(filepath.Join(folder, "output.md"))
			require.NoError(t, err)
			require.Equal(t, summary, string(output))
			data, err := os.ReadFile(filepath.Join(folder, "metadata.json"))
			require.NoError(t, err)
			var meta metadata
			dec := json.NewDecoder(bytes.NewReader(data))
			dec.DisallowUnknownFields()
			require.NoError(t, dec.Decode(&meta))
			require.Equal(t, at, meta.FirstCovered, "each begins where the one before ended")
			at = meta.FirstKept
			require.NotEmpty(t, meta.Requests, meta.NotAsked)
			require.Equal(t, recorded, meta.OutputBy)
			require.Empty(t, meta.Leak)
			for _, asked := range meta.Requests {
				require.Positive(t, asked.SystemPrompt)
				require.Positive(t, asked.UserMessage)
				require.Positive(t, asked.Answer)
			}
			require.Equal(t, i > 0, meta.Characters.PreviousSummary > 0)
		}
	}
}

func TestMinMessagesLeavesOutShortCompactions(t *testing.T) {
	dir, runs := bundled(t, "-policy", "copilot-chat", "-window", "800", "-min-messages", "1000", "testdata/report.jsonl")
	for _, r := range runs {
		require.Zero(t, r.Bundles)
		require.Len(t, r.Compactions, 1)
	}
	require.Empty(t, listed(t, dir))
}

func TestTwoSessionsOfOneNameHaveFoldersOfTheirOwn(t *testing.T) {
	dir, _ := bundled(t, "-policy", "copilot-chat", "-window", "800", "testdata/report.jsonl", "testdata/report.jsonl")
	for _, name := range []string{"001-report", "002-report"} {
		require.DirExists(t, filepath.Join(dir, name))
	}
}

func TestALeakIsATagAroundHistoriesAndSummaries(t *testing.T) {
	require.Empty(t, leak("## Goal\na < b, and <html>"))
	require.Contains(t, leak("so far\n</conversation-summary>"), "</conversation-summary>")
}

func TestAPlainNameIsShortAndHasNoSpecialCharacters(t *testing.T) {
	for give, want := range map[string]string{
		"session": "session", "2025-12-08T10:00 a/b": "2025-12-08T10-00-a-b", "..": "", "größe": "größe", strings.Repeat("世", 99): strings.Repeat("世", 60),
	} {
		require.Equal(t, want, plainName(give))
	}
}

// As in a recording of Claude Code.
func TestIfACompactionKeptNothingThePolicyIsAskedAboutAllOfTheHistory(t *testing.T) {
	const file = "../../history/importer/testdata/formats/claude-code.jsonl"
	s := opened(t, file)
	require.Equal(t, importer.FormatClaudeCode, s.recording.Format)
	require.True(t, s.compacted())
	dir, runs := bundled(t, "-policy", "copilot-chat", file)
	require.Equal(t, len(runs[0].Compactions), runs[0].Bundles)
	request, err := os.ReadFile(filepath.Join(dir, "001-claude-code", "recorded-copilot-chat", "compaction-001", "request-01", "request.jsonl"))
	require.NoError(t, err)
	for line := range bytes.Lines(request) {
		var m chat.Message
		require.NoError(t, json.Unmarshal(line, &m))
		require.NotEqual(t, "Go on.", m.Text())
	}
}

// A turn that is cut is summarised in two requests at the same time. Their order in the bundle does not depend on which
// was faster.
func TestBundlesOfSplitTurnsAreWholeAndTheSameInEachRun(t *testing.T) {
	var first string
	for range 2 {
		dir, runs := bundled(t, "-policy", "oh-my-pi", "-window", "24000", generatedSession)
		require.NotZero(t, runs[0].Bundles)
		all := listed(t, dir)
		if first == "" {
			first = all
		}
		if all != first {
			t.Fatal("another run writes other bytes")
		}
		require.NotEmpty(t, splitTurn(t, dir), "no turn was cut")
	}
}

// splitTurn returns the folder of a bundle in which the beginning of a turn was summarised in a separate request.
func splitTurn(t *testing.T, dir string) string {
	t.Helper()
	asks, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "request-*", "user-message.md"))
	require.NoError(t, err)
	for _, file := range asks {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.Contains(string(text), "only the beginning of what the agent did") {
			continue
		}
		folder := filepath.Dir(filepath.Dir(file))
		output, err := os.ReadFile(filepath.Join(folder, "output.md"))
		require.NoError(t, err)
		require.Contains(t, string(output), "**Turn Context (split turn):**", "the summary holds both answers")
		requests, err := filepath.Glob(filepath.Join(folder, "request-*"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(requests), 2)
		return folder
	}
	return ""
}
