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

	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policies"
)

// options are what the command line asks for.
type options struct {
	listen, monitor     string
	database, dir       string
	tokens              tokens
	window              int
	policy              summarize.Policy
	think, compaction   time.Duration
	maxBody, maxSession int64
	steps, queue, open  int
	work                int
	serve, poll         bool
	finish              time.Duration // how long steps may go on once the process is to stop
}

// usageError is the error of a command line, or of a file that it names.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func parse(args []string, stdout io.Writer) (options, error) {
	o := options{finish: stepsFinish}
	var tokensFile, policy string
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.listen, "listen", "localhost:8080", "address to listen on; with port 0 the system chooses one")
	flags.StringVar(&o.monitor, "monitor", "", "address on which /healthz, /readyz and /metrics are answered without a token, by a worker alone too; none without it")
	flags.StringVar(&o.database, "database", "", "URL of a PostgreSQL database that keeps the sessions; files without it")
	flags.StringVar(&o.dir, "dir", "", "folder of the sessions' files (default: promptree-service in the user's cache folder)")
	flags.IntVar(&o.work, "work", 1, "compactions that this process makes at once, for whatever replica; 0 leaves them to others. With -database")
	flags.BoolVar(&o.serve, "serve", true, "answer requests; if false the process is a worker alone. With -database")
	flags.BoolVar(&o.poll, "poll", false, "poll for jobs, where LISTEN does not work, as behind PgBouncer in transaction mode. With -database")
	flags.StringVar(&tokensFile, "tokens", "", `file with a line "TENANT TOKEN" for each token; without it "local" is the token of the tenant "local", on a loopback address only`)
	flags.IntVar(&o.window, "window", 8000, "context window of the model, in tokens")
	flags.StringVar(&policy, "policy", "copilot-chat", "policy of compaction: "+strings.Join(slices.Sorted(maps.Keys(policies.All())), ", "))
	flags.DurationVar(&o.think, "think", 0, "how long the offline model takes for an answer or a summary")
	flags.DurationVar(&o.compaction, "compaction", 5*time.Minute, "longest that a compaction takes; that of a process which was killed is given up, and made anew, after it")
	flags.Int64Var(&o.maxBody, "max-body", 1<<20, "most bytes of a request's body")
	flags.Int64Var(&o.maxSession, "max-session", 64<<20, "most bytes of a session to which something may be said")
	flags.IntVar(&o.steps, "steps", 64, "most answers and summaries asked for that are made at once")
	flags.IntVar(&o.queue, "queue", 4, "most requests that wait for one session")
	flags.IntVar(&o.open, "open", 256, "most sessions that are open at once. Without -database")
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
		return o, &usageError{fmt.Errorf("-policy is %q: there is none of that name (-help lists them)", policy)}
	}
	var err error
	if o.tokens, err = readTokens(tokensFile); err != nil {
		return o, &usageError{err}
	}
	if tokensFile == "" && o.serve && !loopback(o.listen) {
		return o, &usageError{fmt.Errorf("-listen is %q: without -tokens the address must be of this machine alone, such as localhost:8080", o.listen)}
	}
	if o.dir == "" && o.database == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, &usageError{fmt.Errorf("there is no folder for the sessions: %w: name one with -dir", err)}
		}
		o.dir = filepath.Join(cache, "promptree-service")
	}
	return o, nil
}

// check returns what is wrong with the flags themselves.
func (o options) check(rest []string, given map[string]bool) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q (-help lists the flags)", rest[0])
	}
	for _, f := range []struct {
		name         string
		value, least int64
	}{
		{"window", int64(o.window), leastWindow}, {"max-body", o.maxBody, 1}, {"max-session", o.maxSession, 1}, {"steps", int64(o.steps), 1},
		{"queue", int64(o.queue), 0}, {"open", int64(o.open), 1}, {"work", int64(o.work), 0}, {"think", int64(o.think), 0},
	} {
		if f.value < f.least {
			return fmt.Errorf("-%s is %d: it must be %d or more", f.name, f.value, f.least)
		}
	}
	if o.compaction < time.Second {
		return fmt.Errorf("-compaction is %v: it must be 1s or more", o.compaction)
	}
	for _, name := range []string{"work", "serve", "poll"} {
		if given[name] && o.database == "" {
			return fmt.Errorf("-%s is given without -database: sessions in files have no workers", name)
		}
	}
	if given["database"] && o.database == "" {
		return errors.New("-database is empty: give the URL of a database, or leave it out to keep sessions in files")
	}
	for _, name := range []string{"dir", "open"} {
		if given[name] && o.database != "" {
			return fmt.Errorf("-%s is given with -database: sessions are kept in files or in a database", name)
		}
	}
	if !o.serve && o.work == 0 {
		return errors.New("-serve is false and -work is 0: there is nothing to do")
	}
	return nil
}

// loopback reports whether only this machine reaches an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
