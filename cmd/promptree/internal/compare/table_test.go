package compare

import (
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize/replay"
)

func TestTablesForPeople(t *testing.T) {
	for name, args := range map[string][]string{
		"words":   {"-window", "64000", "-policy", "stagewise,frugal"},
		"details": {"-details", "-window", "64000", "-policy", "copilot-chat", "-summary-prices", "claude-haiku-4-5"},
		"tokens":  {"-details", "-window", "32000", "-prices", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := begun(t)
			text := outputOf(t, append(args, session)...)
			golden.Equal(t, "generated-"+name+".golden", strings.ReplaceAll(text, session, filepath.Base(session)))
		})
	}
}

// Nothing of a table is lost where its columns stand below each other.
func TestTheOutputFitsTheTerminal(t *testing.T) {
	wide := outputOf(t, "-details", "-policy", "a3s", "-window", "9000", claudeCode(t, 20, time.Minute, cached))
	for _, columns := range []string{"60", "80", "132"} {
		t.Setenv("COLUMNS", columns)
		limit, err := strconv.Atoi(columns)
		require.NoError(t, err)
		text := outputOf(t, "-details", "-policy", "a3s", "-window", "9000", claudeCode(t, 20, time.Minute, cached))
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "session.jsonl") { // a path is not broken
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), limit)
			}
		}
		for _, word := range strings.Fields(wide) {
			if !strings.Contains(word, "session.jsonl") {
				require.Contains(t, text, word)
			}
		}
		require.Equal(t, program.ExitOK, Main(t.Context(), []string{"-h"}, io.Discard, io.Discard, new(program.Folders)))
	}
}

func TestTheWindowAndThePricesAreThoseOfTheSessionsOwnModelAndAnEqualWindowIsSaid(t *testing.T) {
	text := outputOf(t, "-policy", "a3s,stagewise", claudeCode(t, 10, time.Minute, cached))
	require.Contains(t, text, "10 requests to claude-opus-4-5\nwindow: 200,000 tokens, that of claude-opus-4-5\ndollars: the recorded usage costs $")
	require.Contains(t, text, "In this window all policies do the same: nothing. The largest request takes ")
	require.Contains(t, text, "such as -window 9000.\nThe session costs $")
	require.NotContains(t, outputOf(t, "-window", "9000", "-policy", "a3s,stagewise", claudeCode(t, 10, time.Minute, cached)), "all policies do the same")
	text = outputOf(t, sessiontest.Written(t, "sessiontest.Talk.jsonl", sessiontest.Talk...))
	require.Contains(t, text, "window: 128,000 tokens, assumed: -window sets another\nno dollars: the session names no model: give prices by -prices input=3")
	require.Contains(t, text, "The largest request takes 35 tokens.\nThe session is too small to compare them.\n")
	text = outputOf(t, "-prices", "none", claudeCode(t, 10, time.Minute, cached))
	require.Contains(t, text, "no dollars, as asked")
}

func TestAnotherCostByTheRecorderIsSaid(t *testing.T) {
	lines := slices.Clone(sessiontest.Talk)
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `"role":"assistant",`, `"role":"assistant","model":"claude-opus-4-5","usage":{"input":20000,"output":9,"cost":{"total":0.05}},`, 1)
	}
	const said = "but its recorder computed $0.1500: other prices"
	s := opened(t, sessiontest.Written(t, "dear.jsonl", lines...))
	run := &Run{Result: &replay.Result{Check: &replay.Check{Recorded: 0.3, Replayed: 0.3}, Bill: &replay.Bill{}}}
	require.Contains(t, dollarsHold(&s, []*Run{run}), said)
	run.Check.Recorded = 0.15
	require.NotContains(t, dollarsHold(&s, []*Run{run}), "but its recorder")
}

func TestTheCheapestIsFirstAndOneThatEndedLast(t *testing.T) {
	run := func(policy string, dollars float64, ended string) *Run {
		return &Run{Result: &replay.Result{Policy: policy, Ended: ended, Bill: &replay.Bill{Kept: dollars}, Recall: &replay.Recall{}}}
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
		all := []*Run{run("dear", 10, ""), run("ended", 1, "at request 3"), run("cheap", 5, ""), run("as cheap but for a little", 5.0004, "")}
		var runs []*Run
		for _, i := range order {
			runs = append(runs, all[i])
		}
		require.Regexp(t, "(?s)^cheap .*\nas cheap but for a little .*\ndear .*\nended ", lines(runs))
	}
}

func TestALineSaysWhatAPolicySavesOrCosts(t *testing.T) {
	run := func(kept, look, charged, never float64) *Run {
		return &Run{charged: charged, Result: &replay.Result{Bill: &replay.Bill{Kept: kept, Uncompacted: never}, Recall: &replay.Recall{Dollars: look}}}
	}
	for want, r := range map[string]*Run{
		"saves 55% of what was recorded ($42.60 → $19.06), saves 79% of never compacting":           run(18, 1.06, 42.60, 91.51),
		"costs 5% more than was recorded ($42.60 → $44.82), saves 51% of never compacting":          run(44.82, 0, 42.60, 91.51),
		"costs as much as what was recorded ($42.60 → $42.61), costs 1% more than never compacting": run(42.61, 0, 42.60, 42.18),
		"saves 50% of never compacting ($2.00 → $1.00)":                                             run(1, 0, 0, 2),
		"costs $0.5000": run(0.25, 0.25, 0, 0),
	} {
		require.Equal(t, want, money(r))
	}
}
