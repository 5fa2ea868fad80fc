//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package storage

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openFlags make opening anything but a regular file fail or return at once.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// lockFile locks an open file until it is unlocked or closed. The lock belongs to the file, not to its name, and does
// not prevent reading. The error is a [*LockedError] if the file is locked elsewhere, in this process or another.
func lockFile(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return &LockedError{Path: f.Name()}
		case !errors.Is(err, syscall.EINTR): // network file systems may return it
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		}
	}
}

func unlockFile(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // if it fails, closing releases the lock
}
