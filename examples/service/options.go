package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// options are the values of the command line.
type options struct {
	listen, monitor     string
	database, dir       string
	tokens              tokens
	window              int
	policy              policy.Policy
	think, compaction   time.Duration
	maxBody, maxSession int64
	steps, queue, open  int
	work                int
	serve, poll         bool
	finish              time.Duration // how long steps may continue after a stop begins
}

// usageError is an error in the command line, or in a file that it names.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func parse(args []string, stdout io.Writer) (options, error) {
	o := options{finish: stepsFinish}
	var tokensFile, policy string
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.listen, "listen", "localhost:8080", "address to listen on; with port 0 the system chooses one")
	flags.StringVar(&o.monitor, "monitor", "", "serve /healthz, /readyz and /metrics on this address without a token, even with -serve=false (default none)")
	flags.StringVar(&o.database, "database", "", "URL of a PostgreSQL database for the sessions (default files)")
	flags.StringVar(&o.dir, "dir", "", "folder of the sessions' files (default promptree-service in the user's cache folder)")
	flags.IntVar(&o.work, "work", 1, "with -database: number of compactions that this process makes at once, for any replica; 0 leaves them to other processes")
	flags.BoolVar(&o.serve, "serve", true, "with -database: answer requests; if false, the process only runs workers")
	flags.BoolVar(&o.poll, "poll", false, "with -database: poll for jobs, for example behind PgBouncer in transaction mode, where LISTEN does not work")
	flags.StringVar(&tokensFile, "tokens", "", `file with a line "TENANT TOKEN" for each token (default the token "local" of the tenant "local", only on a loopback address)`)
	flags.IntVar(&o.window, "window", 8000, "context window of the model, in tokens")
	flags.StringVar(&policy, "policy", "copilot-chat", "compaction policy: "+strings.Join(slices.Sorted(maps.Keys(policies.All())), ", "))
	flags.DurationVar(&o.think, "think", 0, "time that the offline model takes for an answer or a summary")
	flags.DurationVar(&o.compaction, "compaction", 5*time.Minute, "longest time for a compaction; after it, the compaction of a killed process is given up and made anew")
	flags.Int64Var(&o.maxBody, "max-body", 1<<20, "maximum number of bytes of a request's body")
	flags.Int64Var(&o.maxSession, "max-session", 64<<20, "number of bytes from which a session takes no more messages")
	flags.IntVar(&o.steps, "steps", 64, "maximum number of messages and requested compactions handled at once")
	flags.IntVar(&o.queue, "queue", 4, "maximum number of requests that wait for one session")
	flags.IntVar(&o.open, "open", 256, "without -database: maximum number of sessions open at once")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stdout)
			flags.Usage()
			return o, err
		}
		return o, &usageError{fmt.Errorf("%w (-help lists the flags)", err)}
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := o.check(flags.Args(), given); err != nil {
		return o, &usageError{err}
	}
	var known bool
	if o.policy, known = policies.All()[policy]; !known {
		return o, &usageError{fmt.Errorf("-policy is %q: there is no such policy (-help lists them)", policy)}
	}
	var err error
	if o.tokens, err = readTokens(tokensFile); err != nil {
		return o, &usageError{err}
	}
	if tokensFile == "" && o.serve && !loopback(o.listen) {
		return o, &usageError{fmt.Errorf("-listen is %q: without -tokens it must be a loopback address, such as localhost:8080", o.listen)}
	}
	if o.dir == "" && o.database == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, &usageError{fmt.Errorf("no folder for the sessions: %w: set -dir", err)}
		}
		o.dir = filepath.Join(cache, "promptree-service")
	}
	return o, nil
}

// check returns an error if a flag is invalid or flags contradict each other.
func (o options) check(rest []string, given map[string]bool) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q (-help lists the flags)", rest[0])
	}
	for _, f := range []struct {
		name         string
		value, least int64
	}{
		{"window", int64(o.window), minWindow}, {"max-body", o.maxBody, 1}, {"max-session", o.maxSession, 1}, {"steps", int64(o.steps), 1},
		{"queue", int64(o.queue), 0}, {"open", int64(o.open), 1}, {"work", int64(o.work), 0}, {"think", int64(o.think), 0},
	} {
		if f.value < f.least {
			return fmt.Errorf("-%s is %d: want %d or more", f.name, f.value, f.least)
		}
	}
	if o.compaction < time.Second {
		return fmt.Errorf("-compaction is %v: want 1s or more", o.compaction)
	}
	for _, name := range []string{"work", "serve", "poll"} {
		if given[name] && o.database == "" {
			return fmt.Errorf("-%s needs -database: sessions in files have no workers", name)
		}
	}
	if given["database"] && o.database == "" {
		return errors.New("-database is empty: give the URL of a database, or leave it out to store sessions in files")
	}
	for _, name := range []string{"dir", "open"} {
		if given[name] && o.database != "" {
			return fmt.Errorf("-%s cannot be combined with -database: sessions are stored in files or in a database", name)
		}
	}
	if !o.serve && o.work == 0 {
		return errors.New("-serve is false and -work is 0: there is nothing to do")
	}
	return nil
}

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
