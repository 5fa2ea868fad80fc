// Command promptree looks at sessions of agents, makes sessions of what other agents recorded, and says what compacting them
// would have saved:
//
//	CGO_ENABLED=0 go install github.com/promptree-go/promptree/cmd/promptree@latest
//
//	promptree verify session.jsonl
//	promptree show session.jsonl
//	promptree import -o session.jsonl recording.jsonl
//	promptree page -o session.html session.jsonl
//	promptree replay -prices claude-opus-4-5 session.jsonl
//
// Each command says with -h what it does and which flags it takes. A file named - is the standard input. What is asked for is written to
// the standard output, and everything else to the standard error.
//
// Exit codes: 0 all is well, 1 it is not (a line is damaged, a policy could not go on), 2 a flag or a file is invalid, 130
// interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/replay"
	"github.com/promptree-go/promptree/internal/visible"
)

// folders are removed if the program is interrupted.
var folders program.Folders

func main() { program.Main(run, &folders) }

// command is one of the program's, with the function that runs it and returns the exit code.
type command struct {
	name, does string
	run        func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// commands that there are, in the order of the help.
var commands = []command{
	{"verify", "say whether the log of a session is whole", reporting("verify", verify)},
	{"show", "show a session as a tree, one entry of it, or what a model sees", reporting("show", show)},
	{"import", "make a session of what another agent recorded", reporting("import", importing)},
	{"page", "make a page of a session, to look at in a browser", reporting("page", page)},
	{"replay", "say what each policy of compaction would have done with a session, and what that costs", replay.Main},
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		help(visible.Writer(stderr))
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
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, args, stdout, stderr)
		}
	}
	return program.Report(ctx, "promptree", program.UsageError{Err: fmt.Errorf("there is no command %q: promptree -h lists them", name)}, visible.Writer(stderr))
}

func help(w io.Writer) {
	fmt.Fprint(w, "Usage: promptree COMMAND [flags] FILE…\n\nThe commands, each of which says more with -h:\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "\t%-8s%s\n", c.name, c.does)
	}
	fmt.Fprint(w, "\nsuch as\n\n\tpromptree show session.jsonl\n")
}

// reporting makes a command of a function that returns an error.
func reporting(name string, do func(ctx context.Context, args []string, stdout, stderr io.Writer) error) func(context.Context, []string, io.Writer, io.Writer) int {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return program.Report(ctx, "promptree "+name, do(ctx, args, stdout, visible.Writer(stderr)), visible.Writer(stderr))
	}
}

// parse parses the flags of a command that takes so many files: one, or with many at least one.
func parse(flags *flag.FlagSet, usage string, args []string, stdout io.Writer, many bool) ([]string, error) {
	program.Usage(flags, usage)
	err := program.Parse(flags, args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case err != nil:
	case flags.NArg() == 0:
		err = errors.New("name a file (-help shows how)")
	case flags.NArg() > 1 && !many:
		err = fmt.Errorf("unexpected argument %q: it takes one file, after the flags", flags.Arg(1))
	}
	if err != nil {
		return nil, program.UsageError{Err: err}
	}
	return flags.Args(), nil
}
