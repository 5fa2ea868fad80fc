package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/promptree-go/promptree/history/storage"
)

// Store is the [storage.Store] of one session. Its positions are line numbers. Several may be open for one session, in
// one process or in many.
type Store struct {
	sessions *Sessions
	name     string
	key      atomic.Int64 // of the session's row, 0 until it is known
	closed   atomic.Bool
	existing bool // a missing session is not created
}

var (
	_ storage.Store       = (*Store)(nil)
	_ storage.LineCounter = (*Store)(nil)
	_ storage.Eraser      = (*Store)(nil)
	_ storage.Sharer      = (*Store)(nil)
	_ storage.Picker      = (*Store)(nil)
)

// ErrNoSession is returned for a session that is missing, or was removed while it was open.
var ErrNoSession = errors.New("postgres: the session does not exist or was removed")

// Shared returns true: others may append too.
func (s *Store) Shared() bool { return true }

// Close closes the store. The pool stays open.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// ready returns an error if the store is closed or the context has ended.
func (s *Store) ready(ctx context.Context) error {
	switch {
	case s.closed.Load():
		return storage.ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

func (s *Store) failed(ctx context.Context, what string, err error) error {
	return s.sessions.failed(ctx, fmt.Sprintf("%s session %q", what, s.name), err)
}

// End returns the number of lines.
func (s *Store) End(ctx context.Context) (storage.Position, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	var key, lines int64
	known := s.key.Load()
	err := s.sessions.Pool.QueryRow(ctx, "SELECT session, lines FROM promptree_sessions WHERE tenant = $1 AND name = $2",
		mode, s.sessions.Tenant, s.name).Scan(&key, &lines)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return 0, s.failed(ctx, "reading", err)
	case known != 0 && key != known: // there is none, or another of the name
		return 0, ErrNoSession
	}
	s.key.CompareAndSwap(0, key)
	return storage.Position(lines), nil
}

// Append adds lines in one statement.
func (s *Store) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := storage.CheckLines(lines); err != nil || len(lines) == 0 {
		return nil, err
	}
	if at != 0 && s.key.Load() == 0 {
		if _, err := s.End(ctx); err != nil {
			return nil, err
		}
	}
	if at < 0 || at == 0 && s.key.Load() != 0 { // the session has lines already
		return nil, s.conflict(ctx, at)
	}
	if at == 0 && s.existing {
		return nil, ErrNoSession
	}
	var key int64
	var err error
	taken := false
	insert := func(db Pool) (err error) { // or a transaction
		key, err = s.insert(ctx, db, at, lines)
		taken = errors.Is(err, pgx.ErrNoRows)
		return err
	}
	var wanted []Hook
	for _, h := range s.sessions.Hooks {
		if h.Wants == nil || h.Wants(lines) {
			wanted = append(wanted, h)
		}
	}
	if len(wanted) == 0 {
		err = insert(s.sessions.Pool)
	} else {
		err = pgx.BeginFunc(ctx, s.sessions.Pool, func(tx pgx.Tx) error {
			if err := insert(tx); err != nil {
				return err
			}
			for _, h := range wanted {
				if err := h.Do(ctx, tx, Appended{s.sessions.Tenant, s.name, at, slices.Clone(lines)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	switch {
	case taken:
		return nil, s.conflict(ctx, at)
	case err != nil:
		return nil, s.failed(ctx, "appending to", err)
	}
	s.key.CompareAndSwap(0, key)
	ends := make([]storage.Position, len(lines))
	for i := range ends {
		ends[i] = at + storage.Position(i) + 1
	}
	return ends, nil
}

// conflict returns the error for a position that is taken.
func (s *Store) conflict(ctx context.Context, at storage.Position) error {
	end, err := s.End(ctx)
	if err != nil {
		return err
	}
	return &storage.ConflictError{At: at, End: end}
}

// idleInTransaction is the maximum time that the server lets a transaction with hooks wait for its process. A process
// that is paused or cut off blocks the session's row for that long, and its append is not written.
const idleInTransaction = "10s"

// insert writes lines and returns the key of their session. The error is [pgx.ErrNoRows] if the position is taken.
func (s *Store) insert(ctx context.Context, db Pool, at storage.Position, lines []storage.Line) (key int64, err error) {
	n := len(lines)
	ids, parents, kinds, data := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	bytes := int64(0)
	for i, l := range lines {
		ids[i], parents[i], kinds[i], data[i] = []byte(l.ID), []byte(l.Parent), []byte(l.Kind), l.Data
		bytes += int64(len(l.Data))
	}
	const written = `, written AS (
			INSERT INTO promptree_lines (session, at, id, parent, kind, data)
			SELECT s.session, $3 + l.i - 1, l.id, l.parent, l.kind, l.data
			FROM s, unnest($5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[]) WITH ORDINALITY AS l (id, parent, kind, data, i)
		) SELECT session, set_config('idle_in_transaction_session_timeout', '` + idleInTransaction + `', true) FROM s`
	const create = `WITH s AS (
			INSERT INTO promptree_sessions (tenant, name, lines, bytes) VALUES ($1, $2, $3 + cardinality($5::bytea[]), $4)
			ON CONFLICT (tenant, name) DO NOTHING RETURNING session
		)` + written
	const extend = `WITH s AS (
			UPDATE promptree_sessions SET lines = lines + cardinality($5::bytea[]), bytes = bytes + $4, appended = now()
			WHERE session = $1 AND name = $2 AND lines = $3 RETURNING session
		)` + written
	if at == 0 {
		err = db.QueryRow(ctx, create, mode, s.sessions.Tenant, s.name, int64(at), bytes, ids, parents, kinds, data).Scan(&key, nil)
	} else {
		err = db.QueryRow(ctx, extend, mode, s.key.Load(), s.name, int64(at), bytes, ids, parents, kinds, data).Scan(&key, nil)
	}
	return key, err
}

// Lines are read in pages of firstLines, later up to pageLines. A page has at most lineBytes for each of its lines, or
// is one larger line.
const (
	firstLines = 32
	pageLines  = 512
	lineBytes  = 2 << 10
)

// described is the mode for reading a page: a connection asks once for the types of the columns, without preparing a
// statement by name, and from then on receives binary data. In [mode] everything is sent as text, in which a byte takes
// two.
const described = pgx.QueryExecModeCacheDescribe

// page reads the first lines that a condition selects, in an order: "" for ascending, or DESC.
func (s *Store) page(ctx context.Context, where, order string, maxLines int, args ...any) ([]storage.Stored, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := s.sessions.Pool.Query(ctx, `
		SELECT at, id, parent, kind, data FROM (
			SELECT *, sum(octet_length(data)) OVER (ORDER BY at `+order+`) AS bytes, row_number() OVER (ORDER BY at `+order+`) AS i
			FROM promptree_lines WHERE session = $1 AND `+where+` ORDER BY at `+order+` LIMIT $2
		) AS page WHERE i = 1 OR bytes <= $3 ORDER BY at `+order, append([]any{described, s.key.Load(), maxLines, maxLines * lineBytes}, args...)...)
	if err != nil {
		return nil, s.failed(ctx, "reading", err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (storage.Stored, error) {
		var at int64
		var id, parent, kind, data []byte
		err := row.Scan(&at, &id, &parent, &kind, &data)
		return storage.Stored{
			Line: storage.Line{ID: string(id), Parent: string(parent), Kind: string(kind), Data: data},
			At:   storage.Position(at), End: storage.Position(at) + 1,
		}, err
	})
	return lines, s.failed(ctx, "reading", err)
}

// known looks up the session's key, if it has a row.
func (s *Store) known(ctx context.Context) error {
	if err := s.ready(ctx); err != nil || s.key.Load() != 0 {
		return err
	}
	_, err := s.End(ctx)
	return err
}

// Read returns lines in order. No connection is held while they are used.
func (s *Store) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		err := s.known(ctx)
		if err == nil && from < 0 {
			err = &storage.PositionError{At: from}
		}
		at := from
		maxLines := firstLines
		if from == 0 { // most callers only need the header
			maxLines = 1
		}
		for ; err == nil; maxLines = max(firstLines, min(2*maxLines, pageLines)) {
			var lines []storage.Stored
			if lines, err = s.page(ctx, "at >= $4", "", maxLines, int64(at)); err != nil {
				break
			}
			for _, l := range lines {
				if !yield(l, nil) {
					return
				}
				at = l.End
			}
			if len(lines) > 0 {
				continue
			}
			var end storage.Position // or ErrNoSession, if the session was removed meanwhile
			if end, err = s.End(ctx); err == nil && from > end {
				err = &storage.PositionError{At: from}
			} else if err == nil {
				return
			}
		}
		yield(storage.Stored{}, err)
	}
}

// Back returns the lines of a path, the newest first. Each page starts with a line of the path, because the lines in
// between belong to other branches.
func (s *Store) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		if err := s.known(ctx); err != nil {
			yield(storage.Stored{}, err)
			return
		}
		newest := id == ""
		for maxLines := firstLines; ; maxLines = min(2*maxLines, pageLines) {
			var lines []storage.Stored
			var err error
			if newest {
				lines, err = s.page(ctx, "at < $4 AND at > 0", "DESC", maxLines, int64(before))
			} else {
				// No lower bound: with one the planner expects almost no lines, and sorts them all.
				lines, err = s.page(ctx, `at <= (SELECT max(at) FROM promptree_lines WHERE session = $1 AND id = $5 AND at > 0 AND at < $4)`,
					"DESC", maxLines, int64(before), []byte(id))
			}
			if err == nil && len(lines) == 0 {
				if _, err = s.End(ctx); err == nil && newest {
					return
				} else if err == nil {
					err = &storage.NoEntryError{ID: id}
				}
			}
			if err != nil {
				yield(storage.Stored{}, err)
				return
			}
			id = cmp.Or(id, lines[0].ID)
			newest = false
			for _, l := range lines {
				if l.ID != id || l.At == 0 {
					continue
				}
				if !yield(l, nil) || l.Parent == "" {
					return
				}
				before, id = l.At, l.Parent
			}
		}
	}
}

// Pick returns the lines at positions, a page at a time.
func (s *Store) Pick(ctx context.Context, at ...storage.Position) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		err := s.known(ctx)
		for rest := at; err == nil && len(rest) > 0; {
			var lines []storage.Stored
			if lines, err = s.page(ctx, "at = ANY($4)", "", pageLines, rest); err != nil {
				break
			}
			if len(lines) == 0 {
				return
			}
			for _, l := range lines {
				if !yield(l, nil) {
					return
				}
			}
			rest = rest[sort.Search(len(rest), func(i int) bool { return rest[i] > lines[len(lines)-1].At }):]
		}
		if err != nil {
			yield(storage.Stored{}, err)
		}
	}
}

// Count returns the number of lines from a position to the end.
func (s *Store) Count(ctx context.Context, from storage.Position) (int, error) {
	end, err := s.End(ctx)
	if err == nil && (from < 0 || from > end) {
		err = &storage.PositionError{At: from}
	}
	return int(end - from), err
}

// Replace overwrites the data of lines in one transaction.
func (s *Store) Replace(ctx context.Context, lines ...storage.Stored) error {
	if err := s.known(ctx); err != nil {
		return err
	}
	at, data := make([]int64, len(lines)), make([][]byte, len(lines))
	for i, l := range lines {
		at[i], data[i] = int64(l.At), l.Data
	}
	err := pgx.BeginFunc(ctx, s.sessions.Pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE promptree_sessions SET bytes = bytes + (
				SELECT coalesce(sum(octet_length(new.data) - octet_length(l.data)), 0)
				FROM unnest($2::bigint[], $3::bytea[]) AS new (at, data) JOIN promptree_lines AS l ON l.session = $1 AND l.at = new.at AND l.at > 0
			) WHERE session = $1`, mode, s.key.Load(), at, data)
		if err == nil && tag.RowsAffected() == 0 && s.key.Load() != 0 {
			return ErrNoSession
		} else if err != nil {
			return err
		}
		var missing *int64
		err = tx.QueryRow(ctx, `
			WITH new AS (SELECT * FROM unnest($2::bigint[], $3::bytea[]) AS new (at, data)), replaced AS (
				UPDATE promptree_lines AS l SET data = new.data FROM new WHERE l.session = $1 AND l.at = new.at AND l.at > 0 RETURNING l.at
			) SELECT min(at) FROM new WHERE at NOT IN (SELECT at FROM replaced)`, mode, s.key.Load(), at, data).Scan(&missing)
		if err == nil && missing != nil {
			err = &storage.PositionError{At: storage.Position(*missing)}
		}
		return err
	})
	if _, wrong := errors.AsType[*storage.PositionError](err); wrong || errors.Is(err, ErrNoSession) {
		return err
	}
	return s.failed(ctx, "replacing lines of", err)
}

// Remove removes the session with all its lines, and closes the store.
func (s *Store) Remove(ctx context.Context) error {
	if err := s.known(ctx); err != nil {
		return err
	}
	if _, err := s.sessions.remove(ctx, "DELETE FROM promptree_sessions WHERE session = $1", s.key.Load()); err != nil {
		return err
	}
	return s.Close()
}
