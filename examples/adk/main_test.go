package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// files returns a folder with files.
func files(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 60)), 0o600))
	}
	return dir
}

func TestAConversationOutgrowsItsWindowBreaksOffAndContinues(t *testing.T) {
	const rounds = 25
	asked, crash := 0, 18
	s := serve(t, 15_000, func(body) []string {
		n := asked
		if n == crash {
			crash = -1
			return nil
		}
		if asked++; n >= rounds {
			return []string{text("The password "), text("is 42.")}
		}
		read := func(i int) string { return call("read_file", map[string]any{"path": fmt.Sprintf("f%d.txt", i)}) }
		return []string{read(2 * n), read(2*n + 1)}
	})
	session := filepath.Join(t.TempDir(), "session.jsonl")
	dir := files(t, 2*rounds)
	ask := func(question string) (code int, out, problems string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), []string{"-session", session, "-dir", dir, "-window", "8000", "-model", "gemini-2.5-flash", question}, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	question := "Where is the password?"
	code, _, problems := ask(question)
	require.Equal(t, 1, code)
	require.NotEmpty(t, problems)

	code, out, problems := ask(question) // the same question
	require.Equal(t, 0, code, problems)
	require.Contains(t, out, "The password is 42.")
	code, out, problems = ask("Are you sure?")
	require.Equal(t, 0, code, problems)
	require.Contains(t, out, "The password is 42.")

	require.Empty(t, s.broken)
	require.Positive(t, s.summaries)
	require.Positive(t, s.refused)
	require.Greater(t, s.streamed, rounds/2)
	require.Equal(t, rounds+2, asked)
	said, err := history.Open(session, history.Options{})
	require.NoError(t, err)
	defer said.Close()
	count := map[chat.Role]int{}
	for e, err := range said.Entries(t.Context()) {
		require.NoError(t, err)
		count[e.Message().Role]++
		if m := e.Message(); m.Role == chat.RoleTool {
			require.Contains(t, m.Text(), "line of file")
		}
	}
	require.Equal(t, 2, count[chat.RoleUser])
	require.Equal(t, rounds+2, count[chat.RoleAssistant])
	require.Equal(t, 2*rounds, count[chat.RoleTool])
}

func TestInvalidFlagsAreUsageErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"ask a question": {}, "-window is 10": {"-window", "10", "a"}, "-nonsense": {"-nonsense"}, "none": {"-dir", "none", "a"}, "set GOOGLE_API_KEY": {"a"},
	} {
		t.Setenv("GOOGLE_API_KEY", "any")
		if want == "set GOOGLE_API_KEY" {
			t.Setenv("GOOGLE_API_KEY", "")
		}
		var out, problems bytes.Buffer
		require.Equal(t, 2, run(t.Context(), args, &out, &problems), "%q", args)
		require.Contains(t, problems.String(), want)
		require.Equal(t, 1, strings.Count(problems.String(), "\n"), problems.String())
		require.NoFileExists(t, "session.jsonl")
	}
}
