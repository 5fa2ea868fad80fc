package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// cancelling is a writer that interrupts the program after some rounds.
type cancelling struct {
	bytes.Buffer
	rounds int
	cancel context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	if bytes.ContainsAny(p, "█░") {
		c.rounds--
	}
	if c.rounds <= 0 {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

// interrupted runs the program and interrupts it after some rounds.
func interrupted(t *testing.T, rounds int, args ...string) (transcript string, printed []byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transcript = filepath.Join(t.TempDir(), "transcript.jsonl")
	out := &cancelling{rounds: rounds, cancel: cancel}
	var stderr bytes.Buffer
	require.Equal(t, folderagent.ExitInterrupted, run(ctx, append(args, "-transcript", transcript), out, &stderr))
	require.Equal(t, "agent: interrupted; transcript: "+transcript+"\n", stderr.String())
	return transcript, out.Bytes()
}

func TestInterruptLeavesACompleteTranscript(t *testing.T) {
	for _, rounds := range []int{1, 7, 14} {
		for _, pace := range []string{"0", "1ms"} {
			t.Run(fmt.Sprintf("after %d rounds at a pace of %s", rounds, pace), func(t *testing.T) {
				transcript, printed := interrupted(t, rounds, "-dir", "../../history", "-pace", pace)
				requireEndsWith(t, transcript, printed, rounds)
			})
		}
	}
}

func TestAnInterruptEndsTheWaitBetweenRounds(t *testing.T) {
	page := filepath.Join(t.TempDir(), "run.html")
	transcript, printed := interrupted(t, 1, "-dir", "../..", "-pace", "100h", "-page", page)
	requireEndsWith(t, transcript, printed, 1)
	require.Equal(t, 1, bytes.Count(sure.Read(t, page), []byte(`,"explain":"`)), "the page has the rounds so far")
}

func TestInterruptBeforeTheFirstRound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, folderagent.ExitInterrupted, run(ctx, []string{"-dir", "../.."}, &stdout, &stderr))
	require.Equal(t, headLines, strings.Count(stdout.String(), "\n"))
	require.Contains(t, stderr.String(), "agent: interrupted; transcript: ")
}

// headLines is the number of lines above the first round.
const headLines = 3

// requireEndsWith checks that a transcript has exactly the rounds that were printed, the last one with all its results.
func requireEndsWith(t *testing.T, transcript string, printed []byte, rounds int) {
	t.Helper()
	var want, got []string
	for line := range strings.Lines(string(printed)) {
		if row := regexp.MustCompile(`^ *\d+  (.*?) +[█░]`).FindStringSubmatch(line); row != nil {
			want = append(want, row[1])
		}
	}
	require.Len(t, want, rounds)
	messages := compacttest.SaidInFile(t, transcript)
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role == chat.RoleAssistant {
			got = append(got, fit(folderagent.Describe(m)))
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		delete(open, m.ToolCallID)
	}
	require.Equal(t, want, got)
	require.Empty(t, open, "every call has its result")
}
