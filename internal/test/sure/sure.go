// Package sure does what tests do before they test something. It fails the test where that does not work.
package sure

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Content returns the content of a file as text.
func Content(t testing.TB, path string) string {
	t.Helper()
	return string(Read(t, path))
}

// Tree returns what is at each path below folders: the content of a file, the target of a link, the kind of anything
// else but a folder.
func Tree(t testing.TB, dirs ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.IsDir():
			case d.Type().IsRegular():
				found[path] = Content(t, path)
			case d.Type() == fs.ModeSymlink:
				found[path], err = os.Readlink(path)
			default:
				found[path] = d.Type().String()
			}
			return err
		}))
	}
	return found
}

// Write writes a file, and makes the folders that it is in.
func Write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// File writes a file in a new folder and returns its path.
func File(t testing.TB, name, text string) string {
	t.Helper()
	return filepath.Join(Folder(t, map[string]string{name: text}), name)
}

// Folder returns a new folder with files, whose paths have slashes.
func Folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		Write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

// JSON returns a value as JSON.
func JSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// Encoded returns a value as JSON where there is no test to fail. It panics if that does not work.
func Encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Decode returns the value that JSON stands for.
func Decode[T any](t testing.TB, data []byte) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}
