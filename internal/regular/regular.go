// Package regular opens regular files and nothing else: a pipe, a device or a folder has no end, or waits for somebody.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNotRegular is the error of what is not a regular file. It comes in a [*fs.PathError].
var ErrNotRegular = errors.New("not a regular file: name another")

// Open opens a regular file for reading, without waiting. It follows symbolic links.
func Open(name string) (*os.File, error) { return open(name, os.Stat, os.OpenFile) }

// OpenIn is [Open] in a folder, which no link leads out of.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(name, root.Stat, root.OpenFile)
}

func open(name string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	// Opening a pipe or a device may have an effect on it, so look first. The flags are for one that takes the file's place in
	// between.
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
