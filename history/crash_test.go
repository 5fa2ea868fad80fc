package history_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// numbered is the message of a number. Every fourth is large, so that a kill now and then finds a line half written.
func numbered(n int) string {
	size := 100
	if n%4 == 3 {
		size = 40_000
	}
	return fmt.Sprintf("%d%s", n, strings.Repeat(".", size))
}

// appendUntilKilled is what a child process does: it goes on with the session, and prints the number of each message
// once it is acknowledged.
func appendUntilKilled(path string) {
	s, err := history.Open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for n := s.Len(); ; n++ {
		if err := s.Append(chat.UserMessage(numbered(n))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if _, err := fmt.Println(n); err != nil {
			os.Exit(1)
		}
	}
}

// A process is killed again and again while it appends. Whatever it was told is on disk is there afterwards, and the
// session goes on.
func TestAcknowledgedEntriesOutliveAKill(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	const kills = 20
	r := rand.New(rand.NewPCG(7, 7))
	path, torn := "", 0
	for kill := range kills {
		if kill%4 == 0 {
			path = tempFile(t)
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childEnv+"="+path)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		acknowledged := -1
		lines := bufio.NewScanner(out)
		for range 1 + r.IntN(8) {
			if !lines.Scan() {
				break
			}
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		for range r.IntN(200) {
			runtime.Gosched()
		}
		require.NoError(t, child.Process.Kill())
		for lines.Scan() { // what it was told before the kill
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		require.Error(t, child.Wait())
		require.NotEqual(t, -1, acknowledged, "the child did not come to append")

		s, err := history.Open(path)
		require.NoError(t, err)
		if s.Recovered() != nil {
			torn++
		}
		require.Greater(t, s.Len(), acknowledged)
		for n, e := range all(t, s) {
			if e.Message().Text() != numbered(n) {
				t.Fatalf("entry %d says %.20q", n, e.Message().Text())
			}
		}
		requireChained(t, s)
		require.NoError(t, s.Close())
	}
	t.Logf("%d of %d kills left a torn line", torn, kills)
}
