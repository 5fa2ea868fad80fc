//go:build unix

package program

import "golang.org/x/sys/unix"

// terminalWidth returns the columns of a terminal, 0 for any other file.
func terminalWidth(fd uintptr) int {
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
