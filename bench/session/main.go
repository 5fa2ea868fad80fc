// Command session measures long sessions: what a step of an agent, a compaction and opening the log cost as a session grows.
//
//	go run ./bench/session -entries 1000000
//
// It makes up a coding session and appends it round by round, as an agent does: the answer of a model with a call and its
// usage, the result of the tool, a prompt that is rendered through a compactor. The log is not forced to the disk.
//
//	go run ./bench/session -sessions
//
// steps many sessions that share one small cache, fewer and more of them than it has room for.
//
// Exit codes: 0 every target that was measured is met, 1 one is missed or something failed, 2 a flag is invalid, 130
// interrupted; what was measured by then is printed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = program.ExitInterrupted
)

func main() {
	var folders program.Folders
	program.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, &folders, args, stdout, stderr)
	}, &folders)
}

// usageError is what the user can mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errMissed is the error of a target that is missed.
var errMissed = errors.New("a target is missed")

// options are what the command line asks for.
type options struct {
	entries    int
	rounds     []int
	turn       int
	dir        string
	cpuProfile string
	sessions   bool
	budget     int // bytes of the cache
}

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("session", flag.ContinueOnError)
	program.Usage(flags, "Usage: session [flags]")
	flags.IntVar(&o.entries, "entries", 100_000, "the most entries of a session")
	rounds := flags.String("rounds", "50,200", "rounds that views hold at the most, with commas between them")
	flags.IntVar(&o.turn, "turn", 20, "rounds that answer a message of the user")
	flags.StringVar(&o.dir, "dir", "", "folder in which a temporary folder for the logs is made (default that of the system)")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "file to write a CPU profile to; it must not be there")
	flags.BoolVar(&o.sessions, "sessions", false, "measure many sessions that share a cache instead")
	mib := flags.Int("cache", 8, "MiB of the cache that -sessions share")
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
	o.budget = *mib << 20
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-help lists the flags)", flags.Arg(0))
	case o.entries < 1000:
		return o, fmt.Errorf("-entries is %d: it is 1000 or more", o.entries)
	case o.turn < 1:
		return o, fmt.Errorf("-turn is %d: it is 1 or more", o.turn)
	case *mib < 1 || *mib > 1024:
		return o, fmt.Errorf("-cache is %d: it is 1 to 1024", *mib)
	}
	return o, nil
}

// run is the program. It returns the exit code.
func run(ctx context.Context, folders *program.Folders, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		err = usageError{err}
	default:
		err = measureAll(ctx, folders, o, stdout, stderr)
	}
	_, usage := errors.AsType[usageError](err)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "session: interrupted")
		return exitInterrupted
	case usage:
		fmt.Fprintf(stderr, "session: %s\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "session: %s\n", err)
		return exitFailed
	}
}

// measureAll measures in a temporary folder, which it removes.
func measureAll(ctx context.Context, folders *program.Folders, o options, stdout, stderr io.Writer) (err error) {
	dir, remove, err := folders.Make(o.dir, "promptree-session-")
	if err != nil {
		return usageError{fmt.Errorf("-dir: %w", err)}
	}
	defer func() { err = errors.Join(err, remove()) }()
	if o.cpuProfile != "" {
		f, err := os.OpenFile(o.cpuProfile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return usageError{fmt.Errorf("-cpuprofile: %w", err)}
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if o.sessions {
		return measureShared(ctx, o, dir, stdout)
	}
	return measureGrowth(ctx, o, dir, stdout, stderr)
}
