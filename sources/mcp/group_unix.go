//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a process a group, so that an interrupt at the terminal does not end it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process, and those that it has started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
