package main

import (
	"context"
	"errors"
	"regexp"
	"time"
)

// store keeps the sessions of all tenants: [files] or [database].
type store interface {
	// create makes an empty session. The error is errExists if there is one of that name.
	create(ctx context.Context, id sessionID) error
	// use opens a session until release is called. The error is errUnknown if there is none.
	use(ctx context.Context, id sessionID) (c *conversation, release func(), err error)
	// bytes returns how large a session is.
	bytes(ctx context.Context, id sessionID) (int64, error)
	// list returns the sessions of a tenant that follow a name, in the order of their names, at most so many.
	list(ctx context.Context, tenant, after string, limit int) ([]info, error)
	// remove removes a session.
	remove(ctx context.Context, id sessionID) error
	// ready returns why nothing can be kept at the moment.
	ready(ctx context.Context) error
	// opened returns how many sessions are open in this process.
	opened() int
	close() error
}

// sessionID names a session.
type sessionID struct{ tenant, name string }

// info is what a list says of a session.
type info struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Appended time.Time `json:"appended"`
	Bytes    int64     `json:"bytes"`
}

var (
	errExists  = errors.New("there is a session of that name already")
	errUnknown = errors.New("there is no session of that name")
	errFull    = errors.New("too many sessions are open at once")
)

// nameRule is what the names of sessions are made of, so that they may be the names of files.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)
