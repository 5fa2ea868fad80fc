// Package sessiontest provides recorded sessions to tests. Some are not in the repository and may be missing.
package sessiontest

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/sure"
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

// Written writes a file of lines and returns its path.
func Written(t testing.TB, name string, lines ...string) string {
	t.Helper()
	return sure.File(t, name, strings.Join(lines, "\n")+"\n")
}

// Talk are the lines of a session of three questions and answers, of one word each.
var Talk = []string{
	`{"type":"session","version":3,"id":"s"}`,
	`{"type":"message","id":"2","parentId":null,"message":{"role":"user","content":"one"}}`,
	`{"type":"message","id":"3","parentId":"2","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}`,
	`{"type":"message","id":"4","parentId":"3","message":{"role":"user","content":"three"}}`,
	`{"type":"message","id":"5","parentId":"4","message":{"role":"assistant","content":[{"type":"text","text":"four"}]}}`,
	`{"type":"message","id":"6","parentId":"5","message":{"role":"user","content":"five"}}`,
	`{"type":"message","id":"7","parentId":"6","message":{"role":"assistant","content":[{"type":"text","text":"six"}]}}`,
}
