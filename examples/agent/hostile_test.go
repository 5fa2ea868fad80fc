package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfFilesDoNotSteerTheTerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[2J\u202eb")
	if os.Mkdir(dir, 0o700) != nil {
		t.Skip("no file has such a name here")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\u202etxt.exe.go"), bytes.Repeat([]byte("package a // \x1b[31m\n"), 200), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\x9bno text"), bytes.Repeat([]byte("x\n"), 9000), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two.go\t9 bytes\nlines"), bytes.Repeat([]byte("x\n"), 9000), 0o600))
	for _, args := range [][]string{
		{"-dir", dir}, {"-dir", filepath.Join(dir, "none")}, {"-no\x1bflag"}, {"\u202e"},
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), args, &stdout, &stderr)
		for _, out := range []string{stdout.String(), stderr.String()} {
			require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202e]", out)
		}
		require.Contains(t, stdout.String()+stderr.String(), `\u`)
	}
}
