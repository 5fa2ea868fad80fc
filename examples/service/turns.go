package main

import (
	"context"
	"errors"
	"sync"
)

// errQueue is returned if too many requests wait already.
var errQueue = errors.New("too many requests wait for this session, or for the tenant's sessions")

// turns lets one request at a time use a session, and a few wait for it.
type turns struct {
	perSession, perTenant int // limits of waiting requests

	mu       sync.Mutex
	sessions map[sessionID]*turn
	tenants  map[string]int // waiting requests
	waiting  int
}

type turn struct {
	free  chan struct{} // holds a value while nobody has the turn
	users int           // waiting requests, and the one that has the turn
}

func newTurns(perSession, perTenant int) *turns {
	return &turns{perSession: perSession, perTenant: perTenant, sessions: map[sessionID]*turn{}, tenants: map[string]int{}}
}

// take waits for the caller's turn. The caller calls end when it is done.
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

// join adds the caller to the requests of a session.
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

// wait waits for the turn. It returns false if the context ends first.
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

// queued returns the number of waiting requests.
func (ts *turns) queued() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.waiting
}
