package main

import (
	"context"
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

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the database, the folder or the listener
	exitUsage  = 2 // a flag or the file of tokens
)

// Times of a stop: how long steps may continue, and how long they have to end after they are cancelled.
const (
	stepsFinish = 7 * time.Second
	stepsEnd    = 2 * time.Second
)

func main() {
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(signalled, func() {
		stop() // a second signal ends the process at once; before cancel, so that this holds once the stop is visible
		cancel()
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the program until the context ends, stops gracefully, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err == nil:
		err = work(ctx, o, stdout, stderr)
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "service: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	if _, usage := errors.AsType[*usageError](err); usage {
		return exitUsage
	}
	return exitFailed
}

func work(ctx context.Context, o options, stdout, stderr io.Writer) error {
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	m := newMetrics()
	a, err := newAssistant(o)
	if err != nil {
		return err
	}
	a.onCompaction = func(e compaction) { m.compaction(e); e.log(log) }
	var kept store
	var parts []func(context.Context) error
	if o.database == "" {
		kept, err = openFiles(o.dir, o.open, a)
	} else {
		var d *database
		d, err = openDatabase(ctx, o, a, slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
		if kept = d; o.work > 0 {
			parts = append(parts, func(ctx context.Context) error { return d.work(ctx) })
		}
	}
	if err != nil {
		return err
	}
	if o.monitor != "" {
		parts = append(parts, func(ctx context.Context) error { return monitor(ctx, o.monitor, kept, m, log, stdout) })
	}
	if o.serve {
		parts = append(parts, func(ctx context.Context) error { return newService(o, kept, a, m, log).serve(ctx, o.listen, stdout) })
	} else {
		fmt.Fprintln(stdout, "working")
	}
	return errors.Join(together(ctx, parts...), kept.close())
}

// together runs functions concurrently until the context ends or one of them returns, and then waits for all of them.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part(ctx) }()
	}
	var err error
	for range parts {
		err = errors.Join(err, <-ended)
		cancel()
	}
	return err
}

// serve answers requests until the context ends, and then stops.
func (s *service) serve(ctx context.Context, address string, stdout io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: s.handler(), ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		WriteTimeout: 30 * time.Second, // a stream sets its own deadline for each write
	}
	s.log.Info("started", "address", listener.Addr().String(), "folder", s.dir, "database", s.database != "", "policy", s.policy.Name, "window", s.window)
	fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.log.Info("stopping")
	s.stop(s.finish)
	last, cancel := context.WithTimeout(context.Background(), stepsEnd)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		s.log.Warn("connections are cut", "err", err.Error())
		return server.Close()
	}
	s.log.Info("stopped")
	return nil
}
