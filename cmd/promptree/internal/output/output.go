// Package output writes the files that commands make.
package output

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/promptree-go/promptree/internal/program"
)

// Stdout is the name of the standard output, and of the standard input where a file is read.
const Stdout = "-"

// File is a file that a command writes, as its flags say.
type File struct {
	flag  string
	path  *string
	force *bool
}

// Flag declares a flag for a file, and -force.
func Flag(flags *flag.FlagSet, name, value, usage string) File {
	return File{name, flags.String(name, value, usage), flags.Bool("force", false, "replace the file of -"+name+" if it exists")}
}

// Path returns the path of the file.
func (f File) Path() string { return *f.path }

// Write calls a function with a writer, and makes a file for its owner alone of what it writes, whole or not at all. A file
// that exists is replaced only with -force, a link in its place is not followed, and an input is never replaced. What is not
// a regular file, such as a pipe or a device, is written to as it is. The error is a [program.UsageError] if the file may not
// be written.
func (f File) Write(stdout io.Writer, inputs []string, write func(io.Writer) error) error {
	if *f.path == Stdout {
		return write(stdout)
	}
	if err := f.Check(inputs...); err != nil {
		return err
	}
	if info, err := os.Stat(*f.path); err == nil && special(info) {
		to, err := os.OpenFile(*f.path, os.O_WRONLY, 0)
		if err != nil {
			return f.wrong(err)
		}
		return errors.Join(write(to), to.Close())
	}
	part, err := os.CreateTemp(filepath.Dir(*f.path), ".promptree-*.part")
	if err != nil {
		return f.wrong(err)
	}
	defer os.Remove(part.Name()) // fails once it has its name
	if err = write(part); err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return err
	}
	if !*f.force {
		err := os.Link(part.Name(), *f.path) // which replaces nothing
		if err == nil || errors.Is(err, fs.ErrExist) {
			return f.wrong(err)
		}
		if err := f.Check(inputs...); err != nil { // a file system without links
			return err
		}
	}
	return f.wrong(os.Rename(part.Name(), *f.path))
}

// Check returns an error if the file may not be written.
func (f File) Check(inputs ...string) error {
	info, err := os.Stat(*f.path)
	if *f.path == Stdout || err == nil && special(info) {
		return nil
	}
	dir, dirErr := os.Stat(filepath.Dir(*f.path))
	if dirErr != nil {
		return f.wrong(fmt.Errorf("%s: its folder: %w", *f.path, dirErr))
	}
	for _, input := range inputs {
		read, readErr := os.Stat(input)
		if input == Stdout {
			read, readErr = os.Stdin.Stat()
		}
		if readErr == nil && err == nil && (os.SameFile(info, read) || os.SameFile(dir, read)) {
			return f.wrong(fmt.Errorf("%s is what is read: name another file", *f.path))
		}
	}
	if _, err := os.Lstat(*f.path); err == nil && (!*f.force || info != nil && info.IsDir()) {
		return f.wrong(fs.ErrExist)
	}
	return nil
}

// special reports whether a file is written to as it is: one that is not regular, or that is the standard output.
func special(info fs.FileInfo) bool {
	stdout, err := os.Stdout.Stat()
	return !info.Mode().IsRegular() && !info.IsDir() || err == nil && os.SameFile(info, stdout)
}

func (f File) wrong(err error) error {
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s exists: name a new file, or add -force", *f.path)
	}
	if err != nil {
		err = program.UsageError{Err: fmt.Errorf("-%s: %w", f.flag, err)}
	}
	return err
}
