//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/examples/folderagent"
)

func TestAPipeIsRefusedWithoutWaiting(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, flag := range []string{"-transcript", "-dir"} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, folderagent.ExitUsage, run(t.Context(), []string{flag, pipe}, &stdout, &stderr), flag)
		require.Contains(t, stderr.String(), pipe, flag)
	}
}
