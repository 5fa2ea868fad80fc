package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/filelock"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/internal/worded"
)

const (
	// lockName is the name of the lock file, which is always empty.
	lockName = ".checkpoints.lock"
	// lockWait is how long a writer waits for the lock.
	lockWait = time.Minute
	// maxHead is the number of bytes that are read of a file.
	maxHead = 2048
)

// leftover matches the names that [os.CreateTemp] returns to writeFile.
var leftover = regexp.MustCompile(`^\.new-\d+$`)

// foreign returns the error for a path that holds something other than this package's file.
func foreign(path string) error {
	return worded.Errorf(storage.ErrForeign, "checkpoints: a file that is not the folder's own is in the way: %s: move it away, or set Folder.Dir to another folder", path)
}

// locked calls do with what list returns and the folder's lock, which the system releases if the process dies. It removes
// the leftovers of crashed writers, because no other writer is active.
func (f *Folder) locked(ctx context.Context, do func(list []Checkpoint, next int) error) error {
	path := filepath.Join(f.Dir, lockName)
	if info, err := os.Lstat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > 0) {
		return foreign(path)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|filelock.OpenFlags, 0o600)
	if err != nil {
		return fmt.Errorf("checkpoints: opening the folder's lock: %w", err)
	}
	if err := waitForLock(ctx, file); err != nil {
		return errors.Join(err, file.Close())
	}
	defer file.Close()
	defer filelock.Unlock(file)
	files, _ := os.ReadDir(f.Dir) // if this or a removal fails, the next writer tries again
	for _, file := range files {
		if file.Type().IsRegular() && leftover.MatchString(file.Name()) {
			_ = os.Remove(filepath.Join(f.Dir, file.Name()))
		}
	}
	list, next, err := f.list()
	if err != nil {
		return err
	}
	return do(list, next)
}

// waitForLock locks the folder's lock file once its holder releases it.
func waitForLock(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait,
		worded.Errorf(storage.ErrLocked, "checkpoints: another writer holds the lock: %s: waited %v: end the process that holds it, or try again", file.Name(), lockWait))
	defer cancel()
	for {
		err := filelock.Lock(file)
		if err == nil {
			return nil
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return fmt.Errorf("checkpoints: locking the folder: %w", err)
		}
		if err := retry.Sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// readHead returns the start of a file. If the file is not regular, readHead does not open it and the error is
// [storage.ErrForeign].
func readHead(path string) (string, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return "", foreign(path)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|filelock.OpenFlags, 0)
	if err != nil {
		return "", fmt.Errorf("checkpoints: reading a file: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // replaced since Lstat
		return "", foreign(path)
	}
	head, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err != nil {
		return "", fmt.Errorf("checkpoints: reading a file: %w", err)
	}
	return string(head), nil
}

// writeFile writes a file whole or not at all, and returns when it is durable. It writes under a temporary name, and
// then calls move to give the file its own name: [os.Link] fails if that is taken, and [os.Rename] replaces the old
// file.
func writeFile(path, text string, move func(from, to string) error) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".new-*")
	if err == nil {
		defer os.Remove(file.Name()) // fails after a rename, which is fine
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = move(file.Name(), path)
	}
	if err == nil {
		err = filelock.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("checkpoints: writing %s: %w", path, err)
	}
	return nil
}

// makeDir creates a folder and its parents if they do not exist, and returns when they are durable.
func makeDir(dir string) error {
	parent := filepath.Dir(filepath.Clean(dir))
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if info, statErr := os.Stat(dir); err != nil && (statErr != nil || !info.IsDir()) {
		return err
	}
	// Sync even if the folder existed, because a writer may have crashed before its own sync. A parent without read
	// permission cannot be synced.
	if err := filelock.SyncDir(parent); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
