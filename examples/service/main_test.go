package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnErrorAtTheStartIsOneLineAndAnExitCode(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-nothing"}, exitUsage, "flag provided but not defined: -nothing"},
		{[]string{"start"}, exitUsage, `unexpected argument "start"`},
		{[]string{"-policy", "best"}, exitUsage, `-policy is "best"`},
		{[]string{"-window", "999"}, exitUsage, "-window is 999: want 1000 or more"},
		{[]string{"-steps", "0"}, exitUsage, "-steps is 0"},
		{[]string{"-queue", "-1"}, exitUsage, "-queue is -1"},
		{[]string{"-think", "-1s"}, exitUsage, "-think is"},
		{[]string{"-work", "1"}, exitUsage, "-work needs -database"},
		{[]string{"-database", ""}, exitUsage, "-database is empty"},
		{[]string{"-serve=false"}, exitUsage, "-serve needs -database"},
		{[]string{"-database", "postgres:///x", "-dir", dir}, exitUsage, "-dir cannot be combined with -database"},
		{[]string{"-database", "postgres:///x", "-serve=false", "-work", "0"}, exitUsage, "there is nothing to do"},
		{[]string{"-database", "postgres://user:secret@host:1x/"}, exitUsage, "-database: cannot parse"},
		{[]string{"-database", "postgres:///x?host=" + dir}, exitFailed, "the database: failed to connect"},
		{[]string{"-listen", ":0"}, exitUsage, "without -tokens it must be a loopback address"},
		{[]string{"-listen", "0.0.0.0:0"}, exitUsage, "without -tokens it must be a loopback address"},
		{[]string{"-listen", "localhost:none", "-dir", dir}, exitFailed, "listen tcp"},
		{[]string{"-dir", file("file", "")}, exitFailed, "the folder of the sessions"},
		{[]string{"-tokens", filepath.Join(dir, "nowhere")}, exitUsage, "the file of tokens: open"},
		{[]string{"-tokens", file("empty", "# none\n")}, exitUsage, "it has no token"},
		{[]string{"-tokens", file("one", "acme secret\nacme\n")}, exitUsage, "line 2: want a tenant"},
		{[]string{"-tokens", file("three", "acme secret secret\n")}, exitUsage, "line 1: want a tenant"},
		{[]string{"-tokens", file("same", "acme secret\nother secret\n")}, exitUsage, "line 2: an earlier line has the same token"},
		{[]string{"-tokens", file("long", strings.Repeat("n", 101)+" secret\n")}, exitUsage, "line 1: want a tenant of at most 100 bytes"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, test.code, run(t.Context(), test.args, &stdout, &stderr), test.args)
		require.Contains(t, stderr.String(), test.want, test.args)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		require.NotContains(t, stderr.String(), "secret")
		require.NotContains(t, stdout.String(), "listening")
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-max-session")
	require.Empty(t, stderr.String())
}

// process starts the program in a new process and returns once it listens.
func process(t *testing.T, args ...string) (*exec.Cmd, client) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-listen", "127.0.0.1:0", "-dir", t.TempDir()}, args...)...)
	cmd.Env = append(os.Environ(), programEnv+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, ok, line)
	return cmd, client{t: t, url: address, token: "local"}
}

func TestASignalStopsTheProgramAndASecondEndsItAtOnce(t *testing.T) {
	t.Parallel()
	cmd, _ := process(t)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait(), "the code is 0")

	cmd, c := process(t, "-think", "1h")
	session := c.session()
	response := c.send(context.Background(), "POST", session+"/messages", object{"text": "Hello."})
	defer response.Body.Close()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Eventually(t, func() bool {
		status, _ := c.do("GET", "/readyz", nil)
		return status == 503
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // a shell ignores SIGINT for background processes, but not SIGTERM
	require.Error(t, cmd.Wait())
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "by the signal")
}
