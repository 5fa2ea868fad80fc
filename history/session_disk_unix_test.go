//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package history_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// inTime fails the test if f does not return within ten seconds.
func inTime(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the call did not return in ten seconds")
	}
}

func TestPipesAndDevicesAreRefusedWithoutBlocking(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	inTime(t, func() { requireRefused(t, pipe, "is not a regular file") })
	for _, open := range []func(string, history.Options) (*history.Session, error){history.Open, history.Read} {
		_, err := open(os.DevNull, history.Options{})
		require.ErrorContains(t, err, os.DevNull+" is not a regular file")
	}

	path := filepath.Join(dir, "session.jsonl")
	for _, suffix := range []string{".writer", ".torn"} {
		require.NoError(t, syscall.Mkfifo(path+suffix, 0o600))
	}
	require.NoError(t, os.WriteFile(path, []byte(header+"\ntorn"), 0o600))
	inTime(t, func() {
		require.Equal(t, path+".torn.1", opened(t, path).Recovered().SavedTo)
		_, err := history.Open(path, history.Options{})
		require.ErrorIs(t, err, storage.ErrLocked)
	})
}

func TestOpeningALogThatIsReplacedByAPipeDoesNotBlock(t *testing.T) {
	t.Parallel()
	path := file(t, header, hello, "")
	log, pipe := path+".log", path+".pipe"
	require.NoError(t, os.Link(path, log))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	over := make(chan struct{})
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for next := path + ".next"; ; {
			for _, what := range []string{pipe, log} {
				if os.Link(what, next) != nil || os.Rename(next, path) != nil {
					t.Error("the file cannot be swapped")
					return
				}
				_ = os.Remove(next) // renaming one hard link to another of the same file does nothing
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	inTime(t, func() {
		for range cases(30_000) {
			if s, err := history.Read(path, history.Options{}); err == nil {
				_ = s.Close()
			}
		}
	})
	close(over)
	<-swapped
}

// If it did not fail, the entry could not be read back from the path of the log.
func TestAppendToALogThatIsNotAtItsPathFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule string
		move func(dir, path string) error
		says string
	}{
		{"removed", func(_, path string) error { return os.Remove(path) }, "no such file"},
		{"renamed", func(_, path string) error { return os.Rename(path, path+".old") }, "no such file"},
		{"replaced", func(_, path string) error {
			if err := os.WriteFile(path+".new", []byte(header+"\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, "another file is at"},
		{"replaced by a pipe", func(_, path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		}, "another file is at"},
		{"folder removed", func(dir, _ string) error { return os.RemoveAll(dir) }, "no such file"},
		{"folder renamed", func(dir, _ string) error { return os.Rename(dir, dir+".old") }, "no such file"},
		{"folder replaced by a file", func(dir, _ string) error {
			if err := os.Rename(dir, dir+".old"); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		}, "not a directory"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "sessions")
			require.NoError(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "session.jsonl")
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
			require.NoError(t, tt.move(dir, path))
			err := s.Append(t.Context(), chat.UserMessage("two"))
			require.ErrorIs(t, err, storage.ErrMoved)
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "move it back")
			require.Equal(t, 1, count(t, s))
			require.Equal(t, "e1:", shape(viewOf(t, s)), "it can still be read")
		})
	}
}

func TestALogThatIsMovedBackCanBeAppendedTo(t *testing.T) {
	t.Parallel()
	path := tempFile(t)
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
	before := content(t, path)
	require.NoError(t, os.Rename(path, path+".old"))
	require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), storage.ErrMoved)
	require.Equal(t, before, content(t, path+".old"))
	require.NoError(t, os.Symlink(path+".old", path))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("by a link")))
	require.NoError(t, os.Rename(path+".old", path))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("three")))
	reader := readOnly(t, path)
	require.Equal(t, 3, count(t, reader))
	require.NoError(t, reader.Close())
}

func TestATornEndOfALogThatWasMovedIsNotChanged(t *testing.T) {
	t.Parallel()
	path := file(t, header, hello, "torn")
	f, err := storage.OpenFile(path, storage.FileOptions{})
	require.NoError(t, err)
	before := content(t, path)
	require.NoError(t, os.Rename(path, path+".old"))
	end, err := f.End(t.Context())
	require.NoError(t, err)
	_, err = f.Append(t.Context(), end, storage.Line{ID: "e2", Parent: "e1", Kind: string(entry.TypeMessage), Data: []byte(welcome)})
	require.ErrorIs(t, err, storage.ErrMoved)
	require.Equal(t, before, content(t, path+".old"))
	require.NoFileExists(t, path+".torn")
	require.NoError(t, f.Close())
}

// The log is locked under its own name, under a hard link and after it was renamed. Once another log is at its path,
// the next append of the writer fails.
func TestALogHasOneWriterAcrossProcesses(t *testing.T) {
	t.Parallel()
	path := tempFile(t)
	linked, renamed := path+".linked", path+".renamed"
	c, lines := child(t, path)
	require.True(t, lines.Scan())
	require.NoError(t, os.Link(path, linked))
	for _, name := range []string{path, linked} {
		_, err := history.Open(name, history.Options{})
		require.ErrorIs(t, err, storage.ErrLocked)
	}
	require.NoError(t, os.Rename(path, renamed))
	s := opened(t, path) // another log from now on
	acknowledged := 1
	inTime(t, func() {
		for lines.Scan() {
			acknowledged++
		}
	})
	require.Error(t, c.Wait(), "its append failed")
	require.Zero(t, count(t, s))
	require.Equal(t, acknowledged, count(t, opened(t, renamed)))
	_, err := history.Open(linked, history.Options{})
	require.ErrorIs(t, err, storage.ErrLocked)
	_, err = history.Open(path, history.Options{})
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, "process", "the file that names this process remains")
}

// A process that is being started holds copies of all file descriptors for a moment, and so of locked ones.
func TestAClosedLogIsUnlockedWhileProcessesStart(t *testing.T) {
	t.Parallel()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			default:
				_ = exec.Command("true").Run()
			}
		}
	}()
	path := file(t, header, hello, "")
	for range cases(2000) {
		s, err := history.Open(path, history.Options{File: storage.FileOptions{Sync: storage.SyncNever}})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	close(over)
	<-ended
}
