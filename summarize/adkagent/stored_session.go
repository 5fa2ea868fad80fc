package adkagent

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/adk/v2/session"
)

// storedSession is a session that a service returned, with the events appended through it since.
type storedSession struct {
	app, user, id string

	mu      sync.RWMutex
	events  events
	state   map[string]any
	updated time.Time
}

// append adds an event and applies its changes of state.
func (k *storedSession) append(e *session.Event, delta map[string]any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
	k.updated = e.Timestamp
	if k.state == nil {
		k.state = map[string]any{}
	}
	maps.Copy(k.state, delta)
}

func (k *storedSession) ID() string           { return k.id }
func (k *storedSession) AppName() string      { return k.app }
func (k *storedSession) UserID() string       { return k.user }
func (k *storedSession) State() session.State { return state{k} }

func (k *storedSession) Events() session.Events {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Clip(k.events)
}

func (k *storedSession) LastUpdateTime() time.Time {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.updated
}

// events implements [session.Events].
type events []*session.Event

func (e events) All() iter.Seq[*session.Event] { return slices.Values(e) }
func (e events) Len() int                      { return len(e) }

// At returns the event at index i, or nil if i is out of range.
func (e events) At(i int) *session.Event {
	if i < 0 || i >= len(e) {
		return nil
	}
	return e[i]
}

// state implements [session.State]. A value that Set stores is lost when the session is taken from the service again:
// only events change the stored state.
type state struct{ of *storedSession }

func (s state) Get(name string) (any, error) {
	s.of.mu.RLock()
	defer s.of.mu.RUnlock()
	v, ok := s.of.state[name]
	if !ok {
		return nil, session.ErrStateKeyNotExist
	}
	return v, nil
}

func (s state) Set(name string, v any) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.state[name] = v
	return nil
}

func (s state) All() iter.Seq2[string, any] {
	s.of.mu.RLock()
	defer s.of.mu.RUnlock()
	return maps.All(maps.Clone(s.of.state))
}
