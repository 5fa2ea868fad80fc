//go:build !unix && !windows

package program

func terminalWidth(uintptr) int { return 0 }
