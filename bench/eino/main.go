// Command eino replays a recorded session through eino's ChatModelAgent, with promptree's policies and with eino's own
// means for long conversations, and prints what each would have sent.
//
//	go run ./bench/eino SESSION
//
// The answers and the results of tools are the recorded ones, whatever was asked. All contestants use digests as
// summaries that need no model ([models.Offline]), so the table does not compare the quality of summaries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
)

func main() { program.Main(run) }

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	flags := flag.NewFlagSet("eino", flag.ContinueOnError)
	program.Usage(flags, "Usage: eino [flags] SESSION")
	window := flags.Int("window", 100_000, "context window of the model, in tokens")
	err := program.Parse(flags, args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err == nil && flags.NArg() != 1:
		err = errors.New("name one recorded session (-help lists the flags)")
	case err == nil && *window < 1000:
		err = fmt.Errorf("-window is %d: it is 1000 or more", *window)
	}
	if err != nil {
		fmt.Fprintf(stderr, "eino: %s\n", err)
		return 2
	}
	messages, err := read(flags.Arg(0))
	if err == nil {
		err = compare(ctx, messages, *window, stdout)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "eino: interrupted")
		return program.ExitInterrupted
	case err != nil:
		fmt.Fprintf(stderr, "eino: %s\n", err)
		return 1
	}
	return 0
}

// read returns the messages of a recorded session.
func read(path string) ([]chat.Message, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	recording, err := importer.Read(f)
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
