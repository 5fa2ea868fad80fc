package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
)

// The test binary also serves as the program's child processes.
func TestMain(m *testing.M) {
	if isFakeWorker(os.Args) {
		fakeWorker()
		return
	}
	// Without this, a child with the race detector waits a second before it ends.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// tiny returns options with which everything runs quickly and without Node.
func tiny(only string) options {
	return options{
		noNode: true, only: regexp.MustCompile(only), session: generatedSession, pace: pace{rounds: 1},
		sizes: sizes{session: 2000, chunks: 100},
	}
}

func TestEveryComparisonRuns(t *testing.T) {
	t.Chdir("../..")
	var stdout, stderr bytes.Buffer
	if err := runWith(t.Context(), tiny(""), &stdout, &stderr); err != nil {
		require.ErrorIs(t, err, errMissed)
	}
	for _, p := range plans() {
		require.Contains(t, stdout.String(), p.name+": "+p.about+"\n")
	}
	for _, js := range []string{"@microsoft/tiktokenizer, cold", "prompt-tsx"} {
		require.Contains(t, stdout.String(), "  - "+js+": skipped, it needs Node, and -no-node is set\n")
	}
	require.Contains(t, stdout.String(), "≥450× as fast as prompt-tsx: not measured\n")
	require.Regexp(t, `\n\d+ targets met, \d+ missed, 1 not measured\. go`, stdout.String())
	if t.Failed() {
		t.Log(stdout.String())
	}
}

func TestBadInputIsReportedWithExitCode2(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"an unknown flag", []string{"-fast"}, "flag provided but not defined: -fast (-help lists the flags)"},
		{"an argument", []string{"fast"}, `unexpected argument "fast" (-help lists the flags)`},
		{"no rounds", []string{"-rounds", "0"}, "-rounds is 0: set 1 or more"},
		{"a broken pattern", []string{"-run", "("}, "-run: error parsing regexp: missing closing ): `(`"},
		{"a pattern that matches nothing", []string{"-run", "nothing"}, "-run matches none of: count/o200k, "},
		{"a session that does not exist", []string{"-no-node", "-run", "count/o", "-session", "none"}, "count/o200k: no session to count: "},
		{"a text that does not exist", []string{"-no-node", "-run", "prompt-tsx", "-text", "none"}, "prompt-tsx: -text: stat none: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, program.ExitUsage, run(t.Context(), test.args, &stdout, &stderr))
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			require.True(t, strings.HasPrefix(lines[len(lines)-1], "compare: "+test.want), stderr.String())
			require.Empty(t, stdout.String())
		})
	}
}

func TestHelpPrintsToStdout(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-no-node")
	require.Empty(t, stderr.String())
}

func TestAnInterruptIsReportedInOneLine(t *testing.T) {
	t.Chdir("../..")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitInterrupted, run(ctx, []string{"-no-node", "-run", "prompt-tsx"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "compare: interrupted\n")
}
