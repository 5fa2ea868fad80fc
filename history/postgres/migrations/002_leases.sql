-- A lease on work for a session, such as running a plan.
CREATE TABLE promptree_leases (
	session bigint      NOT NULL REFERENCES promptree_sessions ON DELETE CASCADE,
	work    bytea       NOT NULL,
	holder  bytea       NOT NULL,
	until   timestamptz NOT NULL,
	PRIMARY KEY (session, work)
) WITH (fillfactor = 70);
