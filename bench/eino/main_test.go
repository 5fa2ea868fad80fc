package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// workdays returns the messages of several workdays, with different ids of calls.
func workdays(n int) (list []chat.Message) {
	for i := range n {
		for _, m := range sessiontest.Workday() {
			for k := range m.ToolCalls {
				m.ToolCalls[k].ID += fmt.Sprint("_", i)
			}
			if m.ToolCallID != "" {
				m.ToolCallID += fmt.Sprint("_", i)
			}
			list = append(list, m)
		}
	}
	return list
}

func TestPromptreesRequestsFitAndEachContestantAnswersEveryRequest(t *testing.T) {
	messages, window := workdays(6), 3000
	turns := turnsOf(messages)
	for _, c := range contestants(window) {
		got, err := c.run(t.Context(), turns, window)
		require.NoError(t, err, c.name)
		require.Equal(t, answersIn(turns), got.requests, c.name)
		if c.remembers {
			require.Zero(t, got.over, c.name)
			require.Positive(t, got.summaries, c.name)
		}
	}
	var out bytes.Buffer
	require.NoError(t, compare(t.Context(), messages, window, &out))
	require.Equal(t, len(contestants(window)), strings.Count(out.String(), "\n| eino, ")+strings.Count(out.String(), "\n| promptree, "))
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(notes, []byte("no session at all\n"), 0o600))
	for want, args := range map[string][]string{
		"name one recorded session":        {},
		"name one recorded session (-help": {"a", "b"},
		"-window is 10":                    {"-window", "10", "a"},
		"-nonsense":                        {"-nonsense"},
		"missing.jsonl":                    {"missing.jsonl"},
		notes + ": importer: line 1":       {notes},
		"comes after a: flags come first,": {"a", "-window", "9000"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, program.ExitUsage, run(t.Context(), args, &stdout, &stderr), want)
		require.Contains(t, stderr.String(), want)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		require.Empty(t, stdout.String())
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-window")
	require.Empty(t, stderr.String())
}

func TestAnInterruptIsReportedInOneLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	session := "../../history/importer/testdata/generated.jsonl"
	require.Equal(t, program.ExitInterrupted, run(ctx, []string{session}, &stdout, &stderr))
	require.Equal(t, "eino: interrupted\n", stderr.String())
}

func TestControlCharactersInArgumentsAreEscaped(t *testing.T) {
	for _, args := range [][]string{{"-no\x1b[2J"}, {"none\x1b[2J\u202e"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, program.ExitUsage, run(t.Context(), args, &stdout, &stderr))
		require.Contains(t, stderr.String(), `\u001b`)
		require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202e]", stdout.String()+stderr.String())
	}
}
