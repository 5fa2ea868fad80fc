package folderagent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// The exit codes of a program.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// UsageError is an error that the user can correct: in a flag, a file or a folder.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e UsageError) Unwrap() error { return e.Err }

// Main calls run with the arguments and streams of the process, and exits with the code that it returns. An interrupt
// (Ctrl-C, or SIGTERM) ends the context of run; a second one, or 2 seconds, end the process.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		time.Sleep(2 * time.Second) // run may wait for the standard input
		os.Exit(ExitInterrupted)
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Parse parses flags. With -help it writes them to stdout and returns [flag.ErrHelp]. Any other error is a [UsageError].
func Parse(flags *flag.FlagSet, args []string, stdout io.Writer) error {
	err := parse(flags, args, stdout)
	if err == nil && flags.NArg() > 0 {
		err = UsageError{Err: fmt.Errorf("unexpected argument %q (-help lists the flags)", flags.Arg(0))}
	}
	return err
}

// parse parses flags that arguments may follow.
func parse(flags *flag.FlagSet, args []string, stdout io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
	case err != nil:
		err = UsageError{Err: fmt.Errorf("%w (-help lists the flags)", err)}
	}
	return err
}

// Outcome returns the exit code of a program that ended with an error or nil, and in one line the error, or that the
// program was interrupted. The line is "" for [ExitOK].
func Outcome(ctx context.Context, err error) (code int, text string) {
	code = ExitFailed
	switch _, usage := errors.AsType[UsageError](err); {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return ExitOK, ""
	case ctx.Err() != nil:
		return ExitInterrupted, "interrupted"
	case usage:
		code = ExitUsage
	}
	return code, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// Visible returns a text in which characters that a terminal does not show are escaped, such as \u001b, because a model
// or a file may hold some that control it. Line feeds and tabs are unchanged.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.Is(unicode.Zs, r):
			b.WriteRune(r)
		case r > 0xFFFF:
			b.WriteRune(unicode.ReplacementChar)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// VisibleWriter returns a writer that applies [Visible] to each text written.
func VisibleWriter(w io.Writer) io.Writer { return visible{w} }

type visible struct{ to io.Writer }

func (w visible) Write(data []byte) (int, error) {
	if _, err := w.to.Write([]byte(Visible(string(data)))); err != nil {
		return 0, err
	}
	return len(data), nil
}
