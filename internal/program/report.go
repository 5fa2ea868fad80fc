package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/internal/worded"
)

// The exit codes of a program, besides [ExitInterrupted].
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// UsageError is an error that the user can correct: in a flag, a file or a folder.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e UsageError) Unwrap() error { return e.Err }

// Report returns the exit code of a program that ended with an error or nil. Unless that is [ExitOK], it writes the error,
// or that the program was interrupted, in a line that begins with the program's name.
func Report(ctx context.Context, name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return ExitOK
	}
	code := ExitFailed
	if _, usage := errors.AsType[UsageError](err); usage {
		code = ExitUsage
	}
	if ctx.Err() != nil {
		code, err = ExitInterrupted, errInterrupted
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, worded.Line(err))
	return code
}
