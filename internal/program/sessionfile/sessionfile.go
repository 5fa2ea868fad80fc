// Package sessionfile reads the recorded sessions that a command line names.
package sessionfile

import (
	"fmt"
	"io"
	"os"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/regular"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// Open opens a regular file, or the standard input for [Stdin]. The error is a [program.UsageError].
func Open(path string) (io.ReadCloser, error) {
	if path == Stdin {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, program.UsageError{Err: err}
	}
	return f, nil
}

// Read reads a session in any format from a file, or from the standard input for [Stdin]. The error is a
// [program.UsageError] that begins with the path, followed by the number of the line if one line is wrong.
func Read(path string, o importer.Options) (*importer.Recording, error) { return ReadAs(path, path, o) }

// ReadAs acts as [Read], and names the file otherwise in errors. A file that is being written is read as far as it goes
// when it is opened.
func ReadAs(name, path string, o importer.Options) (*importer.Recording, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := io.Reader(f)
	if file, ok := f.(*os.File); ok {
		info, err := file.Stat()
		if err != nil {
			return nil, program.UsageError{Err: err}
		}
		in = io.LimitReader(file, info.Size())
	}
	r, err := o.Read(in)
	if err != nil {
		return nil, program.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return r, nil
}
