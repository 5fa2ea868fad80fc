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

// UsageError is the error of what the user can mend: a flag, a file or a folder.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.Err }

// Report says in one line how a program of a name ended, unless it did what it was asked for, and returns the exit code.
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

// OneLine returns an error in one line.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}
