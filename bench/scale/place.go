package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

// place is the schema of a measurement.
type place struct {
	schema        string
	url           string
	*pgxpool.Pool // for preparation and checks
}

// template is the table from which sessions are copied. It is not measured.
const template = "scale_template"

func newPlace(ctx context.Context, url string) (*place, error) {
	p := &place{schema: postgrestest.Name(), url: url}
	var err error
	if p.Pool, err = p.connect(ctx); err != nil {
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

// connect returns a pool of connections to the schema.
func (p *place) connect(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(p.url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = p.schema
	config.MaxConns = 4
	return pgxpool.NewWithConfig(ctx, config)
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
