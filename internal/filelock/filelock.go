// Package filelock locks open files against other writers, in this process and others. The system releases the locks of
// a process that dies. A lock belongs to the file, not to its name, and does not prevent reading.
package filelock

import (
	"errors"
	"os"
	"runtime"
)

// ErrLocked is returned if a file is locked elsewhere, in this process or another.
var ErrLocked = errors.New("filelock: another writer has the lock")

// Lock locks an open file until it is unlocked or closed. It does not wait: the error is [ErrLocked] if the file is
// locked elsewhere, and an [errors.ErrUnsupported] on systems that cannot lock.
func Lock(f *os.File) error { return lock(f) }

// Unlock releases the lock of a file. If it fails, closing the file releases the lock.
func Unlock(f *os.File) { unlock(f) }

// SyncDir returns once the names in a folder are durable. Windows cannot sync a folder and does not need to.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
