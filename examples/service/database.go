package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/jobs"
)

// database stores the sessions. Each request opens its session, in any process. A summary that no request waits for is
// a job for the workers of all processes.
type database struct {
	pool      *pgxpool.Pool
	assistant *assistant
	client    *river.Client[pgx.Tx]
	queue     *jobs.Queue
	finish    time.Duration
	working   bool
}

// connect connects to the database.
func connect(ctx context.Context, o options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(o.database)
	if err != nil {
		return nil, fmt.Errorf("-database: %w", err)
	}
	if o.poll {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // prepared statements belong to one connection
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// migrate brings the schemas of sessions and jobs up to date.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	return err
}

// sessionOptions are those with which every process opens sessions.
var sessionOptions = history.Options{Recall: true}

// newDatabase starts the workers.
func newDatabase(ctx context.Context, pool *pgxpool.Pool, o options, a *assistant) (*database, error) {
	d := &database{pool: pool, assistant: a, finish: o.finish, working: o.work > 0}
	attempt := o.compaction * 3 / 10                                                 // so that the job of a killed process is rescued before its plan is given up
	config := &river.Config{Logger: slog.New(slog.DiscardHandler), PollOnly: o.poll} // errors of jobs are in the database
	if d.working {
		config.Workers = river.NewWorkers()
		river.AddWorker(config.Workers, &jobs.Worker{
			Sessions: &postgres.Sessions{Pool: pool}, Options: sessionOptions, Attempt: attempt,
			Compactor: func(_ context.Context, _ jobs.Args, s *history.Session) (*summarize.Compactor, error) {
				return a.conversation(s).compactor, nil
			},
		})
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.work}}
		config.JobTimeout, config.RescueStuckJobsAfter = attempt, attempt*4/3
		config.SoftStopTimeout = o.finish
	}
	var err error
	if d.client, err = river.NewClient(riverpgxv5.New(pool), config); err != nil {
		return nil, err
	}
	d.queue = &jobs.Queue{Client: d.client}
	if d.working {
		err = d.client.Start(context.WithoutCancel(ctx)) // workers end after the requests
	}
	return d, err
}

// stop stops the workers, which have some time to finish.
func (d *database) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), d.finish)
	defer cancel()
	if d.working && d.client.Stop(ctx) != nil {
		last, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = d.client.StopAndCancel(last) // what is left is made by another process
	}
}

// sessions returns the sessions of a tenant.
func (d *database) sessions(tenant string) *postgres.Sessions {
	return &postgres.Sessions{Pool: d.pool, Tenant: tenant, Hooks: []postgres.Hook{d.queue.Hook()}}
}

// open opens a session, which is made if it is missing and create is set.
func (d *database) open(ctx context.Context, id sessionID, create bool) (*conversation, error) {
	open := d.sessions(id.tenant).Reopen
	if create {
		open = d.sessions(id.tenant).Open
	}
	session, err := open(ctx, id.name, sessionOptions)
	if err != nil {
		return nil, err
	}
	c := d.assistant.conversation(session)
	c.compactor.Runner = d.queue.Run
	return c, nil
}

// unavailable reports whether the database cannot be reached, stops or is full.
func unavailable(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := refused.Code[:min(2, len(refused.Code))]
		return class == "08" || class == "53" || class == "57" || refused.Code == "25006" // read only
	}
	return is[*pgconn.ConnectError](err) || is[*net.OpError](err) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
