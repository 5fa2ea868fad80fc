package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// recordedSession is a real session, which may lie in a folder shared/ beside the repository.
const recordedSession = "../../../../../shared/sessions/pi-before-compaction.jsonl"

// generatedSession is a long session that its own agent compacted twice.
const generatedSession = "../../../../history/importer/testdata/generated.jsonl"

// begun writes the beginning of the generated session, up to a while after its first compaction, and returns its path. A
// replay takes a quarter of the time.
func begun(t *testing.T) string {
	t.Helper()
	return sessiontest.Written(t, "begun.jsonl", strings.SplitN(string(sure.Read(t, generatedSession)), "\n", 401)[:400]...)
}

func counter(t testing.TB) *tiktoken.Counter {
	t.Helper()
	c, err := tiktoken.New("o200k_base")
	require.NoError(t, err)
	return c
}

// ranJSON runs the program with -format json and returns its runs. It fails if the program prints a field that [Run]
// does not have, or the other way round.
func ranJSON(t *testing.T, code int, args ...string) (runs []Run, stderr string) {
	t.Helper()
	var stdout, errs bytes.Buffer
	require.Equal(t, code, Main(t.Context(), append([]string{"-format", "json"}, args...), &stdout, &errs, new(program.Folders)), errs.String())
	for line := range bytes.Lines(stdout.Bytes()) {
		var r Run
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&r))
		require.JSONEq(t, string(sure.JSON(t, r)), string(line))
		runs = append(runs, r)
	}
	return runs, errs.String()
}

func TestAPolicyIsGivenTheNameOfTheLastModelOrTheOneInTheFlag(t *testing.T) {
	args := []string{"-window", "800", "-policy", "a3s,copilot-chat", "testdata/report.jsonl"}
	unnamed, _ := ranJSON(t, program.ExitOK, args...)
	named, _ := ranJSON(t, program.ExitOK, append([]string{"-model-name", "claude-opus-4-5"}, args...)...)
	for i, r := range named {
		require.Empty(t, unnamed[i].AnsweredBy)
		if r.Policy == recorded {
			require.Empty(t, r.AnsweredBy)
			continue
		}
		require.Equal(t, "claude-opus-4-5", r.AnsweredBy)
		if r.Policy == "copilot-chat" { // it tells models of this name not to call tools
			require.Greater(t, r.Summaries.Tokens, unnamed[i].Summaries.Tokens)
		} else {
			require.Equal(t, r.Summaries, unnamed[i].Summaries)
		}
	}
	s := opened(t, generatedSession)
	require.NoError(t, s.priced(t.Context(), options{}))
	require.Equal(t, "claude-opus-4-5", s.model)
}

// Usage is an entry of its own there.
func TestAnImportedSessionIsReplayedLikeTheRecording(t *testing.T) {
	files, err := filepath.Glob("../../../../history/importer/testdata/formats/*.json*")
	require.NoError(t, err)
	if extremes.All() {
		files = append(files, generatedSession, recordedSession)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sessiontest.Needs(t, file)
			t.Parallel()
			recording := sessiontest.Read(t, file)
			require.NotEmpty(t, recording.Records)
			imported := filepath.Join(t.TempDir(), "imported.jsonl")
			session := sessiontest.Open(t, imported, history.Options{Header: recording.Header, File: storage.FileOptions{Sync: storage.SyncNever}})
			_, err = recording.AppendTo(t.Context(), session)
			require.NoError(t, err)
			require.NoError(t, session.Close())
			replayed := func(file string) []Run {
				runs, _ := ranJSON(t, program.ExitOK, "-prices", "claude-opus-4-5", "-unchecked", "-policy", "frugal", file)
				for i := range runs {
					require.Positive(t, runs[i].Requests.Number)
					require.Equal(t, runs[i].RequestsIn, runs[i].Requests.Number)
					runs[i].Session, runs[i].Format = "", ""
					for k := range runs[i].Compactions {
						runs[i].Compactions[k].Line = 0 // the usage has lines of its own
					}
				}
				return runs
			}
			require.Equal(t, replayed(file), replayed(imported))
		})
	}
}

