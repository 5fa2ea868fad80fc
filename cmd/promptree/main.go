// Command promptree verifies and shows sessions, imports what other agents recorded, and says what compaction would
// have saved:
//
//	CGO_ENABLED=0 go install github.com/promptree-go/promptree/cmd/promptree@latest
//
//	promptree verify session.jsonl
//	promptree show session.jsonl
//	promptree import -o session.jsonl recording.jsonl
//	promptree page -o session.html session.jsonl
//	promptree replay session.jsonl
//
// replay says for each compaction policy what the session would have cost, and what prompts would still have shown of what
// the agent needed again.
//
// With -h, each command prints its usage and flags. A file named - is the standard input. Results go to the standard
// output, everything else to the standard error.
//
// Exit codes: 0 success; 1 a problem was found (a line is damaged, a policy could not go on); 2 a flag or a file is
// invalid; 130 interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/promptree-go/promptree/cmd/promptree/internal/compare"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
)

// folders are removed if the program is interrupted.
var folders program.Folders

func main() { program.Main(run, &folders) }

// command is a command of the program. Its function returns the exit code.
type command struct {
	name, does string
	run        func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands lists all commands, in the order of the help.
var commands = []command{
	{"verify", "check the log of a session for damage", reporting("verify", verify)},
	{"show", "show a session as a tree, one of its entries, or the messages that a model sees", reporting("show", show)},
	{"import", "convert another agent's recording to a session", reporting("import", importing)},
	{"page", "write a session as an HTML page", reporting("page", page)},
	{"replay", "say what each compaction policy would have done with a session, and at what cost", replay},
}

func replay(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return compare.Main(ctx, args, stdout, stderr, &folders)
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		help(stderr)
		return program.ExitUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(args) == 0 {
			help(stdout)
			return program.ExitOK
		}
		name, args = args[0], []string{"-h"}
	case "version", "-version", "--version":
		version := "unknown"
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
		}
		fmt.Fprintf(stdout, "promptree %s %s\n", version, runtime.Version())
		return program.ExitOK
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, args, stdout, stderr)
		}
	}
	return program.Report(ctx, "promptree", program.UsageError{Err: fmt.Errorf("there is no command %q: promptree -h lists them", name)}, visible.Writer(stderr))
}

func help(w io.Writer) {
	text := "Usage: promptree COMMAND [flags] FILE…\n\nThe commands (give one -h for more, promptree -version prints the version):\n\n"
	for _, c := range commands {
		text += fmt.Sprintf("\t%-8s%s\n", c.name, c.does)
	}
	_, _ = io.WriteString(visible.Writer(w), program.Wrap(text+"\nFor example:\n\n\tpromptree show session.jsonl\n", program.Width(w))) // help that nobody reads
}

// reporting returns the function of a command whose own function returns an error.
func reporting(name string, do func(ctx context.Context, args []string, stdout, stderr io.Writer) error) func(context.Context, []string, io.Writer, io.Writer) int {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return program.Report(ctx, "promptree "+name, do(ctx, args, stdout, visible.Writer(stderr)), visible.Writer(stderr))
	}
}

// parse parses the flags of a command that takes one file, or at least one if many is set.
func parse(flags *flag.FlagSet, usage string, args []string, stdout io.Writer, many bool) ([]string, error) {
	program.Usage(flags, usage)
	err := program.Parse(flags, args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case err != nil:
	case flags.NArg() == 0:
		err = errors.New("name a file (-help shows an example)")
	case flags.NArg() > 1 && !many:
		err = fmt.Errorf("unexpected argument %q: give one file, after the flags", flags.Arg(1))
	}
	if err != nil {
		return nil, program.UsageError{Err: err}
	}
	return flags.Args(), nil
}
