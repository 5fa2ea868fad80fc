// Package program holds the code that the commands of this repository share: flags, exit codes and interrupts.
package program

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// ExitInterrupted is the exit code of a program that was interrupted.
const ExitInterrupted = 130

// grace is the time that a program has to return once it is interrupted.
const grace = 2 * time.Second

var errInterrupted = errors.New("interrupted")

// Main calls run with the arguments and streams of the process, and exits with the code that it returns. An interrupt
// (Ctrl-C, or SIGTERM) ends the context of run. If run has not returned 2 seconds later, or at the second interrupt,
// Main removes the given folders and exits with [ExitInterrupted].
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int, folders ...*Folders) {
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
	for _, f := range folders {
		f.removeAll()
	}
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
