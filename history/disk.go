package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// Disk is the little that a [FileStore] asks of a file system, so that a test can take its place.
type Disk interface {
	// Open opens a file, for reading only or for both; for both it is made where there is none, and only its owner may
	// read it.
	Open(path string, readOnly bool) (DiskFile, error)
	// SyncDir returns once the names in a folder are durable.
	SyncDir(dir string) error
	// Lock takes the lock of that name until it is closed. A lock is gone with its holder's process. The error is a
	// [*LockedError] where another holds it.
	Lock(path string) (io.Closer, error)
}

// DiskFile is a file on a [Disk].
type DiskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size in bytes.
	Size() (int64, error)
	// Truncate cuts the file to so many bytes.
	Truncate(size int64) error
	// Sync returns once what was written is durable.
	Sync() error
}

// ErrLocked tells that another process, or another Session in this one, writes to the log. It comes in a [*LockedError].
var ErrLocked = errors.New("history: another writer has the log open")

// LockedError tells who writes to a log.
type LockedError struct {
	// Path of the lock.
	Path string
	// Holder of the lock, the zero value where it has not said yet who it is.
	Holder Holder
}

// Holder is a process that writes to a log.
type Holder struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

func (e *LockedError) Error() string {
	if e.Holder == (Holder{}) {
		return fmt.Sprintf("%v: %s is locked", ErrLocked, e.Path)
	}
	return fmt.Sprintf("%v: %s is locked by process %d on %s", ErrLocked, e.Path, e.Holder.PID, e.Holder.Host)
}

// Unwrap gives [ErrLocked].
func (e *LockedError) Unwrap() error { return ErrLocked }

// osDisk is the operating system's.
type osDisk struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errNoFile
	}
	return info.Size(), nil
}

func (osDisk) Open(path string, readOnly bool) (DiskFile, error) {
	flags := os.O_RDWR | os.O_CREATE
	if readOnly {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be synced there, nor need it be
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// osLock is a lock by the operating system. The file that is locked says who holds it.
type osLock struct{ *flock.Flock }

func (osDisk) Lock(path string) (io.Closer, error) {
	lock := flock.New(path)
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, err
	case !ok:
		held := &LockedError{Path: path}
		if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &held.Holder) != nil {
			held.Holder = Holder{} // it has not said it yet, or the system keeps others from reading
		}
		return nil, held
	}
	host, _ := os.Hostname()
	line, err := plainjson.Marshal(Holder{PID: os.Getpid(), Host: host})
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	// The lock holds whether or not its holder can be named: where locks are binding, nobody writes to a locked file.
	_ = os.WriteFile(path, append(line, '\n'), 0o600)
	return osLock{lock}, nil
}

// Close gives the lock up. Its file stays: whoever waits for it would hold the lock of a file that is gone.
func (l osLock) Close() error {
	_ = os.Truncate(l.Path(), 0)
	return l.Unlock()
}

// realPath is the absolute path of a file without symbolic links, so that a log has one name and one lock. It fails where
// there is something else than a file, which is then not locked either.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		return "", fmt.Errorf("%s is a directory", path)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: %w", path, errNoFile)
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path)) // the file is made later
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder of %s is not there: make it first: %w", path, err)
	}
	return filepath.Join(dir, filepath.Base(path)), err
}

// errNoFile tells that a log cannot be in a pipe or a device.
var errNoFile = errors.New("it is no regular file")
