//go:build unix

package regular_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/regular"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("file"), []byte("text"), 0o600))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.Mkdir(at("folder"), 0o700))
	for link, to := range map[string]string{
		"link": "file", "pipe link": "pipe", "device": "/dev/zero", "terminal": "/dev/tty", "nowhere": "none",
	} {
		require.NoError(t, os.Symlink(to, at(link)))
	}
	for name, opens := range map[string]bool{
		"file": true, "link": true, "pipe": false, "pipe link": false, "folder": false, "device": false, "terminal": false, "nowhere": false, "none": false,
	} {
		f, err := regular.Open(at(name))
		if !opens {
			require.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		data, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, "text", string(data))
		require.NoError(t, f.Close())
	}
	_, err := regular.Open(at("pipe"))
	require.ErrorIs(t, err, regular.ErrNotRegular)
	require.ErrorContains(t, err, at("pipe"))
}
