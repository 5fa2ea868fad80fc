// Command mutants shows that the checks of package statements can fail: it applies each mutation of a statement and
// runs the statement's check, which must then fail.
//
//	go run ./internal/test/mutants ./summarize/...
//
// It prints each mutation that the check does not notice or that does not compile, and exits with 1 if there is one. It
// does not change the working tree.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/statements"
	"github.com/promptree-go/promptree/internal/visible"
)

func main() {
	var folders program.Folders
	program.Main(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return program.Report(ctx, "mutants", start(ctx, &folders, args, stdout), visible.Writer(stderr))
	}, &folders)
}

// start parses the arguments and tries the mutations that they name.
func start(ctx context.Context, folders *program.Folders, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	program.Usage(flags, "Usage: mutants [flags] PACKAGE…")
	verbose := flags.Bool("v", false, "print each mutation, with the time that it took")
	matching := flags.String("run", "", "try only statements that contain this text")
	err := program.Parse(flags, args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return program.UsageError{Err: err}
	}
	return run(ctx, folders, stdout, flags.Args(), *matching, *verbose)
}

// trial is a mutation of the code that a statement's check must notice.
type trial struct {
	pkg, dir, says string
	number         int // of the statement
	statements.Mutant
}

func run(ctx context.Context, folders *program.Folders, out io.Writer, patterns []string, matching string, verbose bool) error {
	if len(patterns) == 0 {
		return program.UsageError{Err: errors.New("no packages: name some, such as ./summarize/... (all below summarize)")}
	}
	scratch, remove, err := folders.Make("", "mutants")
	if err != nil {
		return err
	}
	defer remove()
	trials, root, err := collect(ctx, scratch, patterns, matching)
	if err != nil {
		return err
	}
	if len(trials) == 0 {
		return program.UsageError{Err: errors.New("the packages have no such statements")}
	}
	queue := make(chan int)
	failures := make([]error, len(trials))
	var workers sync.WaitGroup
	var printing sync.Mutex
	for range max(1, runtime.NumCPU()) {
		workers.Go(func() {
			for i := range queue {
				begun := time.Now()
				failures[i] = try(ctx, scratch, root, i, trials[i])
				printing.Lock()
				if verbose && failures[i] == nil {
					fmt.Fprintf(out, "noticed (%.1fs): %s: %s\n", time.Since(begun).Seconds(), trials[i].pkg, trials[i].says)
				}
				if failures[i] != nil && ctx.Err() == nil {
					fmt.Fprintf(out, "%s: %q: %v\n\t%s\n\t- %s\n\t+ %s\n", trials[i].pkg, trials[i].says, failures[i], trials[i].File, trials[i].Old, trials[i].New)
				}
				printing.Unlock()
			}
		})
	}
	for i := range trials {
		queue <- i
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	bad := 0
	for _, err := range failures {
		if err != nil {
			bad++
		}
	}
	fmt.Fprintf(out, "%d of %d mutations are noticed\n", len(trials)-bad, len(trials))
	if bad > 0 {
		return fmt.Errorf("%d mutations are not noticed, or do not compile", bad)
	}
	return nil
}

// collect returns the mutations of the statements of packages, and the folder of their module.
func collect(ctx context.Context, scratch string, patterns []string, matching string) (trials []trial, root string, err error) {
	const form = "{{if .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}\t{{.Module.Dir}}{{end}}"
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-f", form}, patterns...)...).Output()
	if err != nil {
		return nil, "", fmt.Errorf("go list: %w", err)
	}
	file := filepath.Join(scratch, "list.json")
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue
		}
		pkg, dir := fields[0], fields[1]
		root = fields[2]
		_ = os.Remove(file)
		list := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", "^TestStatements$", pkg)
		list.Env = append(os.Environ(), statements.ListEnv+"="+file)
		if out, err := list.CombinedOutput(); err != nil {
			return nil, "", fmt.Errorf("listing the statements of %s: %w\n%s", pkg, err, out)
		}
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // the package has no statements
		} else if err != nil {
			return nil, "", err
		}
		var all []statements.Listed
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, "", err
		}
		for n, s := range all {
			if !strings.Contains(s.Says, matching) {
				continue
			}
			for _, m := range s.Mutants {
				trials = append(trials, trial{pkg, dir, s.Says, n, m})
			}
		}
	}
	return trials, root, nil
}

// try applies a mutation and runs the statement's check. It returns nil if the check fails, and an error if the check
// passes or the mutation cannot be applied.
func try(ctx context.Context, scratch, root string, i int, t trial) error {
	path := filepath.Join(root, t.File)
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(code), t.Old); n != 1 {
		return fmt.Errorf("the text to replace occurs %d times", n)
	}
	mutated := filepath.Join(scratch, fmt.Sprintf("%d.go", i))
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(code), t.Old, t.New, 1)), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		return err
	}
	replaced := filepath.Join(scratch, fmt.Sprintf("%d.json", i))
	if err := os.WriteFile(replaced, overlay, 0o600); err != nil {
		return err
	}
	binary := filepath.Join(scratch, fmt.Sprintf("%d.test", i))
	defer os.Remove(binary)
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", replaced, "-o", binary, t.pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	test := exec.CommandContext(ctx, binary, "-test.run", "^TestStatements$", "-test.timeout", "2m")
	test.Dir = t.dir
	test.Env = append(os.Environ(), statements.OnlyEnv+"="+strconv.Itoa(t.number))
	if test.Run() == nil {
		return errors.New("the check does not notice it")
	}
	return nil
}
