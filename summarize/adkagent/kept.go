package adkagent

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/adk/v2/session"
)

// kept is a session that a service returned. It knows of what was appended to it since.
type kept struct {
	app, user, id string

	mu      sync.RWMutex
	events  events
	state   map[string]any
	updated time.Time
}

// append takes an event, and its changes of state.
func (k *kept) append(e *session.Event, delta map[string]any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
	k.updated = e.Timestamp
	if k.state == nil {
		k.state = map[string]any{}
	}
	maps.Copy(k.state, delta)
}

func (k *kept) ID() string           { return k.id }
func (k *kept) AppName() string      { return k.app }
func (k *kept) UserID() string       { return k.user }
func (k *kept) State() session.State { return state{k} }

func (k *kept) Events() session.Events {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Clip(k.events)
}

func (k *kept) LastUpdateTime() time.Time {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.updated
}

// events are those of a session.
type events []*session.Event

func (e events) All() iter.Seq[*session.Event] { return slices.Values(e) }
func (e events) Len() int                      { return len(e) }

// At returns an event, nil if there is none at that place.
func (e events) At(i int) *session.Event {
	if i < 0 || i >= len(e) {
		return nil
	}
	return e[i]
}

// state is that of a session. What is set is there until the session is taken from the service again: only events keep a state.
type state struct{ of *kept }

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
