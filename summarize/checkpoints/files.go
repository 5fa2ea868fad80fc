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
	"runtime"
	"time"

	"github.com/gofrs/flock"
)

const (
	// lockName is the name of the lock. The file is empty and is never written.
	lockName = ".checkpoints.lock"
	// lockWait is how long a writer waits for others.
	lockWait = time.Minute
	// maxHead is the most bytes of a file that are read.
	maxHead = 2048
)

// leftover matches the names that [os.CreateTemp] returns to writeFile.
var leftover = regexp.MustCompile(`^\.new-\d+$`)

// foreign returns the error for a path at which there is something else than what this package writes there.
func foreign(path string) error {
	return fmt.Errorf("%w: %s: move it away, or set Folder.Dir to another folder", ErrForeign, path)
}

// lock takes the lock that each writer of the folder holds, which is gone with its process, and removes what crashed writers
// left behind: nobody else is writing now.
func (f *Folder) lock(ctx context.Context) (*flock.Flock, error) {
	path := filepath.Join(f.Dir, lockName)
	if info, err := os.Lstat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > 0) {
		return nil, foreign(path)
	}
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock := flock.New(path, flock.SetFlag(readFlags|os.O_CREATE))
	if _, err := lock.TryLockContext(limited, 2*time.Millisecond); err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	} else if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w: %s: waited %v: end the process that hangs, or try again", ErrLocked, path, lockWait)
	} else if err != nil {
		return nil, fmt.Errorf("checkpoints: locking the folder: %w", err)
	}
	files, _ := os.ReadDir(f.Dir) // what cannot be removed now is left to the next writer
	for _, file := range files {
		if file.Type().IsRegular() && leftover.MatchString(file.Name()) {
			_ = os.Remove(filepath.Join(f.Dir, file.Name()))
		}
	}
	return lock, nil
}

// readHead returns the start of a file. The error is an [ErrForeign] if it is not a regular file, which is then not opened.
func readHead(path string) (string, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", foreign(path)
	}
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(path, readFlags, 0)
	}
	if err != nil {
		return "", fmt.Errorf("checkpoints: reading: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // it was replaced just now
		return "", foreign(path)
	}
	head, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err != nil {
		return "", fmt.Errorf("checkpoints: reading: %w", err)
	}
	return string(head), nil
}

// writeFile writes a file whole or not at all, and returns once it is durable. It is written under another name, from which
// place brings it to its own: [os.Link] fails if that is taken, [os.Rename] replaces what is there.
func writeFile(path, text string, place func(from, to string) error) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".new-*")
	if err == nil {
		defer os.Remove(file.Name()) // nothing is there after a rename
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = place(file.Name(), path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("checkpoints: writing %s: %w", path, err)
	}
	return nil
}

// makeDir makes a folder, and those that it is in, if there is none, and returns once it is durable.
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
	// It may be there since a writer that crashed before this. A folder that may not be read cannot be synced.
	if err := syncDir(parent); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// syncDir returns once the names in a folder are durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be synced there, nor need it be
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
