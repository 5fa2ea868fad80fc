package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

const (
	maxBody   = 1 << 20          // bytes of a request's body
	heartbeat = 15 * time.Second // between comment lines of a stream
	patience  = 10 * time.Second // for one write to a client that reads slowly
)

// handler answers a request for a session. Its error becomes the answer.
type handler func(w http.ResponseWriter, r *http.Request, id sessionID) error

// authorized calls h for requests with a valid token, answers with its error, and writes a log line without content:
// neither names nor texts.
func (s *service) authorized(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun, request, outcome := time.Now(), rand.Text()[:12], "ok"
		w.Header().Set("X-Request-Id", request)
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		tenant, known := s.tenants[sha256.Sum256([]byte(token))]
		var err error = errToken
		if known {
			err = h(w, r, sessionID{tenant, r.PathValue("name")})
		}
		if err != nil {
			p := s.problem(request, err)
			outcome = p.Type
			if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "1")
			}
			_ = reply(w, p.status, map[string]any{"error": p})
		}
		s.log.Info("request", "request", request, "route", r.Pattern, "outcome", outcome, "seconds", time.Since(begun).Seconds())
	}
}

func reply(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a lost client is not an error
	return nil
}

// body reads the body of a request. An empty one is an empty object.
func body(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return bad("the body must be a JSON object of the fields that this address takes, and at most 1 MiB: " + err.Error())
	}
	return nil
}

// problem is an error as clients see it.
type problem struct {
	status  int
	Type    string `json:"type"`
	Message string `json:"message"`
}

func (p *problem) Error() string { return p.Message }

func bad(message string) error { return &problem{http.StatusBadRequest, "bad_request", message} }

var (
	errToken    = &problem{http.StatusUnauthorized, "unauthorized", "a valid token is needed: Authorization: Bearer TOKEN"}
	errUnknown  = &problem{http.StatusNotFound, "not_found", "there is no such session, message or address"}
	errAnswered = &problem{http.StatusConflict, "nothing_to_answer", "the last message already has an answer"}
	errOutdated = &problem{http.StatusConflict, "conflict", "somebody else has appended a message: read the session, and continue from there"}
	errCompact  = &problem{http.StatusConflict, "nothing_to_compact", "a summary would save nothing, or one is being made"}
	errLarge    = &problem{http.StatusRequestEntityTooLarge, "message_too_large", "the text takes more than half of the model's prompt"}
	errBusy     = &problem{http.StatusTooManyRequests, "busy", "another request uses the session, or there are too many: try again later"}
	errStopping = &problem{http.StatusServiceUnavailable, "stopping", "the server is stopping: ask another one, or this one later"}
	errGone     = &problem{http.StatusRequestTimeout, "gone", "the client is gone, or reads too slowly"}
	errLong     = &problem{http.StatusGatewayTimeout, "timeout", "the answer took too long"}
)

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// problem returns the error for a client. Details that the client can do nothing about go only to the log.
func (s *service) problem(request string, err error) *problem {
	p, ok := errors.AsType[*problem](err)
	switch {
	case ok:
		return p
	case is[*storage.ConflictError](err), is[*entry.BoundaryError](err):
		return errOutdated
	case is[*storage.NoEntryError](err), errors.Is(err, postgres.ErrNoSession):
		return errUnknown
	case errors.Is(err, context.Canceled):
		return errGone
	case errors.Is(err, summarize.ErrNothingToCompact), errors.Is(err, summarize.ErrNoRoom), errors.Is(err, summarize.ErrBusy):
		return errCompact
	case unavailable(err):
		p = &problem{http.StatusServiceUnavailable, "unavailable", "the sessions cannot be read or written at the moment: try again later"}
	case is[*render.BudgetExceededError](err):
		p = &problem{http.StatusUnprocessableEntity, "prompt_too_large", "the conversation does not fit: go back to an earlier message"}
	case is[*chat.TransientError](err), is[*summarize.FailedError](err):
		p = &problem{http.StatusBadGateway, "model_failed", "the model does not answer at the moment: try again later"}
	default:
		p = &problem{http.StatusInternalServerError, "internal", "internal error: the log line with this X-Request-Id has the details"}
	}
	s.log.Error("failed", "request", request, "type", p.Type, "err", err.Error())
	return p
}

// stream sends server-sent events to one client.
type stream struct {
	fail context.CancelCauseFunc // called when the client fails

	mu     sync.Mutex
	w      http.ResponseWriter
	client *http.ResponseController
	over   bool // the handler returns
}

// newStream begins a stream. The heartbeat, which tells proxies that the connection is alive, ends with the context.
func newStream(ctx context.Context, w http.ResponseWriter, fail context.CancelCauseFunc) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := &stream{w: w, client: http.NewResponseController(w), fail: fail}
	s.write(": \n\n")
	go func() {
		for {
			select {
			case <-time.After(heartbeat):
				s.write(": \n\n")
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// send sends an event. A client that does not take it cancels the answer.
func (s *stream) send(event string, data any) {
	line, _ := json.Marshal(data) // strings and numbers only
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event, line))
}

func (s *stream) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	err := s.client.SetWriteDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = io.WriteString(s.w, text)
	}
	if err == nil {
		err = s.client.Flush()
	}
	if err != nil {
		s.fail(errGone)
	}
}

// close ends the stream.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}
