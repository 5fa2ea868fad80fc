//go:build unix

package checkpoints_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

// eachIrregular runs a test for each kind of irregular file. The function makeAt creates one. A test that hangs fails.
func eachIrregular(t *testing.T, test func(t *testing.T, makeAt func(path string))) {
	elsewhere := t.TempDir()
	pipe, file, none := filepath.Join(elsewhere, "pipe"), filepath.Join(elsewhere, "file"), filepath.Join(elsewhere, "none")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	for name, makeAt := range map[string]func(path string) error{
		"a pipe":                     func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":                   func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to a pipe":           link(pipe),
		"a link to a device":         link("/dev/zero"),
		"a link to a folder":         link(elsewhere),
		"a link to a file elsewhere": link(file),
		"a link to nothing":          link(none),
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				test(t, func(path string) { require.NoError(t, makeAt(path)) })
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("the test hangs")
			}
			require.Empty(t, sure.Content(t, file), "the target of a link is not written")
			require.NoFileExists(t, none)
		})
	}
}

func TestOnlyRegularFilesAreCheckpoints(t *testing.T) {
	eachIrregular(t, func(t *testing.T, makeAt func(path string)) {
		folder := &checkpoints.Folder{Dir: t.TempDir()}
		first := added(t, folder, &history.Session{}, "e1", "Same", "Whole.")
		makeAt(filepath.Join(folder.Dir, "002-same.md"))
		list := listed(t, folder)
		require.Equal(t, []checkpoints.Checkpoint{first}, list)

		third := added(t, folder, &history.Session{}, "e3", "Same", "Whole.")
		require.Equal(t, 3, third.Number, "the number is taken")
		list = listed(t, folder)
		require.Equal(t, []checkpoints.Checkpoint{first, third}, list)
		require.NotContains(t, sure.Content(t, filepath.Join(folder.Dir, "index.md")), "002")
	})
}

func TestAnIrregularLockOrIndexIsLeftUnchanged(t *testing.T) {
	for _, name := range []string{".checkpoints.lock", "index.md"} {
		t.Run(name, func(t *testing.T) {
			eachIrregular(t, func(t *testing.T, makeAt func(path string)) {
				folder := &checkpoints.Folder{Dir: t.TempDir()}
				path := filepath.Join(folder.Dir, name)
				makeAt(path)
				before, err := os.Lstat(path)
				require.NoError(t, err)
				_, err = folder.Add(t.Context(), &history.Session{}, "e1", "First", "Whole.")
				require.ErrorIs(t, err, storage.ErrForeign)
				require.ErrorContains(t, err, path)
				after, err := os.Lstat(path)
				require.NoError(t, err)
				require.True(t, os.SameFile(before, after))
			})
		})
	}
}
