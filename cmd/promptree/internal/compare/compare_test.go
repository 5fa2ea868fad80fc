package compare

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/event"
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

func TestRecallIsMeasuredWithoutPrices(t *testing.T) {
	args := []string{"-details", "-prices", "none", "-recall", "-window", "900,2000", "-policy", "frugal,stagewise", "testdata/report.jsonl", "../../../../history/importer/testdata/formats/pi-tree.jsonl"}
	text := outputOf(t, args...)
	require.Contains(t, text, "recall: "+recallNote)
	require.NotContains(t, text, "total with")
	require.Contains(t, text[strings.LastIndex(text, "all 2 sessions"):], "900")
	runs, _ := ranJSON(t, 0, args...)
	for _, r := range runs {
		c := r.Recall
		require.Equal(t, c.Needed, c.Tail+c.Summary+c.Index+c.OneLookUp+c.Further+c.NotInLog)
		require.Zero(t, c.NotInLog)
		require.Zero(t, c.Dollars)
	}
}

func TestProgressIsShownOnATerminalOnly(t *testing.T) {
	require.Nil(t, newProgress(&bytes.Buffer{}))
	f, err := os.Create(t.TempDir() + "/log")
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, newProgress(f))
}

func TestProgressIsABarOverAllReplaysFromTheSecondSecondOn(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, begun: time.Now(), all: 40}
	p.at("frugal", 0, 20)
	p.at("frugal", 10, 20)
	require.Empty(t, b.String())
	p.begun = time.Now().Add(-10 * time.Second)
	p.at("frugal", 10, 20)
	require.Contains(t, b.String(), "[######..................]  25%, 30s left: frugal, request 10 of 20")
	p.at("stagewise", 0, 20)
	p.at("stagewise", 20, 20)
	require.Contains(t, b.String(), "[########################] 100%, 0s left: stagewise, request 20 of 20")
	p.clear()
	require.True(t, strings.HasSuffix(b.String(), "\r\x1b[K"))
}

func TestPricesAreNamedOrListed(t *testing.T) {
	opus, err := modelinfo.Prices("claude-opus-4-5")
	require.NoError(t, err)
	listed := sizing.Prices{Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, Lifetime: 5 * time.Minute, LeastCached: 4096}
	for name, want := range map[string]sizing.Prices{"claude-opus-4-5": opus, "input=5,read=0.5,write=6.25,output=25,least=4096": listed} {
		got, err := pricing{table: modelinfo.Published()}.named("-prices", name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for name, want := range map[string]string{
		"gpt-9":   `the prices of model "gpt-9" are unknown: give them by -prices input=3,read=0.3,output=15, in dollars a million tokens`,
		"input=x": `-prices: "input=x"`, "in=5": "the names are input, read, write, output and least", "input=-5,output=1": "Prices.Rates.Input is -5",
		"input=3": "lacks input or output: name both", "output=3,read=1": "lacks input or output: name both",
	} {
		_, err := pricing{table: modelinfo.Published()}.named("-prices", name)
		require.ErrorContains(t, err, want)
	}
}

// The cost model foretells the recorded dollars to the cent, and the recorded run costs about the same. Under
// frugal, with digests for summaries, the session costs less.
func TestTheDollarsOfARecordedSessionAreForetold(t *testing.T) {
	sessiontest.Needs(t, recordedSession)
	if !extremes.All() {
		t.Skip("takes too long")
	}
	t.Parallel()
	runs, stderr := ranJSON(t, program.ExitOK, "-window", "200000", "-policy", "frugal", "-prices", "claude-opus-4-5", "-summary-prices", "claude-haiku-4-5",
		recordedSession)
	require.Empty(t, stderr)
	c := runs[0].Check
	require.Equal(t, []int{468, 456, 1, 9, 3}, []int{c.Requests, c.Exact, c.Expired, c.Restarts, c.Others})
	require.InDelta(t, 42.60, c.Recorded, 0.005)
	require.InDelta(t, c.Recorded, c.Kept, 0.02)
	require.InDelta(t, 1.18, c.Factor, 0.02)
	require.InEpsilon(t, c.Recorded, runs[0].Bill.Kept, 0.01)
	require.InDelta(t, 5.79, runs[0].Bill.Restarts, 0.3)
	require.Less(t, runs[1].Bill.Kept, c.Recorded)
	require.Zero(t, runs[1].Events[event.CacheBroken], "only compactions change this prompt's prefix")
	for _, r := range runs {
		b := r.Bill
		require.InDelta(t, b.Kept, b.Read+b.Written+b.Input+b.Output+b.Summaries, 1e-9)
		require.Less(t, b.Restarts, b.Kept)
	}
}
