// Package sessiontest provides recorded sessions to tests. Some are not in the repository and may be missing.
package sessiontest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/importer"
)

// Needs skips the test if the file does not exist.
func Needs(t testing.TB, path string) {
	t.Helper()
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs the recorded session %s, which is not part of the project", path)
	}
	require.NoError(t, err)
}

// Read reads a recorded session. It skips the test if the file does not exist.
func Read(t testing.TB, path string) *importer.Recording {
	t.Helper()
	Needs(t, path)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := importer.Read(f)
	require.NoError(t, err)
	return r
}
