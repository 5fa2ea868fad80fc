// Package golden compares the output of tests with files in testdata and with tables on pages. The flag -update rewrites
// them.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Equal fails the test unless a text equals that of a file in testdata.
func Equal(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", path, diff)
	}
}

// Table fails the test unless a page, the doc.go of a package, shows a table. Its first line says which one it is.
func Table(t testing.TB, file, table string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(data)
	title, _, _ := strings.Cut(table, "\n")
	_, rest, ok := strings.Cut(page, "//\t"+title+"\n")
	require.True(t, ok, "the page has no table %q", title)
	shown := title + "\n"
	for line := range strings.Lines(rest) {
		cell, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			break
		}
		shown += cell
	}
	if *update {
		block := func(text string) string {
			return "//\t" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n//\t") + "\n"
		}
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(page, block(shown), block(table), 1)), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(shown, "\n"), strings.Split(table, "\n")); diff != "" {
		t.Fatalf(file+" (-shown +made):\n%s", diff)
	}
}
