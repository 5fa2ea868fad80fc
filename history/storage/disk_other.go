//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package storage

import (
	"errors"
	"fmt"
	"os"
)

const openFlags = 0

// lockFile fails: logs can only be read here.
func lockFile(f *os.File) error {
	return fmt.Errorf("locking %s: %w", f.Name(), errors.ErrUnsupported)
}

func unlockFile(*os.File) {}
