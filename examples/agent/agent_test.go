package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/policies"
)

// surveyed runs the program's work, and checks the rules of every run: rounds are counted from 1 and are within the budget.
func surveyed(t *testing.T, args ...string) (*table, error) {
	t.Helper()
	o, err := parse(append([]string{"-transcript", filepath.Join(t.TempDir(), "transcript.jsonl")}, args...), io.Discard)
	require.NoError(t, err)
	sum := &table{to: io.Discard}
	err = work(t.Context(), o, sum)
	for i, r := range sum.rounds {
		require.Equal(t, i+1, r.Number)
		require.Positive(t, r.Tokens)
		require.LessOrEqual(t, r.Tokens, r.Budget)
		for _, c := range r.Compactions {
			require.LessOrEqual(t, c.TokensAfter, r.Budget)
		}
	}
	return sum, err
}

// compactions returns the number of compactions of a run.
func compactions(sum *table) (n int) {
	for _, r := range sum.rounds {
		n += len(r.Compactions)
	}
	return n
}

func TestSurveyPrunesCompactsAndFindsTheDetail(t *testing.T) {
	sum, err := surveyed(t, "-dir", "../..")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(sum.rounds), 15)
	require.Positive(t, compactions(sum))
	about := strings.Fields(sum.answer)[3]
	data := sure.Read(t, filepath.Join("../..", about))
	require.Equal(t, fmt.Sprintf("The SHA-256 of %s is %x.", about, sha256.Sum256(data)), sum.answer)
	var did strings.Builder
	dropped, budget := 0, 0
	for _, r := range sum.rounds {
		did.WriteString(r.Did + "\n")
		dropped, budget = dropped+r.Dropped, r.Budget
	}
	require.Positive(t, dropped)
	require.Contains(t, did.String(), "read_file transcript.jsonl", "the detail is found in the transcript")

	require.Less(t, sum.Spent, 0.8*sum.Whole, "compaction pays")
	require.Greater(t, sum.Needed, 2*budget, "without compaction it does not fit")
	require.Less(t, sum.Summaries, sum.Spent/4)
}

func TestAPageShowsEachRound(t *testing.T) {
	dir := sure.Folder(t, map[string]string{"a.txt": strings.Repeat("one two three\n", 2000)})
	for _, window := range []string{"6000", "128000"} {
		t.Run("in "+window, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.html")
			total, err := surveyed(t, "-dir", dir, "-window", window, "-page", file)
			require.NoError(t, err)
			page := sure.Read(t, file)
			require.Equal(t, len(total.rounds), strings.Count(string(page), `,"explain":"`))
			_, data, _ := strings.Cut(string(page), `type="application/json">`)
			var shown struct {
				Steps []struct {
					Dollars     float64
					Compactions []struct{ Dollars float64 }
				}
			}
			require.NoError(t, json.NewDecoder(strings.NewReader(data)).Decode(&shown))
			sum, summaries := 0.0, 0.0
			for _, step := range shown.Steps {
				sum += step.Dollars
				for _, c := range step.Compactions {
					summaries += c.Dollars
				}
			}
			require.InDelta(t, total.Spent, sum+summaries, 1e-9, "terminal and page have one account")
			require.InDelta(t, total.Summaries, summaries, 1e-9)
		})
	}
}

func TestASurveyFindsTheDetailInSmallAndLargeWindows(t *testing.T) {
	windows := []string{"4000", "200000"} // in the last, old output is cleared and nothing is compacted
	if extremes.All() {
		windows = append(windows, "9000", "32000", "64000")
	}
	for _, name := range policies.Names() {
		for _, window := range windows {
			t.Run(name+" in "+window, func(t *testing.T) {
				t.Parallel()
				sum, err := surveyed(t, "-dir", "../../history", "-policy", name, "-window", window)
				require.NoError(t, err)
				require.Regexp(t, `^The SHA-256 of \S+ is [0-9a-f]{64}\.$`, sum.answer)
			})
		}
	}
}

