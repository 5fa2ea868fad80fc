// Package sessiontest gives tests recorded sessions. Some lie beside the repository, where there are any.
package sessiontest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/importer"
)

// Needs skips the test where there is no such file.
func Needs(t testing.TB, path string) {
	t.Helper()
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs the recorded session %s, which is not part of the project", path)
	}
	require.NoError(t, err)
}

// Read reads a recorded session. If it is missing the test is skipped.
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
