package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"
)

// handler answers a request of a tenant. Its error becomes the answer if nothing was written yet.
type handler func(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error

var errPanic = errors.New("it panicked")

// handler returns the handler of all requests.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"POST /v1/sessions":                 s.createSession,
		"GET /v1/sessions":                  s.listSessions,
		"GET /v1/sessions/{name}":           s.readSession,
		"DELETE /v1/sessions/{name}":        s.removeSession,
		"POST /v1/sessions/{name}/messages": s.say,
		"POST /v1/sessions/{name}/answer":   s.answer,
		"POST /v1/sessions/{name}/branch":   s.branch,
		"POST /v1/sessions/{name}/compact":  s.compact,
	} {
		mux.HandleFunc(pattern, s.tenants(h))
	}
	mux.HandleFunc("GET /metrics", s.authorized(func(w http.ResponseWriter, r *http.Request, _ string) error {
		s.metrics.ServeHTTP(w, r)
		return nil
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("/", s.authorized(func(http.ResponseWriter, *http.Request, string) error {
		return &problem{status: http.StatusNotFound, Type: "not_found", Message: "no such address"}
	}))
	return s.logged(mux)
}

// authorized calls h for requests with a valid token.
func (s *service) authorized(h func(w http.ResponseWriter, r *http.Request, tenant string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant, ok := s.tokens.tenant(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.refuse(w, r, &problem{status: http.StatusUnauthorized, Type: "unauthorized", Message: "a valid token is needed: Authorization: Bearer TOKEN"})
			return
		}
		if err := h(w, r, tenant); err != nil {
			s.refuse(w, r, err)
		}
	}
}

// tenants calls h for requests with a valid token, unless the service stops.
func (s *service) tenants(h handler) http.HandlerFunc {
	return s.authorized(func(w http.ResponseWriter, r *http.Request, tenant string) error {
		ctx, leave, err := s.enter(r)
		if err != nil {
			return err
		}
		defer leave()
		r.Body = http.MaxBytesReader(w, r.Body, s.maxBody)
		return h(ctx, w, r, tenant)
	})
}

func (s *service) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	err := errStopping
	if !s.isStopping() {
		err = s.store.ready(ctx)
	}
	if err != nil {
		s.refuse(w, r, &problem{status: http.StatusServiceUnavailable, Type: "not_ready", Message: "not ready", err: err})
		return
	}
	fmt.Fprintln(w, "ok")
}

// logged writes a log line for each request, without content: neither names nor texts. A panic becomes status 500.
func (s *service) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		out := &answered{ResponseWriter: w}
		id := rand.Text()[:12]
		out.Header().Set("X-Request-Id", id)
		if err := s.caught(func() error { next.ServeHTTP(out, r); return nil }); err != nil && out.status == 0 {
			s.refuse(out, r, err)
		}
		route := r.Pattern
		if route == "" || route == "/" {
			route = "other"
		}
		s.metrics.request(route, out.status)
		s.log.Info("request", "request", id, "route", route, "status", out.status, "seconds", time.Since(begun).Seconds())
	})
}

// caught returns the error of f, or errPanic if it panics. The panic's value is not logged, because it may hold
// anything.
func (s *service) caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return f()
}

// answered records the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap returns the writer for [http.ResponseController].
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// reply writes an answer.
func reply(w http.ResponseWriter, status int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a lost client is not an error
	return nil
}

// read reads the body of a request. An empty one is an empty object.
func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("there is more after the object")
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	return bad("the body must be a JSON object of the fields that this address takes: %v", err)
}
