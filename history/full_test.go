//go:build linux || darwin

package history_test

import (
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// A limit on the size of files simulates a full disk: a part of the lines is written, then the write fails. The limit
// is for the whole process, so the test runs again in a child process.
func TestAFailedWriteLeavesTheSessionAsItWas(t *testing.T) {
	t.Parallel()
	const limited = "PROMPTREE_HISTORY_LIMITED"
	if os.Getenv(limited) == "" {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), limited+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "--- PASS: "+t.Name())
		return
	}

	path := tempFile(t)
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one"), calls("c1")))
	before, entries, view := content(t, path), all(t, s), viewOf(t, s)

	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	limitTo := func(size uint64) {
		lower := limit
		lower.Cur = size
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lower))
	}
	limitTo(uint64(len(before)) + 300)

	large := strings.Repeat("x", 1000)
	require.ErrorIs(t, s.Append(t.Context(), chat.ToolResult("c1", "small"), chat.UserMessage(large)), syscall.EFBIG)
	require.ErrorIs(t, s.Compact(t.Context(), summary(large, "")), syscall.EFBIG)
	require.Equal(t, before, content(t, path))
	equal(t, entries, all(t, s))
	equal(t, view, viewOf(t, s))
	require.Equal(t, 3, lineCount(t, s))
	require.NoError(t, s.Append(t.Context(), chat.ToolResult("c1", "small")), "the call is still open, and a smaller message fits")

	limitTo(limit.Cur)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage(large)))
	requireChained(t, s)
	again := readOnly(t, path)
	require.Nil(t, again.Recovered())
	equal(t, all(t, s), all(t, again))
}
