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
func Read(path string, o importer.Options) (*importer.Recording, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := o.Read(f)
	if err != nil {
		return nil, program.UsageError{Err: fmt.Errorf("%s: %w", path, err)}
	}
	return r, nil
}
