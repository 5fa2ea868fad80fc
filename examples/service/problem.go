package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/postgres"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
)

// problem is an error as clients see it.
type problem struct {
	status  int
	Type    string `json:"type"`
	Message string `json:"message"`
	err     error  // for the log, nil if the client's request is wrong
}

func (p *problem) Error() string { return p.Message }
func (p *problem) Unwrap() error { return p.err }

func bad(format string, args ...any) error {
	return &problem{status: http.StatusBadRequest, Type: "bad_request", Message: fmt.Sprintf(format, args...)}
}

// statusGone is the status in logs and metrics for a request whose client disconnected before the answer, as in nginx.
const statusGone = 499

// problemOf returns the error for a client. Details that the client can do nothing about go only to the log.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	told := func(status int, kind string, message string) *problem {
		return &problem{status: status, Type: kind, Message: message}
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return told(http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("the body has more than %d bytes", large.Limit))
	}
	if _, ok := errors.AsType[*storage.ConflictError](err); ok {
		return told(http.StatusConflict, "conflict", "somebody else has appended a message: read the session, and continue from there")
	}
	if _, ok := errors.AsType[*storage.LockedError](err); ok {
		return &problem{http.StatusConflict, "locked", "another process has the session open", err}
	}
	if _, ok := errors.AsType[*storage.LineTooLongError](err); ok {
		return told(http.StatusRequestEntityTooLarge, "message_too_large", "the message is too large to be stored")
	}
	if _, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		return &problem{http.StatusUnprocessableEntity, "prompt_too_large", "the conversation does not fit the model's window: go back to an earlier entry", err}
	}
	if _, ok := errors.AsType[*entry.BoundaryError](err); ok {
		return told(http.StatusConflict, "conflict", "the session has changed elsewhere: read the session")
	}
	switch {
	case unavailable(err):
		return &problem{http.StatusServiceUnavailable, "unavailable", "the sessions cannot be read or written at the moment: try again later", err}
	case errors.Is(err, errUnknown), errors.Is(err, storage.ErrClosed), errors.Is(err, storage.ErrMoved), errors.Is(err, postgres.ErrNoSession):
		return told(http.StatusNotFound, "not_found", errUnknown.Error())
	case errors.Is(err, errExists):
		return told(http.StatusConflict, "exists", errExists.Error())
	case errors.Is(err, errQueue):
		return told(http.StatusTooManyRequests, "queue_full", errQueue.Error())
	case errors.Is(err, errSteps), errors.Is(err, errFull):
		return told(http.StatusServiceUnavailable, "busy", "the server is busy: try again later")
	case errors.Is(err, errStopping):
		return told(http.StatusServiceUnavailable, "stopping", errStopping.Error())
	case errors.Is(err, errSlow):
		return told(statusGone, "too_slow", errSlow.Error())
	case errors.Is(err, errGone), errors.Is(err, context.Canceled):
		return told(statusGone, "gone", errGone.Error())
	case errors.Is(err, errLong):
		return told(http.StatusGatewayTimeout, "timeout", errLong.Error())
	case errors.Is(err, summarize.ErrNothingToCompact), errors.Is(err, summarize.ErrNoRoom):
		return told(http.StatusConflict, "nothing_to_compact", "there is nothing to summarise, or a summary would save nothing")
	case errors.Is(err, summarize.ErrBusy):
		return told(http.StatusConflict, "compacting", "a compaction is in progress: try again later")
	}
	if _, ok := errors.AsType[*chat.TransientError](err); ok {
		return &problem{http.StatusBadGateway, "model_failed", "the model does not answer at the moment: try again later", err}
	}
	if _, ok := errors.AsType[*summarize.FailedError](err); ok {
		return &problem{http.StatusBadGateway, "compaction_failed", "no summary could be made: the log line with this X-Request-Id says why", err}
	}
	return &problem{http.StatusInternalServerError, "internal", "internal error: the log line with this X-Request-Id has the details", err}
}

// unavailable reports whether a database cannot be reached, stops or is full, or a disk is full.
func unavailable(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		class := refused.Code[:min(2, len(refused.Code))]
		return class == "08" || class == "53" || class == "57" || refused.Code == "25006" // read only
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[*net.OpError](err)
	return connecting || network || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ENOSPC) || err != nil && pgconn.SafeToRetry(err)
}

// refuse answers with an error, and logs it if the client did not cause it.
func (s *service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	s.logProblem(w.Header().Get("X-Request-Id"), p)
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if p.status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // rather than read the rest of the body
	}
	_ = reply(w, p.status, map[string]any{"error": p})
}

func (s *service) logProblem(request string, p *problem) {
	if p.err != nil {
		s.log.Error("failed", "request", request, "type", p.Type, "err", p.err.Error())
	}
}
