// Command scale measures many sessions and long ones in PostgreSQL: the cost of a step of a chat without the model, as
// the number and the length of sessions grow.
//
//	go run ./bench/scale
//
// Run it from the root of the repository. It starts a cluster, or uses the database of the URL in
// PROMPTREE_POSTGRES, in schemas that it removes.
//
// Exit codes: 0 all measured targets are met, 1 a target is missed or something failed, such as a missing PostgreSQL, 2
// a flag is invalid, 130 interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

func main() { program.Main(run) }

// options are the values of the flags.
type options struct {
	sessions []int // numbers of sessions in the rotation
	entries  []int // lengths of one session, in messages
	steps    int   // maximum number of a row
	limit    time.Duration
}

// rounds is the number of rounds of a session in rotation, and of a view that is compacted.
const rounds = 50

func parse(args []string, stdout io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	program.Usage(flags, "Usage: scale [flags]")
	sessions := flags.String("sessions", "100,1000,10000", "numbers of sessions in rotation, separated by commas")
	entries := flags.String("entries", "10,1000,100000", "messages of one session, even numbers separated by commas")
	flags.IntVar(&o.steps, "steps", 500, "maximum number of steps of a row")
	flags.DurationVar(&o.limit, "time", 20*time.Second, "maximum time of a row's steps")
	quick := flags.Bool("quick", false, "check that everything works: small sizes and few steps, unless set by other flags")
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	if *quick {
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range map[string]string{"sessions": "5,20", "entries": "10,200", "steps": "20", "time": "1s"} {
			if !given[name] {
				if err := flags.Set(name, value); err != nil {
					return o, err
				}
			}
		}
	}
	var err error
	if o.sessions, err = sizes("sessions", *sessions, 1); err != nil {
		return o, err
	}
	if o.entries, err = sizes("entries", *entries, 2); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not a flag (-help lists the flags)", flags.Arg(0))
	case o.steps < 1:
		return o, fmt.Errorf("-steps is %d: set 1 or more", o.steps)
	case o.limit <= 0:
		return o, fmt.Errorf("-time is %v: set a time above 0", o.limit)
	}
	return o, nil
}

// sizes parses a list of increasing numbers, each a multiple of the last argument.
func sizes(name, list string, of int) ([]int, error) {
	var sizes []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < of || n%of != 0 || n > 10_000_000 {
			return nil, fmt.Errorf("-%s: %q is not a multiple of %d up to 10000000", name, text, of)
		}
		if len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, fmt.Errorf("-%s: %d comes after %d: list the numbers in increasing order", name, n, sizes[len(sizes)-1])
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return program.Run(ctx, "scale", args, stdout, stderr, parse, measureAll)
}

// errMissed is returned if a target is missed.
var errMissed = errors.New("a target is missed")

// measureAll measures what the options select, and prints the results.
func measureAll(ctx context.Context, o options, stdout, stderr io.Writer) error {
	d, err := measured(ctx, o, stderr)
	if err != nil {
		return err
	}
	if err := d.print(stdout); err != nil {
		return err
	}
	if slices.ContainsFunc(d.Targets, func(v verdict) bool { return !v.Met }) {
		return errMissed
	}
	return nil
}

// measured measures what the options select.
func measured(ctx context.Context, o options, stderr io.Writer) (d document, err error) {
	cluster, err := postgrestest.Start(ctx)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if d.Server, err = describe(ctx, cluster.URL); err != nil {
		return d, err
	}
	for _, p := range parts() {
		begun := time.Now()
		rows, err := p.measure(ctx, o, cluster.URL)
		if err != nil {
			return d, fmt.Errorf("%s: %w", p.name(), err)
		}
		d.Rows = append(d.Rows, rows...)
		fmt.Fprintf(stderr, "%s: %.0f s\n", p.name(), time.Since(begun).Seconds())
	}
	d.Targets = judge(d.Rows)
	return d, nil
}
