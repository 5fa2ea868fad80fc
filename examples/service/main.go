package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the values of the command line.
type options struct {
	listen, database, tokens string
	migrate, poll            bool
	window, work             int
	think, compaction        time.Duration
	finish                   time.Duration // how long answers may continue after a stop begins
}

func parse(args []string, output io.Writer) (options, error) {
	o := options{finish: 7 * time.Second}
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.database, "database", "", "URL of a PostgreSQL database, required")
	flags.BoolVar(&o.migrate, "migrate", false, "bring the database's schemas up to date first; only one process at a time may")
	flags.StringVar(&o.listen, "listen", "localhost:8080", "address to listen on; with port 0 the system chooses one")
	flags.StringVar(&o.tokens, "tokens", "", `file with a line "TENANT TOKEN" for each token, required`)
	flags.IntVar(&o.work, "work", 1, "compactions that this process makes at once, for any process; 0 leaves them to others")
	flags.BoolVar(&o.poll, "poll", false, "poll for jobs, for example behind PgBouncer in transaction mode")
	flags.IntVar(&o.window, "window", 8000, "context window of the model, in tokens")
	flags.DurationVar(&o.think, "think", 0, "time that the offline model takes for an answer or a summary")
	flags.DurationVar(&o.compaction, "compaction", 5*time.Minute, "longest time for a compaction; after it, that of a killed process is made anew")
	err := flags.Parse(args)
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q (-help lists the flags)", flags.Arg(0))
	case o.database == "" || o.tokens == "":
		err = errors.New("set -database and -tokens (-help lists the flags)")
	}
	return o, err
}

// readTokens returns the tenant of each token, by the token's hash.
func readTokens(path string) (map[[sha256.Size]byte]string, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of tokens: %w", err)
	}
	tenants := map[[sha256.Size]byte]string{}
	for line := range strings.Lines(string(file)) {
		words := strings.Fields(line)
		if len(words) != 2 { // the error must not quote the token
			return nil, fmt.Errorf("the file of tokens: %s: want lines of a tenant, a space and a token", path)
		}
		token := sha256.Sum256([]byte(words[1]))
		if _, twice := tenants[token]; twice {
			return nil, fmt.Errorf("the file of tokens: %s: two lines have the same token, of %s: give each its own", path, words[0])
		}
		tenants[token] = words[0]
	}
	if len(tenants) == 0 {
		return nil, fmt.Errorf("the file of tokens: %s is empty: want lines of a tenant, a space and a token", path)
	}
	return tenants, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "service: %v\n", err)
		os.Exit(1)
	}
}

// run runs the program until the context ends. Answers in progress then have some time to finish.
func run(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	s := &service{log: slog.New(slog.NewJSONHandler(stderr, nil)), busy: map[sessionID]bool{}}
	if s.tenants, err = readTokens(o.tokens); err != nil {
		return err
	}
	a, err := newAssistant(o, s.log)
	if err != nil {
		return err
	}
	pool, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer pool.Close() // waits for the connections in use
	if o.migrate {
		if err := migrate(ctx, pool); err != nil {
			return err
		}
	}
	if s.database, err = newDatabase(ctx, pool, o, a); err != nil {
		return err
	}
	defer s.database.stop()
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	requests, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	server := &http.Server{
		Handler: s.handler(), ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		WriteTimeout: 30 * time.Second, // a stream sets its own deadline for each write
	}
	fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	defer time.AfterFunc(o.finish, func() { cut(errStopping) }).Stop()
	last, cancel := context.WithTimeout(context.Background(), o.finish+2*time.Second)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return server.Close() // connections are cut
	}
	return nil
}
