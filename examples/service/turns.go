package main

import (
	"context"
	"errors"
	"sync"
)

// errQueue is the error of a request for which there is no place to wait.
var errQueue = errors.New("too many requests wait for this session, or for the tenant's sessions")

// turns lets one request at a time work on a session, and a few wait for it.
type turns struct {
	perSession, perTenant int // that wait

	mu       sync.Mutex
	sessions map[sessionID]*turn
	tenants  map[string]int // that wait
	waiting  int
}

type turn struct {
	free  chan struct{} // holds a value while it is free
	users int           // that wait, and the one whose turn it is
}

func newTurns(perSession, perTenant int) *turns {
	return &turns{perSession: perSession, perTenant: perTenant, sessions: map[sessionID]*turn{}, tenants: map[string]int{}}
}

// take waits until it is the caller's turn, and returns what ends it.
func (ts *turns) take(ctx context.Context, id sessionID) (end func(), err error) {
	t, err := ts.join(id)
	if err != nil {
		return nil, err
	}
	leave := func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(ts.sessions, id)
		}
	}
	if !ts.wait(ctx, t, id.tenant) {
		leave()
		return nil, context.Cause(ctx)
	}
	return func() {
		t.free <- struct{}{}
		leave()
	}, nil
}

// join counts the caller in.
func (ts *turns) join(id sessionID) (*turn, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.sessions[id]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		ts.sessions[id] = t
	}
	if t.users > 0 && (t.users > ts.perSession || ts.tenants[id.tenant] >= ts.perTenant) {
		return nil, errQueue
	}
	t.users++
	return t, nil
}

// wait reports whether it is the caller's turn.
func (ts *turns) wait(ctx context.Context, t *turn, tenant string) bool {
	select {
	case <-t.free:
		return true
	default:
	}
	ts.count(tenant, 1)
	defer ts.count(tenant, -1)
	select {
	case <-t.free:
		return true
	case <-ctx.Done():
		return false
	}
}

func (ts *turns) count(tenant string, by int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.waiting += by
	if ts.tenants[tenant] += by; ts.tenants[tenant] == 0 {
		delete(ts.tenants, tenant)
	}
}

// queued returns how many wait.
func (ts *turns) queued() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.waiting
}
