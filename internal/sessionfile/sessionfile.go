// Package sessionfile reads the recorded sessions that a command line names.
package sessionfile

import (
	"fmt"
	"io"
	"os"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/regular"
)

// Stdin is the name of what is read from the standard input.
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

// Read reads a session in any format, of the file of a path, or of the standard input for [Stdin]. The error of what cannot be read is a
// [program.UsageError] that begins with the path, and the line if it is one line that is wrong.
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
