//go:build unix

package checkpoints

import (
	"os"
	"syscall"
)

// readFlags opens a file for reading. It does not wait for the writer of a pipe and does not follow links.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
