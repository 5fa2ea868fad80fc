// Package sure does what tests do before they test something. It fails the test where that does not work.
package sure

import (
	"encoding/json"
	"os"
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

// JSON returns a value as JSON.
func JSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// Decode returns the value that JSON stands for.
func Decode[T any](t testing.TB, data []byte) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}
