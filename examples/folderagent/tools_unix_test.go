//go:build unix

package folderagent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestToolsReadOnlyRegularFilesUpToTheLimit(t *testing.T) {
	dir := sure.Folder(t, map[string]string{"a.txt": "text\n"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for link, to := range map[string]string{"pipe link": "pipe", "device": "/dev/zero", "no size": "/proc/self/status"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	huge := func(path string) {
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(8<<30)) // of holes
		require.NoError(t, f.Close())
	}
	huge(filepath.Join(dir, "huge"))
	large, pipe := filepath.Join(t.TempDir(), "large.jsonl"), filepath.Join(t.TempDir(), "pipe.jsonl")
	huge(large)
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	done := make(chan struct{})
	go func() { // a call that waits for a pipe fails the test
		defer close(done)
		for _, transcript := range []string{"", large, pipe} {
			tools := toolsOf(t, dir, transcript)
			names := []string{"pipe", "pipe link", "device", "no size", "huge"}
			if transcript != "" {
				names = append(names, transcript)
			}
			for _, name := range names {
				for _, tool := range []string{"read_file", "count_file", "search"} {
					m := call(t, tools, tool, map[string]any{"path": name, "pattern": "x"})
					require.True(t, m.IsError, "%s %s: %.100s", tool, name, m.Text())
				}
			}
			require.Equal(t, "no matches", call(t, tools, "search", map[string]any{"pattern": "x y"}).Text())
			require.Equal(t, "a.txt\t5 bytes\n", call(t, tools, "list_files", map[string]any{"path": "."}).Text())
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a tool waits for a pipe")
	}
}
