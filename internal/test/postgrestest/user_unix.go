//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the user that the server runs as if the tests run as root, because it refuses to run as root.
const nobody = 65534

// give makes nobody the owner of a folder, if the tests run as root.
func give(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(dir, nobody, nobody)
}

// asOther makes a command run as nobody, if the tests run as root.
func asOther(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}
