package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize/jobs"
)

// database stores the sessions in PostgreSQL. Each request opens its session, in any replica. A summary that no request
// waits for is a job for the workers of any process.
type database struct {
	pool      *pgxpool.Pool
	assistant *assistant
	client    *river.Client[pgx.Tx]
	queue     *jobs.Queue
	hooks     []postgres.Hook
	inUse     atomic.Int64
	finish    time.Duration
}

// connectTime is the time that the database has to answer at the start.
const connectTime = 10 * time.Second

// openDatabase connects to a database and migrates its schemas.
func openDatabase(ctx context.Context, o options, a *assistant, log *slog.Logger) (*database, error) {
	config, err := pgxpool.ParseConfig(o.database)
	if err != nil {
		return nil, &usageError{fmt.Errorf("-database: %w", err)}
	}
	if o.poll {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // prepared statements belong to one connection
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	d := &database{pool: pool, assistant: a, finish: o.finish}
	if err := d.begin(ctx, o, log); err != nil {
		pool.Close()
		return nil, fmt.Errorf("the database: %w", err)
	}
	return d, nil
}

// begin migrates both schemas, that of sessions and that of jobs.
func (d *database) begin(ctx context.Context, o options, log *slog.Logger) (err error) {
	answering, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := d.pool.Ping(answering); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, d.pool); err != nil {
		return err
	}
	if err := migrateJobs(ctx, d.pool, log); err != nil {
		return err
	}
	if d.client, err = d.newClient(o, log); err != nil {
		return err
	}
	d.queue = &jobs.Queue{Client: d.client}
	d.hooks = []postgres.Hook{d.queue.Hook()}
	return nil
}

// of returns the sessions of a tenant.
func (d *database) of(tenant string) *postgres.Sessions {
	return &postgres.Sessions{Pool: d.pool, Tenant: tenant, Tool: transcriptTool, Hooks: d.hooks}
}

func (d *database) create(ctx context.Context, id sessionID) error {
	header := entry.Header{ID: newID()}
	session, err := d.of(id.tenant).Open(ctx, id.name, history.Options{Header: header})
	if err != nil {
		return err
	}
	defer session.Close()
	if session.Header().ID != header.ID {
		return errExists
	}
	return nil
}

func (d *database) use(ctx context.Context, id sessionID) (*conversation, func(), error) {
	sessions := d.of(id.tenant)
	session, err := sessions.Reopen(ctx, id.name, history.Options{})
	if err != nil {
		return nil, nil, err
	}
	d.inUse.Add(1)
	c := d.assistant.conversation(session, func(ctx context.Context, from int) lines {
		return sessions.Store(id.name).Read(ctx, storage.Position(from-1)) // a position is a line number
	})
	c.compactor.Runner = d.queue
	return c, func() {
		_ = c.close() // nothing is left to write
		d.inUse.Add(-1)
	}, nil
}

func (d *database) bytes(ctx context.Context, id sessionID) (int64, error) {
	is, err := d.of(id.tenant).Info(ctx, id.name)
	return is.Bytes, err
}

func (d *database) list(ctx context.Context, tenant, after string, limit int) ([]info, error) {
	var listed []info
	for is, err := range d.of(tenant).List(ctx, after) {
		if err != nil {
			return nil, err
		}
		if listed = append(listed, info{is.Name, is.Created.UTC(), is.Appended.UTC(), is.Bytes}); len(listed) == limit {
			break
		}
	}
	return listed, nil
}

func (d *database) remove(ctx context.Context, id sessionID) error {
	session, err := d.of(id.tenant).Reopen(ctx, id.name, history.Options{})
	if err != nil {
		return err
	}
	return session.Remove(ctx)
}

func (d *database) ready(ctx context.Context) error { return d.pool.Ping(ctx) }

func (d *database) opened() int { return int(d.inUse.Load()) }

func (d *database) close() error {
	closed := make(chan struct{})
	go func() {
		d.pool.Close() // waits for the connections in use
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(stepsEnd):
	}
	return nil
}
