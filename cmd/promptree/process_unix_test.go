//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
)

func TestAClosedPipeEndsTheProgramWithoutAnError(t *testing.T) {
	c := process(t, "", "import", generated)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = bufio.NewReaderSize(out, 16).ReadByte()
	require.NoError(t, err)
	require.NoError(t, out.Close())
	_ = c.Wait()
	require.Empty(t, stderr.String())
}

func TestAnInterruptEndsEachCommand(t *testing.T) {
	for _, args := range [][]string{{"verify", "-"}, {"show", "-"}, {"import", "-"}, {"replay", "-"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := exec.CommandContext(t.Context(), os.Args[0], args...)
			c.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dir)
			in, err := c.StdinPipe() // never closed
			require.NoError(t, err)
			defer in.Close()
			require.NoError(t, c.Start())
			_, err = in.Write(bytes.Repeat([]byte(" "), 1<<20)) // more than the pipe holds, so the program is reading
			require.NoError(t, err)
			require.NoError(t, c.Process.Signal(syscall.SIGINT))
			require.Error(t, c.Wait())
			require.Equal(t, program.ExitInterrupted, c.ProcessState.ExitCode())
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
