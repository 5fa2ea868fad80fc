package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
)

// Pool is a pool of connections, such as [github.com/jackc/pgx/v5/pgxpool.Pool].
type Pool interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// mode sends a statement and its arguments in one round trip without preparing it by name, so that a pooler may give
// each transaction another connection.
const mode = pgx.QueryExecModeExec

// Sessions gives access to the sessions of one tenant. Pool is required. It is safe for concurrent use once its fields
// are set, and cheap to create.
type Sessions struct {
	// Pool of connections to a database that [Migrate] has prepared. It is not closed.
	Pool Pool
	// Tenant that owns the sessions. "" is a tenant like any other.
	Tenant string
	// Hooks are called in the transactions of appends. None by default.
	Hooks []Hook
}

// Hook adds writes to the transaction of an append, so that both are committed or neither.
type Hook struct {
	// Wants reports whether Do is called for lines. An append that no hook wants takes one round trip; one that a hook
	// wants takes three, plus those of Do. Nil wants all.
	Wants func(lines []storage.Line) bool
	// Do is called after the lines were written, before the transaction is committed. If it fails the append fails, and
	// nothing is written. It must not use another connection, which would wait for this one's locks. If it takes 10
	// seconds between two statements the server ends the transaction, so that a paused process does not block the
	// session.
	Do func(ctx context.Context, tx pgx.Tx, a Appended) error
}

// Appended describes an append that is about to be committed.
type Appended struct {
	Tenant, Name string
	// At is the position of the first of Lines.
	At    storage.Position
	Lines []storage.Line
}

// Open opens the session with a name, and creates it if it is missing. Close it when the request is done, which costs
// nothing.
func (s *Sessions) Open(ctx context.Context, name string, o history.Options) (*history.Session, error) {
	return history.New(ctx, s.Store(name), o)
}

// Reopen opens the session with a name like Open, but does not create it. The error is [ErrNoSession] if it is missing.
func (s *Sessions) Reopen(ctx context.Context, name string, o history.Options) (*history.Session, error) {
	store := s.Store(name)
	store.existing = true
	return history.New(ctx, store, o)
}

// Store returns the store of the session with a name. It has no row before the first append.
func (s *Sessions) Store(name string) *Store { return &Store{sessions: s, name: name} }

// SessionInfo describes a session in a list.
type SessionInfo struct {
	Name string
	// Created is the time of its first line, Appended that of its newest, both by the database's clock.
	Created, Appended time.Time
	// Lines is the number of its lines, the header included, and Bytes their size.
	Lines, Bytes int64
}

// Info describes the session with a name. The error is [ErrNoSession] if it is missing.
func (s *Sessions) Info(ctx context.Context, name string) (SessionInfo, error) {
	rows, err := s.Pool.Query(ctx, "SELECT name, created, appended, lines, bytes FROM promptree_sessions WHERE tenant = $1 AND name = $2", mode, s.Tenant, name)
	var info SessionInfo
	if err == nil {
		info, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[SessionInfo])
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return SessionInfo{}, ErrNoSession
	case err != nil:
		return SessionInfo{}, s.failed(ctx, fmt.Sprintf("reading session %q", name), err)
	}
	return info, nil
}

// listPage is the number of sessions that are read at a time.
const listPage = 500

// List returns the sessions in the order of their names' bytes, starting after a name. An error is the last value.
func (s *Sessions) List(ctx context.Context, after string) iter.Seq2[SessionInfo, error] {
	return func(yield func(SessionInfo, error) bool) {
		for first := after == ""; ; first = false {
			rows, err := s.Pool.Query(ctx, `
				SELECT name, created, appended, lines, bytes FROM promptree_sessions
				WHERE tenant = $1 AND (name COLLATE "C" > $2 OR $3) ORDER BY name COLLATE "C" LIMIT $4`, mode, s.Tenant, after, first, listPage)
			var page []SessionInfo
			if err == nil {
				page, err = pgx.CollectRows(rows, pgx.RowToStructByPos[SessionInfo])
			}
			if err != nil {
				yield(SessionInfo{}, s.failed(ctx, "listing sessions", err))
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
				after = info.Name
			}
			if len(page) < listPage {
				return
			}
		}
	}
}

// Expire removes sessions to which nothing was appended since a time, at most the given number, the oldest first, and
// returns the number removed. A process that has one open gets [ErrNoSession] at its next append.
func (s *Sessions) Expire(ctx context.Context, before time.Time, most int) (removed int, err error) {
	return s.remove(ctx, `
		WITH old AS MATERIALIZED (
			SELECT session FROM promptree_sessions WHERE tenant = $1 AND appended < $2 ORDER BY appended LIMIT $3 FOR UPDATE SKIP LOCKED
		) DELETE FROM promptree_sessions AS s USING old WHERE s.session = old.session`, s.Tenant, before, most)
}

// Clear removes all sessions of the tenant and returns their number.
func (s *Sessions) Clear(ctx context.Context) (removed int, err error) {
	return s.remove(ctx, "DELETE FROM promptree_sessions WHERE tenant = $1", s.Tenant)
}

func (s *Sessions) remove(ctx context.Context, sql string, args ...any) (int, error) {
	tag, err := s.Pool.Exec(ctx, sql, append([]any{mode}, args...)...)
	return int(tag.RowsAffected()), s.failed(ctx, "removing sessions", err)
}

// failed returns the error of an operation, nil if it did not fail: the cause of the context if that has ended.
func (s *Sessions) failed(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42P01" {
		err = fmt.Errorf("%w: call Migrate first", err)
	}
	return fmt.Errorf("postgres: %s: %w", what, err)
}
