package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
)

const (
	generatedSession = "../../history/importer/testdata/generated.jsonl"
	recordedSession  = "../../../shared/sessions/pi-before-compaction.jsonl"
)

// outcome of a run of the program with -json.
type outcome struct {
	code   int
	rounds []roundLine
	totals totals
	stderr string
}

func runJSON(t *testing.T, ctx context.Context, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "-json", "-transcript", filepath.Join(t.TempDir(), "transcript.jsonl"))
	o := outcome{code: run(ctx, args, &stdout, &stderr), stderr: stderr.String()}
	for line := range strings.Lines(stdout.String()) {
		var last struct {
			Totals *totals `json:"totals"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &last))
		if last.Totals != nil {
			o.totals = *last.Totals
			continue
		}
		var round roundLine
		require.NoError(t, json.Unmarshal([]byte(line), &round))
		require.LessOrEqual(t, round.Tokens, round.Budget)
		o.rounds = append(o.rounds, round)
	}
	return o
}

func TestSurveyPrunesCompactsAndFindsTheDetail(t *testing.T) {
	o := runJSON(t, t.Context(), "-dir", "../..")
	require.Equal(t, exitOK, o.code, o.stderr)
	require.GreaterOrEqual(t, len(o.rounds), 15)
	require.Positive(t, o.totals.Compactions)
	require.Positive(t, o.totals.Dropped)
	require.Regexp(t, `is [0-9a-f]{64}\.$`, o.totals.Answer)
	var did strings.Builder
	for _, r := range o.rounds {
		did.WriteString(r.Did + "\n")
	}
	require.Contains(t, did.String(), "read_file transcript.jsonl", "the detail is found in the transcript")
}

func TestSurveyFailsWithoutTheBreadcrumb(t *testing.T) {
	o := runJSON(t, t.Context(), "-dir", "../..", "-no-breadcrumb")
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, "nothing says where to look it up")
}

func TestSurveyOfOtherFolders(t *testing.T) {
	one := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(one, "only file.txt"), []byte("one\ntwo\n"), 0o600))
	many := t.TempDir()
	for _, name := range []string{"a.md", "b.txt", "c/d.go", "c/e.go"} {
		path := filepath.Join(many, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(name+" has this line many times\n", 300)), 0o600))
	}
	for _, dir := range []string{one, many} {
		o := runJSON(t, t.Context(), "-dir", dir)
		require.Equal(t, exitOK, o.code, o.stderr)
		require.GreaterOrEqual(t, len(o.rounds), 15)
	}
	o := runJSON(t, t.Context(), "-dir", t.TempDir())
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, "no files")
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	torn := filepath.Join(t.TempDir(), "torn.jsonl")
	require.NoError(t, os.WriteFile(torn, []byte(`{"type":"session","id":"a"}`+"\n"+`{"type":"mess`), 0o600))
	used := filepath.Join(t.TempDir(), "used.jsonl")
	session, err := history.Open(used)
	require.NoError(t, err)
	require.NoError(t, session.Append(chat.UserMessage("hello")))
	require.NoError(t, session.Close())
	before, err := os.ReadFile(used)
	require.NoError(t, err)

	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown flag", []string{"-bogus"}, "-bogus"},
		{"a window that is no number", []string{"-window", "many"}, "-window"},
		{"a window of 0", []string{"-window", "0"}, "-window is 0"},
		{"a pace that is negative", []string{"-pace", "-1s"}, "-pace"},
		{"an argument", []string{"folder"}, "folder"},
		{"no such folder", []string{"-dir", "missing"}, "missing"},
		{"no such session", []string{"-session", "missing.jsonl"}, "missing.jsonl"},
		{"a malformed session", []string{"-session", torn}, "torn.jsonl: importer: line 2"},
		{"a transcript in use", []string{"-transcript", used}, "holds a session already"},
		{"a window too small for what is required", []string{"-window", "60"}, "tokens and has 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, exitUsage, run(t.Context(), test.args, &stdout, &stderr))
			require.Contains(t, stderr.String(), test.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		})
	}
	after, err := os.ReadFile(used)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-window")
	require.Empty(t, stderr.String())
}

// cancelling is a writer that interrupts the program after some lines.
type cancelling struct {
	lines  int
	cancel context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	if c.lines -= bytes.Count(p, []byte("\n")); c.lines <= 0 {
		c.cancel()
	}
	return len(p), nil
}

func TestInterruptLeavesAValidTranscript(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transcript := filepath.Join(t.TempDir(), "transcript.jsonl")
	var stderr bytes.Buffer
	code := run(ctx, []string{"-dir", "../..", "-transcript", transcript}, &cancelling{lines: 8, cancel: cancel}, &stderr)
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, stderr.String(), transcript)
	session, err := history.Read(transcript)
	require.NoError(t, err)
	require.Nil(t, session.Recovered())
	require.Greater(t, session.Len(), 4)
}

func TestReplayStaysWithinEveryWindow(t *testing.T) {
	for _, file := range []string{generatedSession, recordedSession} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f, err := os.Open(file)
			if os.IsNotExist(err) {
				t.Skipf("%s is not there", file)
			}
			require.NoError(t, err)
			defer f.Close()
			recording, err := importer.Read(f)
			require.NoError(t, err)
			asked := 0
			for _, e := range recording.Entries {
				if e.Message.Role == chat.RoleAssistant {
					asked++
				}
			}
			for _, window := range []string{"8000", "32000", "64000", "128000", "200000"} {
				o := runJSON(t, t.Context(), "-session", file, "-window", window)
				require.Equal(t, exitOK, o.code, o.stderr)
				require.Len(t, o.rounds, asked)
				requireComplete(t, recording, o.totals.Transcript)
			}
		})
	}
}

// requireComplete checks that everything that was said is in the transcript, in order.
func requireComplete(t *testing.T, recording *importer.Recording, transcript string) {
	t.Helper()
	session, err := history.Read(transcript)
	require.NoError(t, err)
	var said []chat.Message
	for _, e := range session.Entries() {
		if e.Type == history.TypeMessage {
			said = append(said, e.Message)
		}
	}
	require.Len(t, said, len(recording.Entries))
	for i, e := range recording.Entries {
		want, err := json.Marshal(e.Message)
		require.NoError(t, err)
		got, err := json.Marshal(said[i])
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}
