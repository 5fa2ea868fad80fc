//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is whom the server runs as where tests run as root, for it refuses to.
const nobody = 65534

func give(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(dir, nobody, nobody)
}

func asOther(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}
