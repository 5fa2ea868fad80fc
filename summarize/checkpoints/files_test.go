package checkpoints_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/filelock"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

// childEnv names the folder to which a child process of this program adds checkpoints.
const childEnv = "PROMPTREE_CHECKPOINTS_CHILD"

// perWriter is the number of checkpoints that each of several writers adds.
const perWriter = 20

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		for n := range perWriter {
			point, err := (&checkpoints.Folder{Dir: dir}).Add(context.Background(), &history.Session{}, fmt.Sprintf("e%d-%d", os.Getpid(), n), "Same", "Whole.")
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(point.Compaction, point.Path)
		}
		return
	}
	os.Exit(m.Run())
}

// child returns a command that adds perWriter checkpoints, and prints the compaction and path of each that Add
// returned.
func child(dir string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"="+dir)
	c.Stderr = os.Stderr
	return c
}

// requireAll checks that a folder holds these checkpoints (paths by compaction), that the numbers have no gaps or
// repeats, that the index lists all checkpoints, and that no leftover of a writer remains.
func requireAll(t *testing.T, dir string, returned map[string]string) {
	t.Helper()
	list, err := (&checkpoints.Folder{Dir: dir}).List()
	require.NoError(t, err)
	index := sure.Content(t, filepath.Join(dir, "index.md"))
	found := map[string]string{}
	for i, p := range list {
		require.Equal(t, i+1, p.Number)
		require.Contains(t, index, fmt.Sprintf("\n%d. [%s](%s)\n", p.Number, p.Title, filepath.Base(p.Path)))
		require.Regexp(t, "\n\nWhole.\n$", sure.Content(t, p.Path))
		found[p.Compaction] = p.Path
	}
	for compaction, path := range returned {
		require.Equal(t, path, found[compaction])
	}
	files, err := filepath.Glob(filepath.Join(dir, ".new-*"))
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestFolderValuesThatWriteConcurrentlyLoseNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by one of them")
	var all sync.WaitGroup
	var mu sync.Mutex
	returned := map[string]string{}
	for w := range 5 {
		folder := &checkpoints.Folder{Dir: dir}
		all.Go(func() {
			for n := range perWriter {
				point, err := folder.Add(t.Context(), &history.Session{}, fmt.Sprintf("e%d-%d", w, n), "Same", "Whole.")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				returned[point.Compaction] = point.Path
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Len(t, returned, 5*perWriter)
	requireAll(t, dir, returned)
}

func TestProcessesThatWriteConcurrentlyLoseNothing(t *testing.T) {
	dir := t.TempDir()
	outputs := make([]strings.Builder, 5)
	commands := make([]*exec.Cmd, len(outputs))
	for i := range outputs {
		commands[i] = child(dir)
		commands[i].Stdout = &outputs[i]
		require.NoError(t, commands[i].Start())
	}
	returned := map[string]string{}
	for i, c := range commands {
		require.NoError(t, c.Wait())
		for line := range strings.Lines(outputs[i].String()) {
			compaction, path, _ := strings.Cut(strings.TrimSpace(line), " ")
			returned[compaction] = path
		}
	}
	require.Len(t, returned, 5*perWriter)
	requireAll(t, dir, returned)
}

func TestProcessThatIsKilledLosesNothingThatAddReturned(t *testing.T) {
	dir := t.TempDir()
	returned := map[string]string{}
	for n := range 20 {
		c := child(dir)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		for lines := bufio.NewScanner(out); lines.Scan(); {
			compaction, path, _ := strings.Cut(lines.Text(), " ")
			returned[compaction] = path
			time.AfterFunc(time.Duration(n)*500*time.Microsecond, func() { _ = c.Process.Kill() })
		}
		_ = c.Wait() // killed, or finished before
	}
	require.NotEmpty(t, returned)
	point, err := (&checkpoints.Folder{Dir: dir}).Add(t.Context(), &history.Session{}, "last", "Same", "Whole.")
	require.NoError(t, err)
	returned["last"] = point.Path
	requireAll(t, dir, returned)
}

func TestWritersContinueWhereverOneCrashed(t *testing.T) {
	second := "# Second\n\n<!-- compaction e2 -->\n\nWhole.\n"
	put := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	for _, c := range []struct {
		when  string
		leave func(t *testing.T, dir string)
		lists int
	}{
		{"after taking the lock", func(*testing.T, string) {}, 1},
		{"after creating the temporary file", put(".new-17", ""), 1},
		{"after writing a part", put(".new-17", second[:20]), 1},
		{"after writing all", put(".new-17", second), 1},
		{"after linking the file", func(t *testing.T, dir string) {
			put(".new-17", second)(t, dir)
			require.NoError(t, os.Link(filepath.Join(dir, ".new-17"), filepath.Join(dir, "002-second.md")))
		}, 2},
		{"before writing the index", put("002-second.md", second), 2},
		{"after writing a part of the index", func(t *testing.T, dir string) {
			put("002-second.md", second)(t, dir)
			put(".new-17", "# Check")(t, dir)
		}, 2},
	} {
		for _, next := range []string{"Add", "Index"} {
			t.Run("crash "+c.when+", then "+next, func(t *testing.T) {
				folder := &checkpoints.Folder{Dir: t.TempDir()}
				first := added(t, folder, &history.Session{}, "e1", "First", "Whole.")
				c.leave(t, folder.Dir)

				list := listed(t, folder)
				require.Len(t, list, c.lists)
				require.Equal(t, first, list[0])
				returned := map[string]string{"e1": first.Path}
				if next == "Add" {
					again := added(t, folder, &history.Session{}, "e3", "Second", "Whole.")
					require.Equal(t, c.lists+1, again.Number)
					returned["e3"] = again.Path
				} else {
					require.NoError(t, folder.Index(t.Context(), &history.Session{}))
				}
				requireAll(t, folder.Dir, returned)
			})
		}
	}
}

func TestOnlyLeftoversOfWritersAreRemoved(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-17"), []byte("a part"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-ideas"), []byte("mine"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".new-18"), 0o700))
	_, err := (&checkpoints.Folder{Dir: dir}).Add(t.Context(), &history.Session{}, "e1", "x", "x")
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, ".new-17"))
	require.Equal(t, "mine", sure.Content(t, filepath.Join(dir, ".new-ideas")))
	require.DirExists(t, filepath.Join(dir, ".new-18"))
}

