package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var files embed.FS

// migrationLock is the advisory lock that is held while the schema changes.
const migrationLock = 0x70726f6d70747265 // "promptre"

// Migrate updates the schema of a database, and creates it if it is missing. Several processes may call it at once, and
// while others use the database. The tables are created in the first schema of the connection's search path, with names
// that start with "promptree_". A schema that is up to date is read and not changed, for which SELECT on
// promptree_migrations suffices; sessions need SELECT, INSERT, UPDATE and DELETE on the other tables. The statements are
// those of PostgreSQL 12 and later; the tests run on 15.
func Migrate(ctx context.Context, db Pool) error {
	names, _ := fs.Glob(files, "migrations/*.sql") // the pattern is valid
	slices.Sort(names)
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", mode, int64(migrationLock)); err != nil {
			return err
		}
		var exists bool // checked first, because CREATE TABLE IF NOT EXISTS requires the right to create even if the table exists
		err := tx.QueryRow(ctx, "SELECT to_regclass(quote_ident(current_schema()) || '.promptree_migrations') IS NOT NULL", mode).Scan(&exists)
		if err == nil && !exists {
			_, err = tx.Exec(ctx, "CREATE TABLE promptree_migrations (version int PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())", mode)
		}
		if err != nil {
			return err
		}
		var version int
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM promptree_migrations", mode).Scan(&version); err != nil {
			return err
		}
		if version > len(names) {
			return fmt.Errorf("the schema has version %d, and this program knows %d: use a newer one", version, len(names))
		}
		for i, name := range names[version:] {
			sql, err := files.ReadFile(name)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(sql), pgx.QueryExecModeSimpleProtocol); err != nil { // several statements
				return fmt.Errorf("%s: %w", name, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO promptree_migrations (version) VALUES ($1)", mode, version+i+1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("postgres: migrating: %w", err)
	}
	return nil
}
