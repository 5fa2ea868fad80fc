package filelock

import (
	"errors"
	"os"
	"runtime"
)

// SyncDir returns once the names in a folder are durable. Windows cannot sync a folder and does not need to.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
