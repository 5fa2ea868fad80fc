// Package postgres keeps sessions in PostgreSQL, so that any replica of a service serves any of them.
//
//	pool, err := pgxpool.New(ctx, url)
//	err = postgres.Migrate(ctx, pool)
//	sessions := &postgres.Sessions{Pool: pool, Tenant: "acme"}
//	session, err := sessions.Open(ctx, "42", history.Options{})
//
// A session is opened where it is needed and closed when the request is done; what it needs of the database is a row in
// promptree_sessions and one in promptree_lines for each of its lines. Opening reads from the leaf back to what the newest
// compaction keeps. An append is one statement and one round trip, whatever the length of the session. Two replicas may have one
// session open at once: an append at a position that is taken is a [*history.ConflictError] and writes nothing, so nothing that was
// said is lost or stands twice.
//
// What was appended is as durable as the database's synchronous_commit says.
//
// # Poolers
//
// No statement is prepared by name, nothing is set for a connection, and no lock outlives its transaction, so PgBouncer may pool
// transactions. It takes no search_path from a URL: set it for the role, by ALTER ROLE … SET.
//
// # Tenants
//
// A [Sessions] sees the sessions of one tenant and no others. Names are unique within a tenant. [Sessions.List] lists them by name,
// [Sessions.Expire] removes those that nobody appended to for long, and [Sessions.Clear] all.
package postgres
