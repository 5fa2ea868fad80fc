// Package program holds the code that the commands of this repository share: flags, exit codes and interrupts.
package program

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/promptree-go/promptree/internal/worded"
)

// The exit codes of a program.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// grace is the time that a program has to return once it is interrupted.
const grace = 2 * time.Second

var errInterrupted = errors.New("interrupted")

// Main calls run with the arguments and streams of the process, and exits with the code that it returns. An interrupt
// (Ctrl-C, or SIGTERM) ends the context of run. If run has not returned 2 seconds later, or at the second interrupt,
// Main removes the given folders and exits with [ExitInterrupted].
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int, folders *Folders) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancelCause(context.Background())
	returned := make(chan int, 1)
	go func() { returned <- run(ctx, os.Args[1:], os.Stdout, os.Stderr) }()
	select {
	case code := <-returned:
		os.Exit(code)
	case <-signals:
	}
	cancel(errInterrupted)
	select {
	case code := <-returned:
		os.Exit(code)
	case <-signals:
	case <-time.After(grace):
	}
	folders.removeAll()
	os.Exit(ExitInterrupted)
}

// Folders holds the temporary folders of a program. The zero value is empty. It is safe for concurrent use.
type Folders struct {
	mu   sync.Mutex
	dirs map[string]bool
	over bool // the program is ending, so Make fails
}

// Make creates a folder as [os.MkdirTemp] does, and returns a function that removes it.
func (f *Folders) Make(dir, pattern string) (path string, remove func() error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return "", nil, errInterrupted
	}
	if path, err = os.MkdirTemp(dir, pattern); err != nil {
		return "", nil, err
	}
	if f.dirs == nil {
		f.dirs = map[string]bool{}
	}
	f.dirs[path] = true
	return path, func() error {
		err := os.RemoveAll(path)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.dirs, path)
		return err
	}, nil
}

func (f *Folders) removeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	for dir := range f.dirs {
		_ = os.RemoveAll(dir)
	}
}

// Parse parses the arguments of a program. With -help it writes the flags to stdout and returns [flag.ErrHelp].
// Otherwise it writes nothing, and an error says what is wrong and what to do. A flag after an argument, which package
// flag takes for another argument, is an error.
func Parse(flags *flag.FlagSet, args []string, stdout io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
		return err
	case err != nil:
		return fmt.Errorf("%w (-help lists the flags)", err)
	}
	for i, arg := range flags.Args() {
		if i > 0 && len(arg) > 1 && arg[0] == '-' {
			return fmt.Errorf("flag %s comes after %s: flags come first, and a file of that name is ./%s", arg, flags.Arg(i-1), arg)
		}
	}
	return nil
}

// Usage sets the text that -help prints before the flags, such as "Usage: replay [flags] SESSION…".
func Usage(flags *flag.FlagSet, line string) {
	flags.Usage = func() {
		to := flags.Output()
		var text bytes.Buffer
		fmt.Fprintln(&text, line)
		flags.SetOutput(&text)
		flags.PrintDefaults()
		flags.SetOutput(to)
		_, _ = io.WriteString(to, Wrap(text.String(), Width(to))) // a terminal that is gone needs no help
	}
}

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
