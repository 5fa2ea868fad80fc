package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

// place is the schema of a measurement.
type place struct {
	schema        string
	url           string
	*pgxpool.Pool // for preparation and checks; its traffic is not counted
}

// template is the table from which sessions are copied. It is not measured.
const template = "scale_template"

func newPlace(ctx context.Context, url string) (*place, error) {
	p := &place{schema: postgrestest.Name(), url: url}
	var err error
	if p.Pool, err = p.connect(ctx, 4, nil); err != nil {
		return nil, err
	}
	if _, err := p.Exec(ctx, "CREATE SCHEMA "+p.schema); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// remove drops the schema with everything in it.
func (p *place) remove(ctx context.Context) error {
	_, err := p.Exec(context.WithoutCancel(ctx), "DROP SCHEMA "+p.schema+" CASCADE")
	p.Close()
	return err
}

// config returns the configuration of connections to the schema. Their traffic is counted unless the wire is nil.
func (p *place) config(w *wire) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(p.url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = p.schema
	if w != nil {
		config.ConnConfig.RuntimeParams["application_name"] = p.schema
		config.ConnConfig.DialFunc = w.dial
	}
	return config, nil
}

func (p *place) connect(ctx context.Context, connections int, w *wire) (*pgxpool.Pool, error) {
	config, err := p.config(w)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	return pgxpool.NewWithConfig(ctx, config)
}

// settle updates the statistics of the tables and writes a checkpoint, after which the first change of each page writes
// the whole page to the log.
func (p *place) settle(ctx context.Context) error {
	var tables string
	err := p.QueryRow(ctx, "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = $1", p.schema).Scan(&tables)
	if err != nil {
		return err
	}
	if _, err := p.Exec(ctx, "VACUUM ANALYZE "+tables); err != nil {
		return err
	}
	return p.checkpoint(ctx)
}

func (p *place) checkpoint(ctx context.Context) error {
	_, err := p.Exec(ctx, "CHECKPOINT")
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42501" { // insufficient_privilege, in a database that is not the program's own
		return nil
	}
	return err
}

// counters sum up the database's work so far.
type counters struct {
	rows  int64 // fetched from tables
	pages int64 // of tables and indexes, read from memory or disk
	wal   int64 // bytes written to its log
	dead  int64 // row versions left behind by updates
	moved int64 // updates that wrote the indexes too
}

func (c counters) minus(o counters) counters {
	return counters{c.rows - o.rows, c.pages - o.pages, c.wal - o.wal, c.dead - o.dead, c.moved - o.moved}
}

// counters returns the counters. A connection reports its work when it ends, so the counted connections must be closed.
func (p *place) counters(ctx context.Context) (counters, error) {
	for {
		var open int
		err := p.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", p.schema).Scan(&open)
		if err != nil {
			return counters{}, err
		}
		if open == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	var c counters
	err := p.QueryRow(ctx, `
		SELECT (SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1 AND relname <> $2),
			(SELECT coalesce(sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0) + coalesce(toast_blks_read + toast_blks_hit, 0)
				+ coalesce(tidx_blks_read + tidx_blks_hit, 0)), 0)::bigint FROM pg_statio_user_tables WHERE schemaname = $1 AND relname <> $2),
			(pg_current_wal_insert_lsn() - '0/0')::bigint,
			(SELECT coalesce(sum(n_tup_upd), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1),
			(SELECT coalesce(sum(n_tup_upd - n_tup_hot_upd), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1)`, p.schema, template).
		Scan(&c.rows, &c.pages, &c.wal, &c.dead, &c.moved)
	return c, err
}

// stored returns the bytes of the tables and their indexes.
func (p *place) stored(ctx context.Context) (bytes int64, err error) {
	err = p.QueryRow(ctx, `
		SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname <> $2`,
		p.schema, template).Scan(&bytes)
	return bytes, err
}

// describe returns the version of the database and the settings that matter.
func describe(ctx context.Context, url string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version, fsync, commit, buffers string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'), current_setting('shared_buffers')`).
		Scan(&version, &fsync, &commit, &buffers)
	return fmt.Sprintf("PostgreSQL %s, fsync %s, synchronous_commit %s, shared_buffers %s", version, fsync, commit, buffers), err
}
