//go:build unix

package program_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
)

// childEnv makes the test binary a child program. Its value says what the child does at an interrupt.
const childEnv = "PROMPTREE_PROGRAM_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childEnv); how != "" {
		var folders program.Folders
		program.Main(func(ctx context.Context, args []string, stdout, _ io.Writer) int {
			return child(ctx, how, args[0], stdout, &folders)
		}, &folders)
	}
	os.Exit(m.Run())
}

func child(ctx context.Context, how, dir string, stdout io.Writer, folders *program.Folders) int {
	path, remove, err := folders.Make(dir, "made-")
	if err != nil {
		return 1
	}
	defer remove()
	if os.WriteFile(filepath.Join(path, "file"), nil, 0o600) != nil {
		return 1
	}
	if how == "returns" {
		return 7
	}
	fmt.Fprintln(stdout, "ready")
	<-ctx.Done()
	if how == "ends with its context" {
		return program.ExitInterrupted
	}
	select {} // it hangs
}

func TestTheFirstInterruptEndsAProgramAndRemovesItsFolders(t *testing.T) {
	for _, how := range []string{"ends with its context", "hangs"} {
		for _, by := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(how+", "+by.String(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				c := exec.CommandContext(t.Context(), os.Args[0], dir)
				c.Env, c.Stderr = append(os.Environ(), childEnv+"="+how), os.Stderr
				out, err := c.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, c.Start())
				_, err = bufio.NewReader(out).ReadString('\n')
				require.NoError(t, err)
				require.NoError(t, c.Process.Signal(by))
				_ = c.Wait()
				require.Equal(t, program.ExitInterrupted, c.ProcessState.ExitCode())
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				require.Empty(t, left)
			})
		}
	}
}

func TestAProgramThatReturnsExitsWithItsCode(t *testing.T) {
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], dir)
	c.Env = append(os.Environ(), childEnv+"=returns")
	_ = c.Run()
	require.Equal(t, 7, c.ProcessState.ExitCode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
