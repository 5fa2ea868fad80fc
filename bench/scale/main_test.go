package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

func ran(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// cluster starts a database for the test and makes the program use it.
func cluster(t *testing.T) string {
	t.Helper()
	c, err := postgrestest.Start(t.Context())
	if err == postgrestest.ErrNone {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop()) })
	t.Setenv(postgrestest.Env, c.URL)
	return c.URL
}

func TestEverythingIsMeasuredAndTheSchemasAreRemoved(t *testing.T) {
	url := cluster(t)
	o, err := parse([]string{"-quick", "-sessions", "2,4", "-entries", "10,60", "-steps", "4", "-time", "10s"}, io.Discard)
	require.NoError(t, err)
	d, err := measured(t.Context(), o, io.Discard)
	require.NoError(t, err)
	require.Contains(t, d.Server, "fsync off")
	require.Empty(t, d.Targets, "no target is for sizes as small as these")
	got := map[string][]int{}
	for _, r := range d.Rows {
		name := r.Part + " " + r.Name
		got[name] = append(got[name], r.Size)
		require.Positive(t, r.P50, name)
		require.Positive(t, r.Memory, name)
		require.Positive(t, r.Steps, name)
		require.Zero(t, r.P99, "there are too few steps for it")
		require.Equal(t, 4, r.Steps+r.Compacted, name)
		if r.Part == rotation {
			require.Greater(t, r.Shown, 2*rounds+1, name)
		}
		if r.Name == (promptree{view: fewRounds}).name() {
			require.Positive(t, r.Compacted)
			require.LessOrEqual(t, r.Shown, 2*fewRounds+2)
		}
	}
	want := map[string][]int{}
	for _, p := range parts() {
		switch p.kind {
		case rotation:
			want[p.name()] = []int{2, 4}
		case entries:
			want[p.name()] = []int{10, 60}
		}
	}
	require.Equal(t, want, got)

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var schemas []string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT array_agg(nspname::text) FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%'`).Scan(&schemas))
	require.ElementsMatch(t, []string{"public", "information_schema"}, schemas)
}

func TestABadFlagIsOneLineAndExitCode2(t *testing.T) {
	t.Setenv(postgrestest.Env, "")
	for want, args := range map[string][]string{
		`-sessions: "x"`:        {"-sessions", "10,x"},
		`-sessions: "0"`:        {"-sessions", "0"},
		"5 comes after 10":      {"-sessions", "10,5"},
		`-entries: "11"`:        {"-entries", "11"},
		"-steps is 0":           {"-steps", "0"},
		"-time is 0s":           {"-time", "0s"},
		"not a flag":            {"more"},
		"-help lists the flags": {"-no\x1b[2J"},
	} {
		code, stdout, stderr := ran(t.Context(), args...)
		require.Equal(t, program.ExitUsage, code, want)
		require.Contains(t, stderr, want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.NotContains(t, stderr, "\x1b")
		require.Empty(t, stdout)
	}
	code, stdout, _ := ran(t.Context(), "-help")
	require.Equal(t, program.ExitOK, code)
	require.Contains(t, stdout, "-quick")
}

func TestAMissingDatabaseIsOneLineAndExitCode1(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://nobody@127.0.0.1:1/none": "failed to connect",
		"postgres://127.0.0.1:port/":         "cannot parse",
	} {
		t.Setenv(postgrestest.Env, url)
		code, stdout, stderr := ran(t.Context(), "-quick")
		require.Equal(t, program.ExitFailed, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func TestAnInterruptIsReportedInOneLine(t *testing.T) {
	cluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := ran(ctx, "-quick")
	require.Equal(t, program.ExitInterrupted, code)
	require.Empty(t, stdout)
	require.Equal(t, "scale: interrupted\n", stderr)
}

func TestTargetsAreJudgedAtTheirSizes(t *testing.T) {
	few, many := promptree{view: fewRounds}.name(), promptree{view: manyRounds}.name()
	rows := []row{
		{Part: entries, Name: few, Size: 10, P50: 2 * time.Millisecond},
		{Part: entries, Name: few, Size: 1000, P50: 3 * time.Millisecond},
		{Part: entries, Name: few, Size: 100_000, P50: 4 * time.Millisecond},
		{Part: entries, Name: many, Size: 10, P50: time.Millisecond}, // too short to fill the view
		{Part: entries, Name: many, Size: 1000, P50: 4 * time.Millisecond},
		{Part: entries, Name: many, Size: 100_000, P50: 5 * time.Millisecond},
		{Part: rotation, Name: promptree{}.name(), Size: 1000, Memory: 2 << 30},
		{Part: rotation, Name: promptree{}.name(), Size: 10_000, Memory: 1 << 30},
	}
	met := map[string]bool{}
	for _, v := range judge(rows) {
		met[v.Says] = v.Met
	}
	require.Equal(t, map[string]bool{
		"promptree, views of 4: a step at 1000 messages takes 1.50× of that at 10 (at most 1.5×)":      true,
		"promptree, views of 4: a step at 100000 messages takes 2.00× of that at 10 (at most 1.5×)":    false,
		"promptree, views of 50: a step at 100000 messages takes 1.25× of that at 1000 (at most 1.5×)": true,
		"10000 sessions in rotation: the program takes 1024 MiB of memory (at most 1024 MiB)":          true,
	}, met)

	var out bytes.Buffer
	d := document{Rows: rows, Targets: judge(rows)}
	require.NoError(t, d.print(&out))
	require.Equal(t, 1, strings.Count(out.String(), "MISSED  "))
	require.Contains(t, out.String(), "1.50×")
}
