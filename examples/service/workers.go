package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/jobs"
)

// newClient returns the client that enqueues jobs and, once it is started, works on -work of them at once.
func (d *database) newClient(o options, log *slog.Logger) (*river.Client[pgx.Tx], error) {
	attempt := o.compaction * 3 / 10 // so that the job of a killed process is rescued before its plan is given up
	config := &river.Config{Logger: log, PollOnly: o.poll}
	if o.work > 0 {
		config.Workers = river.NewWorkers()
		river.AddWorker(config.Workers, &jobs.Worker{
			Sessions: &postgres.Sessions{Pool: d.pool, Tool: transcriptTool}, Attempt: attempt,
			Compactor: func(_ context.Context, _ jobs.Args, s *history.Session) (*summarize.Compactor, error) {
				return d.assistant.compactor(s, func(compaction) {}), nil
			},
		})
		config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.work}}
		config.JobTimeout, config.RescueStuckJobsAfter = attempt, attempt*4/3
		config.SoftStopTimeout = o.finish
	}
	return river.NewClient(riverpgxv5.New(d.pool), config)
}

// work makes compactions until the context ends, and then waits for those in progress or cancels them.
func (d *database) work(ctx context.Context) error {
	if err := d.client.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the workers: %w", err)
	}
	<-ctx.Done()
	select {
	case <-d.client.Stopped():
	case <-time.After(d.finish + stepsEnd): // the database does not answer
	}
	return nil
}

// migrationLock is an advisory lock: River's migrations must not run concurrently.
const migrationLock = 7205759403792793600

// migrateJobs migrates River's schema. One process does so while the others wait. A waiting process holds no
// connection, so that a pooler with few connections has one left for the migrations.
func migrateJobs(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	for {
		var locked bool
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", pgx.QueryExecModeExec, int64(migrationLock)).Scan(&locked)
			if err != nil || !locked {
				return err
			}
			_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
			return err
		})
		if err != nil || locked {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
