package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
)

const fakeWorkerArg = "fake-worker"

func isFakeWorker(args []string) bool { return len(args) > 1 && args[1] == fakeWorkerArg }

// fakeWorker speaks the worker's protocol: a job is named for what it does.
func fakeWorker() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req request
		if err := json.Unmarshal(in.Bytes(), &req); err != nil {
			return
		}
		switch {
		case req.Job == "fail":
			fmt.Println(`{"error":"no such job"}`)
		case req.Prepare != "":
			fmt.Println(`{"result":42}`)
		case req.Run == "die":
			fmt.Fprintln(os.Stderr, "trace\nout of memory")
			return
		case req.Run == "hang":
			select {}
		default:
			fmt.Printf(`{"ns":%d}`+"\n", 1000*req.Times)
		}
	}
}

func newFakeWorker(t *testing.T, ctx context.Context) *worker {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	w, err := startWorker(ctx, self, fakeWorkerArg)
	require.NoError(t, err)
	t.Cleanup(w.close)
	return w
}

func TestAWorkerRunsJobs(t *testing.T) {
	w := newFakeWorker(t, t.Context())
	var result int
	lap, err := w.prepare("good", "count", nil, &result)
	require.NoError(t, err)
	require.Equal(t, 42, result)
	spent, err := lap(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, cost{time: 3 * time.Microsecond, allocs: -3}, spent)

	_, err = w.prepare("bad", "fail", nil, &result)
	require.EqualError(t, err, "bad: node: no such job")
	_, err = lap(t.Context(), 1)
	require.NoError(t, err, "the worker continues after an error")
}

func TestTheErrorSaysWhyAWorkerEnded(t *testing.T) {
	w := newFakeWorker(t, t.Context())
	lap, err := w.prepare("die", "count", nil, new(int))
	require.NoError(t, err)
	_, err = lap(t.Context(), 1)
	require.ErrorContains(t, err, "node ended: ")
	require.ErrorContains(t, err, ": out of memory")
}

func TestAnInterruptEndsTheWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newFakeWorker(t, ctx)
	lap, err := w.prepare("hang", "count", nil, new(int))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := lap(ctx, 1)
		done <- err
	}()
	cancel()
	require.Error(t, <-done)
	w.close()
	require.NotNil(t, w.cmd.ProcessState, "the process has ended")
}

// fakeNPM puts a program npm first in the path.
func fakeNPM(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell script for npm")
	}
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestTheJavaScriptSideIsInstalledOnce(t *testing.T) {
	fakeNPM(t, `echo "$@" >args; mkdir node_modules`)
	cache := filepath.Join(t.TempDir(), "new", "cache")
	var stderr bytes.Buffer
	dir, err := installNode(t.Context(), cache, &stderr)
	require.NoError(t, err)
	for _, name := range []string{"package.json", "package-lock.json", workerFile, "node_modules"} {
		_, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(args), "ci "))

	fakeNPM(t, "exit 1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, workerFile), []byte("an older one"), 0o600))
	again, err := installNode(t.Context(), cache, &stderr)
	require.NoError(t, err, "npm does not run again")
	require.Equal(t, dir, again)
	program, err := os.ReadFile(filepath.Join(dir, workerFile))
	require.NoError(t, err)
	require.NotEqual(t, "an older one", string(program))
	left, err := os.ReadDir(cache)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestAFailedInstallationSaysWhyAndLeavesNothing(t *testing.T) {
	t.Run("npm fails", func(t *testing.T) {
		fakeNPM(t, "echo log\necho 'no such package' >&2\nexit 7")
		cache := t.TempDir()
		_, err := installNode(t.Context(), cache, &bytes.Buffer{})
		require.EqualError(t, err, "npm ci failed (-no-node leaves the contestants in JavaScript out): exit status 7: no such package")
		left, err := os.ReadDir(cache)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("npm is interrupted", func(t *testing.T) {
		fakeNPM(t, "exec sleep 1000")
		cache := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(50*time.Millisecond, cancel)
		defer stop.Stop()
		_, err := installNode(ctx, cache, &bytes.Buffer{})
		require.Error(t, err)
		left, err := os.ReadDir(cache)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("npm is missing", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := installNode(t.Context(), t.TempDir(), &bytes.Buffer{})
		require.ErrorContains(t, err, "npm is missing")
	})
	t.Run("node is missing", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		var stdout, stderr bytes.Buffer
		require.Equal(t, program.ExitUsage, run(t.Context(), []string{"-run", "^prompt-tsx$"}, &stdout, &stderr))
		require.Contains(t, stderr.String(), "\ncompare: prompt-tsx: node is missing, which runs the contestants in JavaScript: ")
	})
}

func TestTheLockFileNamesNoRegistry(t *testing.T) {
	lock, err := fs.ReadFile(nodeFiles, "node/package-lock.json")
	require.NoError(t, err)
	require.NotContains(t, string(lock), "://")
	require.Contains(t, string(lock), `"integrity": "sha512-`)
}
