package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// errStopping is returned for requests to a process that stops, and is the cause of the steps that it cancels.
var errStopping = errors.New("the server is stopping: ask another one, or this one later")

// errSteps is returned if too many steps run already.
var errSteps = errors.New("too many steps at once")

// service answers requests.
type service struct {
	options
	store     store
	assistant *assistant
	metrics   *metrics
	log       *slog.Logger
	turns     *turns
	slots     chan struct{} // holds a value for each running step

	mu       sync.Mutex
	working  int           // requests in progress
	idle     chan struct{} // nil until the service stops; closed once no request is in progress
	stopping context.Context
	cutOff   context.CancelCauseFunc
}

func newService(o options, kept store, a *assistant, m *metrics, log *slog.Logger) *service {
	s := &service{options: o, store: kept, assistant: a, metrics: m, log: log, turns: newTurns(o.queue, o.steps), slots: make(chan struct{}, o.steps)}
	s.stopping, s.cutOff = context.WithCancelCause(context.Background())
	m.gauge("sessions_open", "Sessions open in this process.", kept.opened)
	m.gauge("steps_running", "Steps in progress.", func() int { return len(s.slots) })
	m.gauge("requests_waiting", "Requests waiting for a session.", s.turns.queued)
	return s
}

// enter counts a request as in progress, unless the service stops. The context ends with the request's, or when the
// service cancels requests that have not finished in time.
func (s *service) enter(r *http.Request) (ctx context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		return nil, nil, errStopping
	}
	s.working++
	ctx, cancel := context.WithCancelCause(r.Context())
	forget := context.AfterFunc(s.stopping, func() { cancel(errStopping) })
	return ctx, func() {
		forget()
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.working--; s.working == 0 && s.idle != nil {
			close(s.idle)
		}
	}, nil
}

// stop refuses further requests and waits for those in progress. After some time it cancels them.
func (s *service) stop(after time.Duration) {
	s.mu.Lock()
	s.idle = make(chan struct{})
	if s.working == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	select {
	case <-s.idle:
	case <-time.After(after):
		s.cutOff(errStopping)
	}
}

// isStopping reports whether further requests are refused.
func (s *service) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idle != nil
}
