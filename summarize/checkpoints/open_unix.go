//go:build unix

package checkpoints

import (
	"os"
	"syscall"
)

// readFlags open a file for reading, without waiting for a pipe's writer and without following a link.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
