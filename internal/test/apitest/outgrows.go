package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// Program is a program of examples/folderagent.
type Program struct {
	Run func(ctx context.Context, args []string, stdout, stderr io.Writer) int
	// Key is the environment variable with its key. Server is that, or the flag, which names a server.
	Key, Server string
	// Model is a model that it knows.
	Model string
}

// Files returns a folder with files of n names, f0.txt and so on.
func Files(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 60)), 0o600))
	}
	return dir
}

// Unmarked is a rule: a request has no marks of promptree's.
func Unmarked(a *Asked) string {
	if strings.Contains(a.Body.String(), "promptree") {
		return "a mark of promptree's is sent"
	}
	return ""
}

// Read returns a call that reads a file of [Files].
func Read(id string, file int) Call {
	return Call{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"f%d.txt"}`, file)}
}

// Outgrows tests that a conversation that outgrows the window of a server, in tokens, breaks off and continues.
func Outgrows(t *testing.T, api API, window int, p Program) {
	const rounds = 25
	crash := 18
	s := Serve(t, api, nil)
	s.Window, s.Rule = window, Unmarked
	s.Answer = func(Asked) Answer {
		n := s.Answers - 1
		if n == crash {
			crash = -1
			s.Answers--
			return Answer{Break: true}
		}
		if n >= rounds {
			return Answer{Text: "The password is 42."}
		}
		return Answer{Calls: []Call{Read(fmt.Sprintf("call_%d_0", n), 2*n), Read(fmt.Sprintf("call_%d_1", n), 2*n+1)}}
	}
	t.Setenv(p.Key, Key)
	flags := []string{"-model", p.Model}
	if strings.HasPrefix(p.Server, "-") {
		flags = append(flags, p.Server, s.URL)
	} else {
		t.Setenv(p.Server, s.URL)
	}
	session := filepath.Join(t.TempDir(), "session.jsonl")
	dir := Files(t, 2*rounds)
	ask := func(question string) (code int, out, problems string) {
		var stdout, stderr bytes.Buffer
		code = p.Run(t.Context(), append(flags, "-session", session, "-dir", dir, "-window", "8000", question), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	question := "Where is the password?"
	code, _, problems := ask(question)
	require.Equal(t, 1, code)
	require.NotEmpty(t, problems)
	for _, question := range []string{question, "Are you sure?"} {
		code, out, problems := ask(question)
		require.Equal(t, 0, code, problems)
		require.Contains(t, out, "The password is 42.")
	}

	require.Empty(t, s.Broken)
	require.Positive(t, s.Summaries)
	require.Positive(t, s.TooLong)
	require.Greater(t, s.Streamed, rounds)
	require.Equal(t, rounds+2, s.Answers)
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

// InvalidFlags tests that flags that are not valid are usage errors, each in one line.
func InvalidFlags(t *testing.T, p Program) {
	for want, args := range map[string][]string{
		"ask a question": {}, "-window is 10": {"-window", "10", "a"}, "-nonsense": {"-nonsense"}, "none": {"-dir", "none", "a"}, "set " + p.Key: {"a"},
	} {
		t.Setenv(p.Key, "any")
		if strings.HasPrefix(want, "set ") {
			t.Setenv(p.Key, "")
		}
		var out, problems bytes.Buffer
		require.Equal(t, 2, p.Run(t.Context(), args, &out, &problems), "%q", args)
		require.Contains(t, problems.String(), want)
		require.Equal(t, 1, strings.Count(problems.String(), "\n"), problems.String())
		require.NoFileExists(t, "session.jsonl")
	}
}