// locked locks a folder as another writer does.
func locked(t *testing.T, folder *checkpoints.Folder) *os.File {
	t.Helper()
	other, err := os.Open(filepath.Join(folder.Dir, ".checkpoints.lock"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	require.NoError(t, filelock.Lock(other))
	return other
}

func TestAFileThatAnotherWriterIsWritingIsNotRemoved(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	first := added(t, folder, &history.Session{}, "e1", "First", "x")
	other := locked(t, folder)
	writing := filepath.Join(folder.Dir, ".new-17")
	require.NoError(t, os.WriteFile(writing, []byte("a part"), 0o600))

	added := make(chan error)
	go func() {
		_, err := folder.Add(t.Context(), &history.Session{}, "e2", "Second", "x")
		added <- err
	}()
	select {
	case <-added:
		t.Fatal("it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	require.Equal(t, "a part", sure.Content(t, writing))
	require.Equal(t, []checkpoints.Checkpoint{first}, listed(t, folder), "a reader does not wait")
	filelock.Unlock(other)
	require.NoError(t, <-added)
	require.NoFileExists(t, writing)
}

func TestAWriterWaitsAMinuteForTheLock(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	added(t, folder, &history.Session{}, "e1", "First", "x")
	other := locked(t, folder)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := folder.Add(t.Context(), &history.Session{}, "e2", "Second", "x")
		require.ErrorIs(t, err, storage.ErrLocked)
		require.Equal(t, time.Minute, time.Since(start))
		require.ErrorIs(t, folder.Index(t.Context(), &history.Session{}), storage.ErrLocked)
	})
	filelock.Unlock(other)
}

func TestAddReplacesNoFileThatAppearsMeanwhile(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	var mine []string
	done := make(chan struct{})
	go func() { // takes the numbers that Add is about to take, without the lock
		defer close(done)
		for n := range 200 {
			path := filepath.Join(folder.Dir, fmt.Sprintf("%03d-same.md", n+1))
			if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
				f.Close()
				mine = append(mine, path)
			}
			time.Sleep(100 * time.Microsecond)
		}
	}()
	for added := false; !added; {
		select {
		case <-done:
			added = true
		default:
			if _, err := folder.Add(t.Context(), &history.Session{}, "e1", "Same", "Whole."); err != nil {
				require.ErrorIs(t, err, fs.ErrExist)
			}
		}
	}
	require.NotEmpty(t, mine)
	for _, path := range mine {
		require.Empty(t, sure.Content(t, path))
	}
}

func TestAForeignIndexIsLeftUnchanged(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	index := filepath.Join(folder.Dir, "index.md")
	require.NoError(t, os.WriteFile(index, []byte("# My notes\n"), 0o600))
	point, err := folder.Add(t.Context(), &history.Session{}, "e1", "First", "Whole.")
	require.ErrorIs(t, err, storage.ErrForeign)
	require.ErrorContains(t, err, index)
	require.Equal(t, "# My notes\n", sure.Content(t, index))
	require.ErrorIs(t, folder.Index(t.Context(), &history.Session{}), storage.ErrForeign)

	require.NoError(t, os.Rename(index, filepath.Join(folder.Dir, "notes.md")))
	require.NoError(t, folder.Index(t.Context(), &history.Session{}))
	requireAll(t, folder.Dir, map[string]string{"e1": point.Path})
}

func TestAForeignLockIsLeftUnchanged(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	lock := filepath.Join(folder.Dir, ".checkpoints.lock")
	require.NoError(t, os.WriteFile(lock, []byte("mine"), 0o600))
	_, err := folder.Add(t.Context(), &history.Session{}, "e1", "First", "x")
	require.ErrorIs(t, err, storage.ErrForeign)
	require.ErrorContains(t, err, lock)
	require.Equal(t, "mine", sure.Content(t, lock))
}

func TestAddFailsIfNoNumberIsLeft(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(folder.Dir, "999999999-x.md"), []byte("# x\n"), 0o600))
	_, err := folder.Add(t.Context(), &history.Session{}, "e1", "y", "y")
	require.ErrorContains(t, err, "no number is left")
	require.Len(t, listed(t, folder), 1)
}
