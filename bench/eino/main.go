// Command eino replays a recorded session through eino's ChatModelAgent, with promptree's policies and with eino's own
// middlewares for long conversations, and prints a table of the requests that each would have sent.
//
//	go run ./bench/eino SESSION
//
// The answers and the results of tools are the recorded ones, whatever the agent was shown. All contestants use digests
// as summaries, which need no model ([models.Offline]), so the table does not compare the quality of summaries.
//
// Exit codes: 0 the table is printed, 1 a contestant failed, 2 a flag or the session is invalid, 130 interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/sessionfile"
	"github.com/promptree-go/promptree/internal/program/visible"
)

func main() { program.Main(run) }

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	path, window, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		err = program.UsageError{Err: err}
	default:
		var messages []chat.Message
		if messages, err = read(path); err == nil {
			err = compare(ctx, messages, window, stdout)
		}
	}
	return program.Report(ctx, "eino", err, stderr)
}

// parse returns the path of the session and the context window in tokens.
func parse(args []string, stdout io.Writer) (path string, window int, err error) {
	flags := flag.NewFlagSet("eino", flag.ContinueOnError)
	program.Usage(flags, "Usage: eino [flags] SESSION")
	flags.IntVar(&window, "window", 100_000, "context window of the model, in tokens")
	if err := program.Parse(flags, args, stdout); err != nil {
		return "", 0, err
	}
	switch {
	case flags.NArg() != 1:
		return "", 0, errors.New("name one recorded session (-help lists the flags)")
	case window < 1000:
		return "", 0, fmt.Errorf("-window is %d: set 1000 tokens or more", window)
	}
	return flags.Arg(0), window, nil
}

// read returns the messages of a recorded session.
func read(path string) ([]chat.Message, error) {
	recording, err := sessionfile.Read(path, importer.Options{})
	if err != nil {
		return nil, err
	}
	var list []chat.Message
	for _, r := range recording.Path(recording.Leaf) {
		if m, shown := r.Shown(); shown {
			list = append(list, m)
		}
	}
	return list, nil
}

// compare runs all contestants and writes the table.
func compare(ctx context.Context, messages []chat.Message, window int, w io.Writer) error {
	turns := turnsOf(messages)
	fmt.Fprintf(w, "%d turns, %d answers, a window of %d tokens\n\n", len(turns), answersIn(turns), window)
	fmt.Fprintln(w, "| | requests | over the window | largest | summaries | input | cached | paid as | user's words |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, c := range contestants(window) {
		t, err := c.run(ctx, turns, window)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %.1f M | %.1f%% | %.1f M | %.0f%% |\n", c.name, t.requests, t.over, t.largest, t.summaries,
			float64(t.input)/1e6, 100*float64(t.cached)/float64(max(1, t.input)), t.paid()/1e6, 100*t.kept/float64(max(1, t.requests)))
	}
	return nil
}
