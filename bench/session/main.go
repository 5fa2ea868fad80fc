// Command session measures long sessions: the cost of a step of an agent, of a compaction and of opening the log as a
// session grows.
//
//	go run ./bench/session -entries 1000000
//
// It generates a coding session and appends it round by round, as an agent does. In each round it appends a model's
// answer with a call and its usage, and the tool's result, and renders the prompt through a compactor. The log is
// written without fsync.
//
// Exit codes: 0 all measured targets are met, 1 a target is missed or something failed, 2 a flag or a folder is
// invalid, 130 interrupted. An interrupt prints the results so far.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/visible"
)

func main() {
	var folders program.Folders
	program.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, &folders, args, stdout, stderr)
	}, &folders)
}

// errMissed is returned if a target is missed.
var errMissed = errors.New("a target is missed")

// options are the values of the flags.
type options struct {
	entries int
	rounds  []int
	turn    int
	dir     string
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("session", flag.ContinueOnError)
	program.Usage(flags, "Usage: session [flags]")
	flags.IntVar(&o.entries, "entries", 100_000, "number of entries up to which a session grows")
	rounds := flags.String("rounds", "50,200", "maximum rounds of a view; a session for each, separated by commas")
	flags.IntVar(&o.turn, "turn", 20, "rounds that answer a message of the user")
	flags.StringVar(&o.dir, "dir", "", "folder for a temporary folder with the logs (default that of the system)")
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	for _, text := range strings.Split(*rounds, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 4 {
			return o, fmt.Errorf("-rounds: %q is not a number of rounds, 4 or more", text)
		}
		o.rounds = append(o.rounds, n)
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-help lists the flags)", flags.Arg(0))
	case o.entries < 1000:
		return o, fmt.Errorf("-entries is %d: set 1000 or more", o.entries)
	case o.turn < 1:
		return o, fmt.Errorf("-turn is %d: set 1 or more", o.turn)
	}
	return o, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, folders *program.Folders, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = program.UsageError{Err: err}
	default:
		err = measureAll(ctx, folders, o, stdout, stderr)
	}
	return program.Report(ctx, "session", err, stderr)
}

// measureAll runs the measurements in a temporary folder, which it removes.
func measureAll(ctx context.Context, folders *program.Folders, o options, stdout, stderr io.Writer) (err error) {
	dir, remove, err := folders.Make(o.dir, "promptree-session-")
	if err != nil {
		return program.UsageError{Err: fmt.Errorf("-dir: %w", err)}
	}
	defer func() { err = errors.Join(err, remove()) }()
	return measureGrowth(ctx, o, dir, stdout, stderr)
}
