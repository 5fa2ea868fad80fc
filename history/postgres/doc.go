// Package postgres keeps sessions in PostgreSQL, so that any replica of a service serves any of them.
//
//	pool, err := pgxpool.New(ctx, url)
//	err = postgres.Migrate(ctx, pool)
//	sessions := &postgres.Sessions{Pool: pool, Tenant: "acme"}
//	session, err := sessions.Open(ctx, "42", history.Options{})
//
// Open a session for a request and close it afterwards. In the database, it is one row in promptree_sessions and one
// row in promptree_lines for each of its lines. Opening reads from the leaf back to what the newest compaction keeps.
// An append is one statement and one round trip, whatever the length of the session. Two replicas may have the same
// session open: an append at a position that is taken is a [*storage.ConflictError] and writes nothing, so nothing is
// lost or duplicated.
//
// # Leases
//
// A process that makes a summary holds a lease on its plan, a row in promptree_leases that it renews every 3 seconds
// ([history.Session.Claim]). When the process dies, the lease expires within 9 seconds by the database's clock, and
// another process that needs the summary makes it. A renewal is one statement; a look at another process's lease is one
// too, made only while its plan is pending.
//
// # Durability
//
// Appended lines are as durable as the database's synchronous_commit says.
//
// # Erasure
//
// [history.Session.Erase] and Remove update and delete rows. Below them the old rows stay on disk: as dead tuples in the
// tables and in their TOAST tables until VACUUM (FULL) promptree_lines, promptree_sessions has rewritten them; in the
// write-ahead log until its segments are recycled, which takes a CHECKPOINT and, where they are archived, removing the
// archive; on standbys until they have replayed that; and in backups. Free blocks of the file system are outside of
// PostgreSQL: fstrim discards them.
//
// # Poolers
//
// No statement is prepared by name, nothing is set for a connection, and no lock outlives its transaction, so PgBouncer
// may pool transactions. PgBouncer does not take a search_path from a URL: set it for the role, by ALTER ROLE … SET.
//
// # Tenants
//
// A [Sessions] sees the sessions of one tenant and no others. Names are unique within a tenant. [Sessions.List] lists
// them by name, [Sessions.Expire] removes those that have not been appended to for a time, and [Sessions.Clear] all.
package postgres
