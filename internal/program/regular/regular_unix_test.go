//go:build unix

package regular_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program/regular"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "file"), []byte("text"), 0o600))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.Mkdir(at("folder"), 0o700))
	for link, to := range map[string]string{
		"link": "file", "pipe link": "pipe", "device": "/dev/zero", "terminal": "/dev/tty", "out": filepath.Join(elsewhere, "file"), "nowhere": "none",
	} {
		require.NoError(t, os.Symlink(to, at(link)))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	for _, c := range []struct {
		name         string
		open, openIn bool
	}{
		{"file", true, true}, {"link", true, true}, {"out", true, false}, {"pipe", false, false}, {"pipe link", false, false},
		{"folder", false, false}, {"device", false, false}, {"terminal", false, false}, {"nowhere", false, false}, {"none", false, false},
	} {
		check := func(f *os.File, err error, opens bool) {
			if !opens {
				require.Error(t, err, c.name)
				return
			}
			require.NoError(t, err, c.name)
			data, err := io.ReadAll(f)
			require.NoError(t, err)
			require.Equal(t, "text", string(data))
			require.NoError(t, f.Close())
		}
		f, err := regular.Open(at(c.name))
		check(f, err, c.open)
		f, err = regular.OpenIn(root, c.name)
		check(f, err, c.openIn)
	}
	_, err = regular.Open(at("pipe"))
	require.ErrorIs(t, err, regular.ErrNotRegular)
	require.ErrorContains(t, err, at("pipe"))
}
