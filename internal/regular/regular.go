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
func Open(name string) (*os.File, error) {
	// Opening a pipe or a device may have side effects, so look first. The flag and the second look cover one that
	// takes the file's place in between.
	info, err := os.Stat(name)
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
	f, err := os.OpenFile(name, os.O_RDONLY|dontWait, 0)
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
