package summarize_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"

	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// TestMain runs the tests, which must leave no goroutine behind. In a child process it does the child's work instead.
func TestMain(m *testing.M) {
	flag.Parse()
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, workUntilKilled(path))
		os.Exit(1)
	}
	debug.SetGCPercent(400) // a small heap with much garbage is collected often
	before := runtime.NumGoroutine()
	code := m.Run()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		os.Exit(code) // the fuzzer has goroutines of its own
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && code == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) { // goroutines that tests left behind have had time to end
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
	}
	os.Exit(code)
}

// Names of package compacttest that nearly every test uses.
type (
	quarter = compacttest.Quarter
	fixture = compacttest.Fixture
	status  = compacttest.Status
)

const (
	task        = compacttest.Task
	budget      = compacttest.Budget
	roundTokens = compacttest.RoundTokens
)

var (
	count, words, output, outputs, round, rounds = compacttest.Count, compacttest.Words, compacttest.Output, compacttest.Outputs, compacttest.Round, compacttest.Rounds

	prompt, newFixture, newFileFixture, fixtureOf, overflowing = compacttest.Prompt, compacttest.New, compacttest.NewFile, compacttest.Of, compacttest.Overflowing

	entries, viewOf, compactions, said, kept = compacttest.Entries, compacttest.ViewOf, compacttest.Compactions, compacttest.Said, compacttest.Kept

	kinds, opened, content, equal, text, stopped, slowly = compacttest.Kinds, sessiontest.Opened, sure.Content, compacttest.Equal, compacttest.Text, compacttest.Stopped, compacttest.After

	firstMaterial, secondMaterial, summarizedMaterial = compacttest.FirstMaterial, compacttest.SecondMaterial, compacttest.SummarizedMaterial

	renderRequest, mustRenderRequest, format = compacttest.RenderRequest, compacttest.MustRenderRequest, compacttest.Format

	renderReplacement, formatReplacement = compacttest.RenderReplacement, compacttest.FormatReplacement

	shown, whole, toolUse, failing, talk, mentionsLog, marksIn = compacttest.Shown, compacttest.Whole, compacttest.ToolUse, compacttest.Failing, compacttest.Talk, compacttest.MentionsLog, compacttest.MarksIn
)

// bubble runs a subtest in fake time.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
