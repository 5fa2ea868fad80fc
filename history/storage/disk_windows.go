package storage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

const openFlags = 0

// lockedByte returns the place of the lock, 4 EiB into the file, because others cannot read a locked byte and no log is
// that large.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// lockFile locks an open file until it is unlocked or closed. The lock belongs to the file, not to its name, and does
// not prevent reading. The error is a [*LockedError] if the file is locked elsewhere, in this process or another.
func lockFile(f *os.File) error {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	switch err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, lockedByte()); {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return &LockedError{Path: f.Name()}
	default:
		return fmt.Errorf("locking %s: %w", f.Name(), err)
	}
}

func unlockFile(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte()) // if it fails, closing releases the lock
}
