CREATE TABLE promptree_sessions (
	session  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant   text        NOT NULL,
	name     text        NOT NULL,
	lines    bigint      NOT NULL,
	bytes    bigint      NOT NULL,
	created  timestamptz NOT NULL DEFAULT now(),
	appended timestamptz NOT NULL DEFAULT now(),
	UNIQUE (tenant, name)
) WITH (fillfactor = 70);

CREATE INDEX promptree_sessions_appended ON promptree_sessions (tenant, appended);

-- A line of a session. Ids are bytes, because text cannot hold every id.
CREATE TABLE promptree_lines (
	session bigint NOT NULL REFERENCES promptree_sessions ON DELETE CASCADE,
	at      bigint NOT NULL,
	id      bytea  NOT NULL,
	parent  bytea  NOT NULL,
	kind    bytea  NOT NULL,
	data    bytea  NOT NULL,
	PRIMARY KEY (session, at)
);

CREATE INDEX promptree_lines_id ON promptree_lines (session, id, at);
