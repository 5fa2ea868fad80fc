package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
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

// Report returns the exit code of a program that ended with an error or nil. Unless that is [ExitOK], it writes the
// error, or that the program was interrupted, in one line that begins with the program's name.
func Report(ctx context.Context, name string, err error, stderr io.Writer) int {
	_, usage := errors.AsType[UsageError](err)
	code := ExitFailed
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return ExitOK
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "%s: interrupted\n", name)
		return ExitInterrupted
	case usage:
		code = ExitUsage
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, OneLine(err))
	return code
}

// OneLine returns the text of an error in one line.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
