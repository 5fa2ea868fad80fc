package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// Limits of a stream.
const (
	heartbeat  = 15 * time.Second // between comment lines while nothing happens
	patience   = 10 * time.Second // for one write to a client that reads slowly
	maxPending = 1 << 20          // bytes that may wait for the client
)

// Causes of the end of a step whose client fails.
var (
	errSlow = errors.New("the client reads too slowly")
	errGone = errors.New("the client is gone")
)

// stream sends server-sent events to one client. send and last never wait for the client.
type stream struct {
	fail func(error) // called when sending to the client fails

	mu      sync.Mutex
	pending bytes.Buffer // events that wait to be written
	over    bool         // no more events are sent
	wake    chan struct{}
}

func newStream(fail func(error)) *stream {
	return &stream{fail: fail, wake: make(chan struct{}, 1)}
}

// send adds an event.
func (s *stream) send(event string, data any) { s.add(event, data, false) }

// last adds the last event.
func (s *stream) last(event string, data any) { s.add(event, data, true) }

func (s *stream) add(event string, data any, last bool) {
	line, err := json.Marshal(data)
	if err != nil {
		s.end(err)
		return
	}
	s.mu.Lock()
	if !s.over {
		fmt.Fprintf(&s.pending, "event: %s\ndata: %s\n\n", event, line)
		s.over = last
	}
	slow := s.pending.Len() > maxPending
	s.mu.Unlock()
	if slow {
		s.end(errSlow)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// end breaks off the stream.
func (s *stream) end(err error) {
	s.mu.Lock()
	s.over = true
	s.pending = bytes.Buffer{}
	s.mu.Unlock()
	s.fail(err)
}

// take returns the waiting events.
func (s *stream) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := bytes.Clone(s.pending.Bytes())
	s.pending.Reset()
	return next
}

// serve writes events as they come. It returns after done is closed and all events are written; events for a client
// that is gone are dropped.
func (s *stream) serve(w http.ResponseWriter, done <-chan struct{}) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx
	client := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	write := func(data []byte) {
		if len(data) == 0 {
			return
		}
		beat.Reset(heartbeat)
		err := client.SetWriteDeadline(time.Now().Add(patience))
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = client.Flush()
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.end(errSlow)
		case err != nil:
			s.end(errGone)
		}
	}
	w.WriteHeader(http.StatusOK)
	if err := client.Flush(); err != nil {
		s.end(errGone)
	}
	for {
		select {
		case <-s.wake:
			write(s.take())
		case <-beat.C:
			write([]byte(": \n\n"))
		case <-done:
			write(s.take())
			return
		}
	}
}
