// Command compare measures promptree and its peers side by side:
//
//	go run ./bench/compare
//
// Run it from the root of the repository. Each comparison lets its contestants do the same job in turns, round by
// round, and prints a line for each: the median, its range, the ratio to the first contestant, and the targets. Rows in
// which promptree loses are printed like the others.
//
// The contestants in JavaScript need Node and npm. They are installed once, in a folder of the user's cache; -no-node
// leaves them out.
//
// Exit codes: 0 all measured targets are met, 1 a target is missed, 2 a comparison cannot run because of a flag, a
// file, Node or npm, 130 interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
)

func main() {
	program.Main(run)
}

// options are the values of the flags.
type options struct {
	noNode        bool
	only          *regexp.Regexp
	session, text string
	vocabulary    string
	pace          pace
	sizes         sizes
}

// errMissed is returned if a target is missed.
var errMissed = errors.New("a target is missed")

func parse(args []string, stdout io.Writer) (options, error) {
	o := options{pace: defaultPace, sizes: fullSizes}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	only := flags.String("run", "", "run only comparisons whose name matches this regular expression")
	flags.BoolVar(&o.noNode, "no-node", false, "leave out the contestants that need Node")
	flags.IntVar(&o.pace.rounds, "rounds", o.pace.rounds, "number of times that each contestant is measured")
	flags.StringVar(&o.session, "session", "", "recorded session to count (default the one in ../shared, or the generated one)")
	flags.StringVar(&o.vocabulary, "vocabulary", "", "tokenizer.json of a model to count with (default none)")
	flags.StringVar(&o.text, "text", "",
		"text of prompt-tsx's benchmark, its src/base/test/renderer.test.tsx (default a generated one of its shape)")
	if err := program.Parse(flags, args, stdout); err != nil {
		return o, err
	}
	var err error
	switch o.only, err = regexp.Compile(*only); {
	case err != nil:
		return o, fmt.Errorf("-run: %w", err)
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q (-help lists the flags)", flags.Arg(0))
	case o.pace.rounds < 1:
		return o, fmt.Errorf("-rounds is %d: set 1 or more", o.pace.rounds)
	}
	return o, nil
}

// run runs the program and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = visible.Writer(stdout), visible.Writer(stderr)
	o, err := parse(args, stdout)
	if err == nil {
		err = runWith(ctx, o, stdout, stderr)
	}
	if err != nil && !errors.Is(err, errMissed) {
		err = program.UsageError{Err: err}
	}
	return program.Report(ctx, "compare", err, stderr)
}

func runWith(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	var selected []plan
	var names []string
	for _, p := range plans() {
		names = append(names, p.name)
		if o.only.MatchString(p.name) {
			selected = append(selected, p)
		}
	}
	if len(selected) == 0 {
		return fmt.Errorf("-run matches none of: %s", strings.Join(names, ", "))
	}
	b := &bench{options: o, stderr: stderr}
	defer func() { err = errors.Join(err, b.close()) }()
	return b.compare(ctx, selected, stdout)
}

// compare runs the comparisons one after the other and prints their results.
func (b *bench) compare(ctx context.Context, selected []plan, stdout io.Writer) error {
	n := map[state]int{}
	for _, p := range selected {
		fmt.Fprintf(b.stderr, "… %s\n", p.name)
		c, err := p.prepare(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		r, err := measure(ctx, c, b.pace)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.endWorker()
		if err := r.print(stdout, p, c); err != nil {
			return err
		}
		for _, t := range c.targets {
			s, _ := t.judge(r)
			n[s]++
		}
	}
	_, err := fmt.Fprintf(stdout, "%d targets met, %d missed, %d not measured. %s, %s/%s, %d CPUs%s; medians of %d rounds.\n",
		n[met], n[missed], n[notMeasured], runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0),
		map[bool]string{true: ", Node " + b.nodeVersion}[b.nodeVersion != ""], b.pace.rounds)
	if err == nil && n[missed] > 0 {
		err = errMissed
	}
	return err
}
