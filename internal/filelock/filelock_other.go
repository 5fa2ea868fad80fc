//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"fmt"
	"os"
)

// OpenFlags is 0 on systems that cannot lock.
const OpenFlags = 0

func lock(f *os.File) error { return fmt.Errorf("locking %s: %w", f.Name(), errors.ErrUnsupported) }

func unlock(*os.File) {}
