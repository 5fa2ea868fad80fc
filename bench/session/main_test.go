package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/program"
)

// ran runs the program in a new folder, and requires that the program leaves the folder as it was.
func ran(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	own := filepath.Join(dir, "view-8.jsonl")
	require.NoError(t, os.WriteFile(own, []byte("mine"), 0o600))
	var out, errs bytes.Buffer
	code = run(ctx, &program.Folders{}, append([]string{"-dir", dir}, args...), &out, &errs)
	content, err := os.ReadFile(own)
	require.NoError(t, err)
	require.Equal(t, "mine", string(content))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "the logs are removed")
	return code, out.String(), errs.String()
}

func TestTheTablesHaveARowForEachMark(t *testing.T) {
	code, stdout, stderr := ran(t, t.Context(), "-entries", "2000", "-rounds", "20")
	require.Equal(t, program.ExitOK, code, stderr)
	for _, table := range []string{"views of up to 20 rounds", "opening the log of views of up to 20 rounds"} {
		_, rest, found := strings.Cut("\n"+stdout, "\n"+table+"\n")
		require.True(t, found, table)
		lines := strings.Split(rest, "\n")
		require.Equal(t, "entries", strings.Fields(lines[0])[0])
		columns := len(strings.Fields(lines[1]))
		for i, entries := range []string{"10", "20"} { // first digits, because a session grows on until its view is full
			fields := strings.Fields(lines[1+i])
			require.Len(t, fields, columns)
			require.True(t, strings.HasPrefix(fields[0], entries), lines[1+i])
			require.NotEqual(t, "0.00", fields[3])
		}
		require.Empty(t, lines[3])
	}
	require.NotContains(t, stdout, "targets", "no target is for a session as short as this")
}

func TestAnInterruptIsReportedInOneLineAndTheLogsAreRemoved(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := ran(t, ctx, "-rounds", "8")
	require.Equal(t, program.ExitInterrupted, code)
	require.Equal(t, "session: interrupted\n", stderr)
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	for want, args := range map[string][]string{
		"-rounds":        {"-rounds", "8,x"},
		"-entries is 10": {"-entries", "10"},
		"-turn is 0":     {"-turn", "0"},
		"not a flag":     {"more"},
	} {
		code, _, stderr := ran(t, t.Context(), args...)
		require.Equal(t, program.ExitUsage, code)
		require.Contains(t, stderr, want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	code, _, stderr := ran(t, t.Context(), "-dir", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, program.ExitUsage, code)
	require.Contains(t, stderr, "-dir")
}

func TestTargetsThatAreMissedAreNamed(t *testing.T) {
	slow, fast := grown{rounds: 50, mark: 100_000}, grown{rounds: 50, mark: base}
	slow.took.step.list, slow.took.compaction.list = []time.Duration{16}, []time.Duration{15}
	fast.took.step.list, fast.took.compaction.list = []time.Duration{10}, []time.Duration{10}
	slow.opening = opening{took: maxOpening, allocated: maxAllocated - 1}
	met := map[string]bool{}
	for _, v := range judge([]grown{fast, slow}) {
		met[v.says] = v.met
	}
	require.Equal(t, map[string]bool{
		"views of 50, 100000 entries: a step takes 1.60× of that at 10000 (at most 1.5×)":                   false,
		"views of 50, 100000 entries: a compaction takes 1.50× of that at 10000 (at most 1.5×)":             true,
		"views of 50, 100000 entries: opening a view of 0 rounds takes 100.00 ms (below 100.00 ms)":         false,
		"views of 50, 10000 entries: the heap has 0.0 MiB (at most 80.0 MiB, of which the cache 64.0 MiB)":  true,
		"views of 50, 100000 entries: the heap has 0.0 MiB (at most 80.0 MiB, of which the cache 64.0 MiB)": true,
		"views of 50, 100000 entries: … and allocates 20.0 MiB (below 20.0 MiB)":                            true,
	}, met)
}

// It reads the message that starts the turn there and the header too. The lines before are damaged here, so reading
// them would fail. At most a few blocks are read in excess.
func TestOpeningReadsBackToTheFirstEntryThatTheNewestCompactionKeeps(t *testing.T) {
	for name, turn := range map[string]int{"turns of 3 rounds": 3, "one turn": 1_000_000} {
		t.Run(name, func(t *testing.T) {
			const block = 1 << 18 // bytes that history reads at once
			a := &agent{path: filepath.Join(t.TempDir(), "log.jsonl"), rounds: 20, turn: turn, cache: history.NewCache(1 << 20), speaker: newSpeaker()}
			require.NoError(t, a.open())
			require.NoError(t, a.grow(t.Context(), 2_000))
			want, err := a.session.View(t.Context())
			require.NoError(t, err)
			newest, found, err := a.session.Latest(t.Context(), entry.TypeCompaction)
			require.NoError(t, err)
			require.True(t, found)
			require.NotEmpty(t, want.Turns[0].Start.ID)
			require.NoError(t, a.close())

			log, err := os.ReadFile(a.path)
			require.NoError(t, err)
			lines := bytes.SplitAfter(log, []byte("\n"))
			lineOf := func(id string) int {
				return slices.IndexFunc(lines, func(line []byte) bool {
					_, first, _ := bytes.Cut(line, []byte(`"id":"`))
					return bytes.HasPrefix(first, []byte(id+`"`))
				})
			}
			start, kept := lineOf(want.Turns[0].Start.ID), lineOf(newest.Compaction().FirstKept)
			require.Less(t, kept, lineOf(newest.ID))
			before := 0
			for i, line := range lines[:kept] {
				if before += len(line); i > 0 && i != start {
					copy(line, bytes.Repeat([]byte("x"), len(line)-1))
				}
			}
			require.Greater(t, before, 10*block, "most of the log is before it")
			require.NoError(t, os.WriteFile(a.path, log, 0o600))

			var read int64
			s, err := history.Open(a.path, history.Options{Cache: history.NewCache(1 << 20), File: storage.FileOptions{Disk: countingDisk{&read}}})
			require.NoError(t, err)
			defer s.Close()
			got, err := s.View(t.Context())
			require.NoError(t, err)
			require.Equal(t, want.Messages(), got.Messages())
			require.Less(t, read, int64(len(log)-before)+4*block)
		})
	}
}

func TestControlCharactersInArgumentsAreEscaped(t *testing.T) {
	for _, args := range [][]string{{"-no\x1b[2J"}, {"-dir", "none\x1b[2J\u202e"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, program.ExitUsage, run(t.Context(), &program.Folders{}, args, &stdout, &stderr))
		require.Contains(t, stderr.String(), `\u`)
		require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202e]", stdout.String()+stderr.String())
	}
}
