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

// Report returns the exit code of a program that ended with an error or nil. Unless that is [ExitOK], it writes the
// text of [Outcome] in a line that begins with the program's name.
func Report(ctx context.Context, name string, err error, stderr io.Writer) int {
	code, text := Outcome(ctx, err)
	if code != ExitOK {
		fmt.Fprintf(stderr, "%s: %s\n", name, text)
	}
	return code
}

// Outcome returns the exit code of a program that ended with an error or nil, and in one line the error, or that the
// program was interrupted. The line is "" for [ExitOK].
func Outcome(ctx context.Context, err error) (code int, text string) {
	_, usage := errors.AsType[UsageError](err)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return ExitOK, ""
	case ctx.Err() != nil:
		return ExitInterrupted, "interrupted"
	case usage:
		return ExitUsage, worded.Line(err)
	}
	return ExitFailed, worded.Line(err)
}
