package main

import (
	"context"
	"errors"
	"regexp"
	"time"
)

// store stores the sessions of all tenants: [files] or [database].
type store interface {
	// create creates an empty session. The error is errExists if the name is taken.
	create(ctx context.Context, id sessionID) error
	// use opens a session until release is called. The error is errUnknown if there is none.
	use(ctx context.Context, id sessionID) (c *conversation, release func(), err error)
	// bytes returns the size of a session.
	bytes(ctx context.Context, id sessionID) (int64, error)
	// list returns at most limit sessions of a tenant, by name, starting after a name.
	list(ctx context.Context, tenant, after string, limit int) ([]info, error)
	// remove removes a session.
	remove(ctx context.Context, id sessionID) error
	// ready returns an error if nothing can be stored at the moment.
	ready(ctx context.Context) error
	// opened returns the number of sessions open in this process.
	opened() int
	close() error
}

// sessionID names a session.
type sessionID struct{ tenant, name string }

// info is a session in a list.
type info struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Appended time.Time `json:"appended"`
	Bytes    int64     `json:"bytes"`
}

var (
	errExists  = errors.New("a session of that name exists")
	errUnknown = errors.New("there is no session of that name")
	errFull    = errors.New("too many sessions are open at once")
)

// nameRule matches the names of sessions, which must be valid names of files.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)
