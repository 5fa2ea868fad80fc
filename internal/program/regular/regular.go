// Package regular opens only regular files. Reading a pipe or a device may block or never end.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNotRegular is the error for anything but a regular file. It is wrapped in a [*fs.PathError].
var ErrNotRegular = errors.New("not a regular file: name another")

// Open opens a regular file for reading, without waiting. It follows symbolic links.
func Open(name string) (*os.File, error) { return open(name, os.Stat, os.OpenFile) }

// OpenIn opens a regular file as [Open] does, within a folder that no link leads out of.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(name, root.Stat, root.OpenFile)
}

func open(name string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	// Opening a pipe or a device may have side effects, so look first. The flag and the second look cover one that
	// takes the file's place in between.
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	notRegular := &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	if info.IsDir() {
		notRegular.Err = fmt.Errorf("it is a directory: %w", ErrNotRegular)
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular
	}
	f, err := openFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notRegular
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
