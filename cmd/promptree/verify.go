package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/program"
)

const verifyUsage = `Usage: promptree verify FILE…

Reads the whole log of each session and reports every damaged line: lines that cannot be read, ids that occur twice, entries whose
parent does not come before them. It changes nothing; - is the standard input. For example:

	promptree verify session.jsonl
	session.jsonl: 1,003 lines, no damage

A damaged line is printed as FILE:LINE, the byte at which it begins, and what is wrong. A last line without a line feed is not damage, but
noted: half-written, it was never acknowledged, and opening the session sets it aside; whole by its checksum, it is kept. The exit code
is 1 if a line is damaged, and 2 for a log of another format.
`

// errDamaged is returned for a damaged log, after the damage was printed.
var errDamaged = errors.New("a log is damaged: promptree import -salvage -o NEW FILE writes what can be read of it")

func verify(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	paths, err := parse(flags, verifyUsage, args, stdout, true)
	if err != nil {
		return err
	}
	var unread, damaged error
	for _, path := range paths {
		if err := verifyFile(ctx, path, stdout, stderr); errors.Is(err, errDamaged) {
			damaged = err
		} else {
			unread = errors.Join(unread, err)
		}
	}
	return errors.Join(unread, damaged)
}

func verifyFile(ctx context.Context, path string, stdout, stderr io.Writer) error {
	file, remove, err := sessionfile.Spool(ctx, path, &folders)
	if err != nil {
		return err
	}
	defer remove()
	if path == sessionfile.Stdin {
		path = "standard input"
	}
	store, err := storage.ReadFile(file, storage.FileOptions{Snapshot: true})
	if damage, ok := errors.AsType[*storage.CorruptError](err); ok { // such as a file that is empty
		printDamage(stderr, path, damage)
		return errDamaged
	} else if err != nil {
		return program.UsageError{Err: err}
	}
	defer store.Close()
	wrong, err := history.Verify(ctx, store)
	if other, ok := errors.AsType[*entry.FormatError](err); ok {
		return program.UsageError{Err: fmt.Errorf("%s: %w", path, other)}
	} else if err != nil {
		return err
	}
	lines, err := store.Count(ctx, 0)
	if err != nil {
		return err
	}
	printDamage(stderr, path, wrong...)
	sessionfile.PrintTorn(stderr, path, store.Recovered())
	if len(wrong) > 0 {
		fmt.Fprintf(stdout, "%s: %d of %d lines are damaged\n", path, len(wrong), lines)
		return errDamaged
	}
	_, err = fmt.Fprintf(stdout, "%s: %d lines, no damage\n", path, lines)
	return err
}

// printDamage prints what is wrong with the lines of a file, in order. If the first line is among them, the file may be
// another program's.
func printDamage(stderr io.Writer, path string, wrong ...*storage.CorruptError) {
	for _, w := range wrong {
		fmt.Fprintf(stderr, "%s:%d: from byte %d on: %v\n", path, w.Line, w.Byte, w.Err)
	}
	if len(wrong) > 0 && wrong[0].Line == 1 {
		fmt.Fprintf(stderr, "%s: if this is not a session of promptree, convert it with promptree import\n", path)
	}
}
