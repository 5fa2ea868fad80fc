package program

import "golang.org/x/sys/windows"

// terminalWidth returns the columns of a terminal, 0 for any other file.
func terminalWidth(fd uintptr) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(fd), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}