func TestTheLineTheTablesAndThePageHaveOneAccount(t *testing.T) {
	page := filepath.Join(t.TempDir(), "run.html")
	args := []string{"-policy", "frugal", "-window", "64000", begun(t)}
	runs, _ := ranJSON(t, program.ExitOK, append([]string{"-page", page}, args...)...)
	run := runs[len(runs)-1]
	_, rest, _ := strings.Cut(string(sure.Read(t, page)), `type="application/json">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var shown struct {
		Account []inspect.Charge
		Steps   []struct {
			Dollars     float64
			Usage       chat.Usage
			LookBack    *inspect.LookBack
			Compactions []inspect.StepCompaction
		}
		Prompts []struct{ Tokens, ToolTokens int }
	}
	require.NoError(t, json.Unmarshal([]byte(data), &shown))
	total, sum := shown.Account[len(shown.Account)-1].Dollars, 0.0
	for _, part := range shown.Account[:len(shown.Account)-1] {
		sum += part.Dollars
	}
	require.InDelta(t, sum, total, 1e-9)
	require.InDelta(t, run.Bill.Kept+run.Recall.Dollars, total, 1e-9)
	require.Len(t, shown.Steps, run.Requests.Number)
	steps, sent, before := 0.0, 0, 0
	for i, s := range shown.Steps {
		steps += s.Dollars
		sent += shown.Prompts[i].Tokens + shown.Prompts[i].ToolTokens
		if s.LookBack != nil {
			steps += s.LookBack.Dollars
		}
		for _, c := range s.Compactions {
			steps += c.Dollars
			require.Equal(t, run.Compactions[before].TokensBefore, c.Before)
			require.Equal(t, run.Compactions[before].Why, c.Why)
			require.NotEmpty(t, c.Why)
			before++
		}
	}
	require.Len(t, run.Compactions, before)
	require.InEpsilon(t, total, steps, 0.01)
	require.InEpsilon(t, run.Requests.Tokens, sent, 0.001)
	require.NotZero(t, before)
	said := outputOf(t, append([]string{"-details"}, args...)...)
	require.Contains(t, said, fmt.Sprintf("→ $%.2f)", total))
	require.Regexp(t, fmt.Sprintf(`(?m)^frugal .* %.2f +[0-9.]+ +[0-9.]+%%$`, total), said)
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	const header = `{"type":"session","id":"a"}`
	good := sessiontest.Written(t, "good.jsonl", header)
	torn := sessiontest.Written(t, "torn.jsonl", header, `{"type":"mess`)
	orphan := sessiontest.Written(t, "orphan.jsonl", header, `{"type":"message","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"a"}]}}`)
	notes := sessiontest.Written(t, "notes.txt", "no session at all")
	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no session", nil, "name a recorded session"},
		{"an unknown flag", []string{"-bogus", good}, "-bogus"},
		{"a window that is not a number", []string{"-window", "many", good}, `-window: "many"`},
		{"a window of 0", []string{"-window", "0", good}, `-window: "0" is not a number of tokens, 4 or more`},
		{"a window that holds only the start of the answer", []string{"-window", "3", good}, `-window: "3"`},
		{"a window too large for an int", []string{"-window", "99999999999999999999", good}, "-window"},
		{"an unknown policy", []string{"-policy", "best", good}, `-policy: unknown policy "best": name some of a3s, copilot-chat`},
		{"no policy", []string{"-policy", "", good}, `-policy: unknown policy ""`},
		{"prices of an unknown model", []string{"-prices", "gpt-9", good}, `the prices of model "gpt-9" are unknown`},
		{"a page of several policies", []string{"-page", filepath.Join(t.TempDir(), "run.html"), good}, "-page shows one replay"},
		{"a page in a folder that does not exist", []string{"-page", filepath.Join(missing, "run.html"), "-policy", "a3s", good}, "missing.jsonl"},
		{"a lifetime without prices", []string{"-ttl", "5m", "-prices", "none", good}, "-ttl needs prices, and -prices is none"},
		{"a lifetime below 0", []string{"-ttl", "-5m", good}, "-ttl is -5m0s"},
		{"summaries of an unknown model", []string{"-summary-prices", "gpt-9", good}, "by -summary-prices input=3"},
		{"a lifetime without known prices", []string{"-ttl", "5m", good}, `good.jsonl: -ttl needs prices, and those of the session's model "" are unknown: give them by -prices input=3`},
		{"a check of a window", []string{"-check", "-prices", "claude-opus-4-5", "-window", "64000", good}, "-check replays nothing: leave out -window"},
		{"a check without prices", []string{"-check", "-prices", "none", good}, "-check needs prices, and -prices is none"},
		{"a check of a session without usage", []string{"-check", "-prices", "claude-opus-4-5", good}, "good.jsonl: -check needs recorded usage"},
		{"an unknown format", []string{"-format", "xml", good}, `-format: unknown format "xml": name text or json`},
		{"one bad window of two", []string{"-window", "64000,", good}, `-window: "" is not a number`},
		{"a session that does not exist", []string{missing}, "missing.jsonl"},
		{"a session that does not exist, among others", []string{good, missing}, "missing.jsonl"},
		{"a folder without recordings", []string{t.TempDir()}, "no file in it has a name that ends in .jsonl, .json or .md: name a file"},
		{"a session in an unknown format", []string{notes}, "notes.txt: importer: line 1"},
		{"a broken session", []string{torn}, "torn.jsonl: importer: line 2"},
		{"a recorded result without its call", []string{orphan}, "orphan.jsonl: replay: the session cannot be replayed: line 2: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, program.ExitUsage, Main(t.Context(), test.args, &stdout, &stderr, new(program.Folders)))
			require.Contains(t, stderr.String(), test.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		})
	}
}

func TestAPolicyThatCannotContinueSaysWhereAndTheOthersAreReplayed(t *testing.T) {
	runs, stderr := ranJSON(t, program.ExitFailed, "-prices", "none", "-window", "3860", "-policy", "a3s,frugal", generatedSession)
	require.Len(t, runs, 1+2)
	require.Empty(t, runs[0].Ended, "the window does not limit the recorded run")
	for _, r := range runs[1:] {
		require.Less(t, r.Requests.Number, r.RequestsIn)
		require.Regexp(t, `^at request \d+, line \d+: `, r.Ended)
	}
	require.Equal(t, "promptree replay: a policy did not reach the end of its session\n", stderr)
}

func TestASessionWithoutMessagesHasARunWithoutRequests(t *testing.T) {
	runs, _ := ranJSON(t, program.ExitOK, "-policy", "copilot-chat", sessiontest.Written(t, "s.jsonl", `{"type":"session","id":"a"}`))
	require.Len(t, runs, 1)
	require.Zero(t, runs[0].Requests.Number)
	require.NotNil(t, runs[0].Compactions, "an empty list in JSON")
}

// stopper calls cancel at the write after which left is 0.
type stopper struct {
	bytes.Buffer
	left   int
	cancel context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	if s.left--; s.left == 0 {
		s.cancel()
	}
	return s.Buffer.Write(p)
}

func TestAnInterruptEndsTheReplayAndPrintsTheRequestsSoFar(t *testing.T) {
	o, err := parse([]string{"-window", "16000", "-policy", "copilot-chat", "-prices", "none", begun(t)}, nil)
	require.NoError(t, err)
	whole := opened(t, o.sessions[0]).requests
	for _, after := range []int{1, 100, whole + 100} {
		ctx, cancel := context.WithCancel(t.Context())
		var stdout bytes.Buffer
		require.ErrorIs(t, compare(ctx, o, &stdout, io.Discard, &progress{w: &stopper{left: after, cancel: cancel}}), context.Canceled)
		cancel()
		require.Regexp(t, `(?m)^(recorded|copilot-chat) +interrupted after request \d+ of \d+$`, stdout.String())
		require.Equal(t, after > whole, strings.Contains(stdout.String(), "\ncopilot-chat"), "a policy that did not begin has no line")
	}
}

func TestAnInterruptBeforeTheFirstRequestPrintsOneLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitInterrupted, Main(ctx, []string{generatedSession}, &stdout, &stderr, new(program.Folders)))
	require.Equal(t, "promptree replay: interrupted\n", stderr.String())
}

func opened(t testing.TB, path string) source {
	t.Helper()
	s, _, err := open(t.Context(), path, options{folders: new(program.Folders)}, io.Discard)
	require.NoError(t, err)
	return s
}
