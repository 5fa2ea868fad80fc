package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/promptree-go/promptree/internal/filelock"
	"github.com/promptree-go/promptree/internal/worded"
)

// Disk is the file system that a [File] uses. Tests can implement their own.
type Disk interface {
	// Open opens an existing regular file, for reading only or for reading and writing. It does not follow a symbolic
	// link and does not block. A file has one writer, whatever its names are, until that one closes it or dies: the
	// error is a [*LockedError] if there is another writer, and an [fs.ErrNotExist] if the file does not exist.
	Open(path string, readOnly bool) (DiskFile, error)
	// Create creates a file that only its owner may read, and opens it for writing. The error is an [fs.ErrExist] if
	// anything is at the path, a symbolic link included.
	Create(path string) (DiskFile, error)
	// Remove removes a file.
	Remove(path string) error
	// SyncDir returns once the names in a folder are durable.
	SyncDir(dir string) error
}

// DiskFile is an open file on a [Disk].
type DiskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size returns the size in bytes.
	Size() (int64, error)
	// Truncate cuts the file to a size in bytes.
	Truncate(size int64) error
	// Sync returns once all writes are durable.
	Sync() error
	// Check returns an error unless the path by which the file was opened still leads to it.
	Check() error
}

// ErrMoved is returned by Append if the log was removed, renamed or replaced since it was opened. Nothing is appended.
// The next Append succeeds if the log was moved back.
var ErrMoved = errors.New("storage: the log is no longer at its path")

// openLog opens a log. For writing, it creates a missing one.
func openLog(d Disk, path string, readOnly bool) (DiskFile, error) {
	file, err := d.Open(path, readOnly)
	if !readOnly && errors.Is(err, fs.ErrNotExist) {
		file, err = d.Create(path)
		if errors.Is(err, fs.ErrExist) { // another process created it in between
			file, err = d.Open(path, readOnly)
		}
	}
	if held, ok := errors.AsType[*LockedError](err); ok {
		held.Holder, _ = readHolder(d, path)
		return nil, held
	}
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	return file, nil
}

// tornHead is the first line of a file with the torn end of a log, which follows byte for byte. By it Remove knows such a
// file.
const tornHead = "promptree: what a crash left at the end of a log:\n"

// saveTorn copies the torn end of a log to a new file beside it, and returns its path once it is durable. The name is
// the first of log.torn, log.torn.1, log.torn.2, … that is free.
func saveTorn(d Disk, log string, torn *io.SectionReader) (path string, err error) {
	path = log + ".torn"
	side, err := d.Create(path)
	for n := 1; errors.Is(err, fs.ErrExist); n++ {
		path = fmt.Sprintf("%s.torn.%d", log, n)
		side, err = d.Create(path)
	}
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.NewOffsetWriter(side, 0), io.MultiReader(strings.NewReader(tornHead), torn))
	return path, durable(d, path, side, err)
}

// durable closes a new file once it is durable. If it cannot be, or was not written, it removes the file.
func durable(d Disk, path string, file DiskFile, written error) error {
	err := written
	if err == nil {
		err = errors.Join(file.Sync(), d.SyncDir(filepath.Dir(path)))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, d.Remove(path))
	}
	return err
}

// checkPath returns [ErrMoved] unless the log is at its path.
func (f *File) checkPath() error {
	if err := f.file.Check(); err != nil {
		return fmt.Errorf("%w: %w: move it back, or close the session and open the log where it is now", ErrMoved, err)
	}
	return nil
}

// osDisk is the disk of the operating system.
type osDisk struct{}

// osFile is a regular file.
type osFile struct {
	*os.File
	info   fs.FileInfo // from when it was opened
	locked bool
}

func (osDisk) Open(path string, readOnly bool) (DiskFile, error) {
	// Opening a pipe or a device may have side effects, so look first. filelock.OpenFlags cover one that takes the file's place
	// in between.
	info, err := os.Lstat(path)
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		return nil, err
	}
	flags := os.O_RDWR
	if readOnly {
		flags = os.O_RDONLY
	}
	return openFile(path, flags|filelock.OpenFlags, !readOnly)
}

func (osDisk) Create(path string) (DiskFile, error) {
	return openFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, true)
}

// openFile opens a file, and locks it if lock is set. It closes one that is not regular or is locked elsewhere.
func openFile(path string, flags int, lock bool) (DiskFile, error) {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(f.Name(), info)
	}
	if err == nil && lock {
		err = filelock.Lock(f)
	}
	if errors.Is(err, filelock.ErrLocked) {
		err = &LockedError{Path: f.Name()}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f, info, lock}, nil
}

// checkRegular returns an [ErrForeign] unless the file at a path is regular.
func checkRegular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return worded.Errorf(ErrForeign, "%s is a directory: name a file in it", path)
	case mode.Type() == fs.ModeSymlink:
		return worded.Errorf(ErrForeign, "%s is a symbolic link to nothing: make its target or remove the link", path)
	}
	return worded.Errorf(ErrForeign, "%s is not a regular file: choose another path", path)
}

func (osDisk) Remove(path string) error { return os.Remove(path) }

func (osDisk) SyncDir(dir string) error { return filelock.SyncDir(dir) }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Check() error {
	info, err := os.Stat(f.Name())
	if err == nil && !os.SameFile(info, f.info) {
		err = fmt.Errorf("another file is at %s", f.Name())
	}
	return err
}

// Close releases the lock before it closes the file, because a process that is just being started shares the descriptor
// for a moment and would hold the lock.
func (f osFile) Close() error {
	if f.locked {
		filelock.Unlock(f.File)
	}
	return f.File.Close()
}

// realPath returns the absolute path of a file without symbolic links. The file itself may be missing.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder of %s is not there: make it first: %w", path, err)
	}
	return filepath.Join(dir, filepath.Base(path)), err
}