// The mark of a cleared result names the transcript, although there is no summary.
func TestASurveyFindsADetailThatWasCleared(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"} {
		// The detail, which holds the name, must be longer than its placeholder, which holds the path of the transcript.
		files[strings.Repeat("long-", 30)+name] = strings.Repeat("A line of "+name+" has a few words more than the one that stands before it, so that it is long.\n", 1000)
	}
	sum, err := surveyed(t, "-dir", sure.Folder(t, files), "-policy", "oh-my-pi", "-window", "200000")
	require.NoError(t, err)
	require.Zero(t, compactions(sum))
	require.Greater(t, len(sum.rounds), 45, "it looks the detail up")
}

func TestASurveyFindsTheDetailWithLookUps(t *testing.T) {
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum, err := surveyed(t, "-dir", "../../history", "-policy", name, "-recall", "-no-breadcrumb")
			require.NoError(t, err)
			messages := compacttest.SaidInFile(t, sum.transcript)
			require.True(t, slices.ContainsFunc(messages, func(m chat.Message) bool {
				return len(m.ToolCalls) > 0 && m.ToolCalls[0].Name == history.SearchTool
			}))
			require.NoError(t, chat.Validate(append(messages, chat.UserMessage("Thanks."))))
		})
	}
}

func TestASurveyThatFailsIsOneLine(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"without the breadcrumb": {[]string{"-dir", "../..", "-no-breadcrumb"}, folderagent.ExitFailed,
			`it said: I no longer have the SHA-256 of .* nothing says where to look it up`},
		"in an empty folder":                            {[]string{"-dir", t.TempDir()}, folderagent.ExitFailed, "there are no files to survey"},
		"in a window too small for the required pieces": {[]string{"-window", "205"}, folderagent.ExitUsage, `needs \d+ tokens and has \d+\b.*Text \(\d+\)`},
		"in a window too small for the tools":           {[]string{"-window", "60"}, folderagent.ExitUsage, `the tools take \d+ tokens: .*has 57`},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, test.code, run(t.Context(), append(test.args, "-transcript", filepath.Join(t.TempDir(), "t.jsonl")), &stdout, &stderr))
			require.Regexp(t, test.want, stderr.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		})
	}
}

func TestASurveyFinishesInOtherFolders(t *testing.T) {
	repeated := func(name string) string { return strings.Repeat(name+" has this line many times\n", 300) }
	tests := []struct {
		name  string
		files map[string]string
	}{
		{"one small file", map[string]string{"only file.txt": "one\ntwo\n"}},
		{"many files", map[string]string{
			"a.md": repeated("a.md"), "b.txt": repeated("b.txt"), "c/d.go": repeated("d.go"), "c/e.go": repeated("e.go"),
		}},
		{"the largest file is not text", map[string]string{"logo.png": strings.Repeat("\x89PNG\xff\xfe", 1000), "text.txt": "text\n"}},
		{"hidden and empty files", map[string]string{".secret": repeated("no"), ".git/config": repeated("no"), "empty": "", "a.go": "package a\n"}},
		{"a very long line", map[string]string{"long.json": strings.Repeat(`{"世界":"🙂"},`, 3000)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sum, err := surveyed(t, "-dir", sure.Folder(t, test.files))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(sum.rounds), 15)
			require.NoError(t, chat.Validate(append(compacttest.SaidInFile(t, sum.transcript), chat.UserMessage("Thanks."))))
		})
	}
}

