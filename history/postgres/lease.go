package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/promptree-go/promptree/history/storage"
)

var _ storage.Leaser = (*Store)(nil)

// Lease takes or renews a lease in one statement. It also deletes leases of the session that expired an hour ago.
func (s *Store) Lease(ctx context.Context, work, holder string, d time.Duration) (bool, error) {
	if err := s.known(ctx); err != nil {
		return false, err
	}
	var held bool
	err := s.sessions.Pool.QueryRow(ctx, `
		WITH old AS (
			SELECT work FROM promptree_leases WHERE session = $1 AND work <> $2 AND until < now() - interval '1 hour' FOR UPDATE SKIP LOCKED
		), deleted AS (
			DELETE FROM promptree_leases AS l USING old WHERE l.session = $1 AND l.work = old.work
		)
		INSERT INTO promptree_leases AS l (session, work, holder, until) VALUES ($1, $2, $3, now() + $4 * interval '1 microsecond')
		ON CONFLICT (session, work) DO UPDATE SET holder = excluded.holder, until = excluded.until
		WHERE l.holder = excluded.holder OR l.until <= now()
		RETURNING true`, mode, s.key.Load(), []byte(work), []byte(holder), d.Microseconds()).Scan(&held)
	refused, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case refused != nil && refused.Code == "23503": // no session has the key, or there is none
		return false, ErrNoSession
	case err != nil:
		return false, s.failed(ctx, "taking a lease of", err)
	}
	return held, nil
}

// Leased returns the state of a lease.
func (s *Store) Leased(ctx context.Context, work string) (storage.LeaseState, error) {
	if err := s.known(ctx); err != nil {
		return storage.LeaseNone, err
	}
	var held bool
	err := s.sessions.Pool.QueryRow(ctx, "SELECT until > now() FROM promptree_leases WHERE session = $1 AND work = $2",
		mode, s.key.Load(), []byte(work)).Scan(&held)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return storage.LeaseNone, nil
	case err != nil:
		return storage.LeaseNone, s.failed(ctx, "reading a lease of", err)
	case held:
		return storage.LeaseHeld, nil
	}
	return storage.LeaseExpired, nil
}

// EndLease deletes a lease.
func (s *Store) EndLease(ctx context.Context, work, holder string) error {
	if err := s.known(ctx); err != nil {
		return err
	}
	_, err := s.sessions.Pool.Exec(ctx, "DELETE FROM promptree_leases WHERE session = $1 AND work = $2 AND holder = $3",
		mode, s.key.Load(), []byte(work), []byte(holder))
	return s.failed(ctx, "ending a lease of", err)
}
