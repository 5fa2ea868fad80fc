package history_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
)

// killsEnv is the environment variable that overrides the number of kills.
const killsEnv = "PROMPTREE_HISTORY_KILLS"

// numberedText returns the text of the nth entry. Every fourth is large, so that some kills leave a half-written line.
func numberedText(n int) string {
	size := 100
	if n%4 == 3 {
		size = 40_000
	}
	return fmt.Sprintf("%d%s", n, strings.Repeat(".", size))
}

// nth returns the nth entry, from 0, of a session that repeats the same messages, calls, compaction and branch.
func nth(n int) entry.Entry {
	id := func(n int) string { return fmt.Sprintf("e%d", n+1) }
	said := func(m chat.Message) entry.Entry { return entry.Entry{Body: entry.Message{Message: m}} }
	switch n % 8 {
	case 1:
		return said(calls(fmt.Sprint("c", n)))
	case 2:
		return said(chat.ToolResult(fmt.Sprint("c", n-1), numberedText(n)))
	case 3:
		return entry.Entry{Body: summary(numberedText(n), id(n-3))}
	case 4:
		return said(chat.AssistantMessage(numberedText(n)))
	case 5:
		return entry.Entry{Body: entry.Todos{Text: numberedText(n)}}
	case 6:
		return entry.Entry{Parent: id(n - 2), Body: entry.Branch{From: id(n - 1)}}
	}
	return said(chat.UserMessage(numberedText(n)))
}

// appendUntilKilled is the main function of a child process: it continues the session, and prints the number of each
// entry once it is acknowledged.
func appendUntilKilled(path string) {
	s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	n := 0
	for range s.Entries(context.Background()) {
		n++
	}
	for ; ; n++ {
		if _, err := s.Add(context.Background(), nth(n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if _, err := fmt.Println(n); err != nil {
			os.Exit(1)
		}
	}
}

// child starts a process that appends to a session.
func child(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+path)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	return c, bufio.NewScanner(out)
}

// A process is killed repeatedly while it appends, compacts and branches. After each kill the log has every entry that
// was acknowledged, the session can be continued, and its view is valid.
func TestAcknowledgedEntriesSurviveAKill(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	kills := cases(24)
	if text := os.Getenv(killsEnv); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	path, torn, appended := "", 0, 0
	for kill := range kills {
		if kill%8 == 0 {
			path = tempFile(t)
		}
		c, lines := child(t, path)
		acknowledged := -1
		readNumber := func() bool {
			if !lines.Scan() {
				return false
			}
			var err error
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
			return true
		}
		for range r.IntN(12) {
			if !readNumber() {
				break
			}
		}
		time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
		require.NoError(t, c.Process.Kill())
		for readNumber() { // the entries acknowledged before the kill
		}
		require.Error(t, c.Wait())

		s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
		require.NoError(t, err, "a dead process holds no lock")
		if s.Recovered() != nil {
			torn++
		}
		require.Greater(t, count(t, s), acknowledged)
		appended += count(t, s)
		for n, e := range all(t, s) {
			want := nth(n)
			if want.Parent != "" {
				require.Equal(t, want.Parent, e.Parent)
			}
			require.Equal(t, fmt.Sprint("e", n+1), e.ID)
			if c, ok := e.Body.(entry.Compaction); ok {
				c.Retained = entry.Retained{} // the session fills it in
				e.Body = c
			}
			equal(t, want.Body, e.Body)
		}
		if count(t, s) > 0 {
			require.NoError(t, chat.Validate(append(viewOf(t, s).Messages(), chat.UserMessage("on"))))
		}
		require.NoError(t, s.Close())
	}
	t.Logf("%d of %d kills left a torn line, %d entries were read", torn, kills, appended)
}

func TestALockedErrorNamesTheWriterAndADeadWriterHoldsNoLock(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	requireLockedBy := func(path string, pid int) {
		t.Helper()
		_, err := history.Open(path, history.Options{IDs: numbered.IDs()})
		locked := errorAs[*storage.LockedError](t, err)
		require.ErrorIs(t, err, storage.ErrLocked)
		equal(t, storage.Holder{PID: pid, Host: host}, locked.Holder)
		require.ErrorContains(t, err, fmt.Sprintf("process %d on %s", pid, host))
	}
	path := tempFile(t)
	c, lines := child(t, path)
	require.True(t, lines.Scan())
	requireLockedBy(path, c.Process.Pid)
	require.NoError(t, c.Process.Kill())
	for lines.Scan() {
	}
	require.Error(t, c.Wait())

	require.Contains(t, content(t, path+".writer"), fmt.Sprint(c.Process.Pid), "the file still names the dead process")
	s := opened(t, path)
	requireLockedBy(path, os.Getpid())
	_, err = history.Open(path, history.Options{IDs: numbered.IDs()})
	require.ErrorContains(t, err, "which is this one: close the session that has it open")
	require.NoError(t, s.Close())
	require.NoFileExists(t, path+".writer")

	s = opened(t, path)
	another := `{"type":"promptree-writer","pid":1,"host":"h"}` + "\n"
	require.NoError(t, os.WriteFile(path+".writer", []byte(another), 0o600))
	require.NoError(t, s.Close())
	require.Equal(t, another, content(t, path+".writer"), "it may name the writer of another log at this path")
}