func TestATranscriptInTheFolderIsNotSurveyed(t *testing.T) {
	dir := sure.Folder(t, map[string]string{"a.txt": "one two\n"})
	var stdout, stderr bytes.Buffer
	require.Equal(t, folderagent.ExitOK, run(t.Context(), []string{"-dir", dir, "-transcript", filepath.Join(dir, "t.jsonl")}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "The SHA-256 of a.txt is ")
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	dir := sure.Folder(t, map[string]string{"notes.txt": "no session at all", "earlier.html": "a page"})
	in := func(name string) string { return filepath.Join(dir, name) }
	session, err := history.Open(in("used.jsonl"), history.Options{})
	require.NoError(t, err)
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("hello")))
	require.NoError(t, session.Close())
	before, both := contents(t, dir), filepath.Join(t.TempDir(), "new")

	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown flag", []string{"-bogus"}, "-bogus"},
		{"a window that is not a number", []string{"-window", "many"}, "-window"},
		{"a window of 0", []string{"-window", "0"}, "-window is 0"},
		{"a window that is negative", []string{"-window=-9"}, "-window is -9"},
		{"a window larger than an int", []string{"-window", "99999999999999999999"}, "-window"},
		{"a pace that is not a duration", []string{"-pace", "fast"}, "-pace"},
		{"a pace without a unit", []string{"-pace", "5"}, "-pace"},
		{"a pace that is negative", []string{"-pace", "-1s"}, "-pace"},
		{"an argument", []string{"folder"}, `unexpected argument "folder"`},
		{"a missing folder", []string{"-dir", in("missing")}, "missing"},
		{"a folder that is a file", []string{"-dir", in("notes.txt")}, "notes.txt"},
		{"a transcript in use", []string{"-transcript", in("used.jsonl")}, "already holds a session"},
		{"a transcript in use, and a page", []string{"-transcript", in("used.jsonl"), "-page", in("earlier.html")}, "already holds a session"},
		{"a page that is the transcript", []string{"-transcript", both, "-page", both}, "would replace the session"},
		{"a transcript of another format", []string{"-transcript", in("notes.txt")}, "notes.txt"},
		{"a transcript that is a folder", []string{"-transcript", dir}, "is a directory"},
		{"a transcript in a missing folder", []string{"-transcript", in("missing/t.jsonl")}, "missing"},
		{"a page in a missing folder", []string{"-page", in("missing/run.html")}, "missing"},
		{"an unknown policy", []string{"-policy", "best"}, "use one of a3s, copilot-chat"},
		{"prices of an unknown model", []string{"-prices", "best"}, `the prices of model "best" are unknown`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, folderagent.ExitUsage, run(t.Context(), test.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), test.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.Empty(t, stdout.String())
			require.Empty(t, cmp.Diff(before, contents(t, dir)))
		})
	}
}

// contents returns the files of a folder, except empty ones, which are locks.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := sure.Tree(t, dir)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	return files
}

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAFailureToWriteOutputIsReported(t *testing.T) {
	var stderr bytes.Buffer
	dir := sure.Folder(t, map[string]string{"a.txt": "one two\n"})
	require.Equal(t, folderagent.ExitFailed, run(t.Context(), []string{"-dir", dir, "-transcript", filepath.Join(t.TempDir(), "t.jsonl")}, full{}, &stderr))
	require.Contains(t, stderr.String(), "no space left on device")
}

func TestHelpGoesToTheStandardOutput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, folderagent.ExitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-window")
	require.Empty(t, stderr.String())
}

func TestNamesOfFilesDoNotSteerTheTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[2J\u202eb")
	if os.Mkdir(dir, 0o700) != nil {
		t.Skip("no file has such a name here")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\u202etxt.exe.go"), bytes.Repeat([]byte("package a // \x1b[31m\n"), 200), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\x9bno text"), bytes.Repeat([]byte("x\n"), 9000), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two.go\t9 bytes\nlines"), bytes.Repeat([]byte("x\n"), 9000), 0o600))
	for _, args := range [][]string{
		{"-dir", dir}, {"-dir", filepath.Join(dir, "none")}, {"-no\x1bflag"}, {"\u202e"},
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), args, &stdout, &stderr)
		for _, out := range []string{stdout.String(), stderr.String()} {
			require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202e]", out)
		}
		require.Contains(t, stdout.String()+stderr.String(), `\u`)
	}
}

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
