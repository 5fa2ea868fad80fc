package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

const (
	maxSteps      = 64 // messages that are answered at once
	maxAnswerTime = 10 * time.Minute
	page          = 100 // sessions or messages in a reply
)

// service answers requests.
type service struct {
	*database
	log     *slog.Logger
	tenants map[[sha256.Size]byte]string // by the hash of their tokens

	mu   sync.Mutex
	busy map[sessionID]bool // sessions that a request changes
}

// sessionID names a session.
type sessionID struct{ tenant, name string }

// nameRule matches the names of sessions.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /v1/sessions":                  s.list,
		"GET /v1/sessions/{name}":           s.read,
		"DELETE /v1/sessions/{name}":        s.taken(remove),
		"POST /v1/sessions/{name}/messages": s.say,
		"POST /v1/sessions/{name}/branch":   s.taken(branch),
		"POST /v1/sessions/{name}/compact":  s.taken(compact),
		"/":                                 func(http.ResponseWriter, *http.Request, sessionID) error { return errUnknown },
	} {
		mux.HandleFunc(pattern, s.authorized(h))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.pool.Ping(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return mux
}

// take opens a session to change it, which one request of a process at a time may do.
func (s *service) take(ctx context.Context, id sessionID, create bool) (*conversation, func(), error) {
	s.mu.Lock()
	taken := s.busy[id] || len(s.busy) == maxSteps
	if !taken {
		s.busy[id] = true
	}
	s.mu.Unlock()
	if taken {
		return nil, nil, errBusy
	}
	free := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, id)
	}
	c, err := s.open(ctx, id, create)
	if err != nil {
		free()
		return nil, nil, err
	}
	return c, func() {
		_ = c.close() // nothing is left to write
		free()
	}, nil
}

// taken returns a handler that takes a session for a change.
func (s *service) taken(change func(http.ResponseWriter, *http.Request, *conversation) error) handler {
	return func(w http.ResponseWriter, r *http.Request, id sessionID) error {
		c, release, err := s.take(r.Context(), id, false)
		if err != nil {
			return err
		}
		defer release()
		return change(w, r, c)
	}
}

// say appends a message to a session, which is made if it is missing, and streams the answer. Without a text it answers
// the last message, for example after a crash between a message and its answer. An error before the stream becomes the
// status of the response.
func (s *service) say(w http.ResponseWriter, r *http.Request, id sessionID) error {
	var in struct {
		Text  string
		After *string
	}
	if err := body(r, &in); err != nil {
		return err
	}
	said := chat.UserMessage(in.Text)
	switch target := s.assistant.target; {
	case !nameRule.MatchString(id.name):
		return bad("the name of a session is 1 to 100 letters, digits, dots, hyphens and underscores")
	case target.Tokenizer.CountMessage(said) > target.Budget/2:
		return errLarge
	}
	limited, stop := context.WithTimeoutCause(r.Context(), maxAnswerTime, errLong)
	defer stop()
	ctx, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	c, release, err := s.take(ctx, id, in.Text != "")
	if err != nil {
		return err
	}
	defer release()
	newest, _, err := c.session.Latest(ctx, entry.TypeMessage)
	switch m := newest.Message(); {
	case err != nil:
		return err
	case in.After != nil && !known(newest, *in.After):
		return errOutdated
	case in.Text == "" && (newest.ID == "" || m.Role == chat.RoleAssistant && len(m.ToolCalls) == 0):
		return errAnswered
	case in.Text != "":
		added, err := c.session.Add(ctx, entry.Entry{Body: entry.Message{Message: said}})
		if err != nil {
			return err
		}
		newest = added[0]
	}
	c.out = newStream(ctx, w, cancel)
	defer c.out.close()
	if in.Text != "" {
		c.out.send("said", map[string]string{"entry": newest.ID})
	}
	if err := c.answer(ctx, s.assistant.answer); err != nil {
		c.out.send("error", s.problem(w.Header().Get("X-Request-Id"), err))
	}
	return nil
}

// known reports whether a client knows a message by an id: its own, or that of the message that it is a copy of.
func known(e entry.Entry, id string) bool { return id == e.ID || id == cmp.Or(e.Of, e.ID) }

func (s *service) list(w http.ResponseWriter, r *http.Request, id sessionID) error {
	names := []string{}
	for is, err := range s.sessions(id.tenant).List(r.Context(), r.URL.Query().Get("after")) {
		if err != nil {
			return err
		}
		if names = append(names, is.Name); len(names) == page {
			break
		}
	}
	return reply(w, http.StatusOK, map[string]any{"sessions": names})
}

func (s *service) read(w http.ResponseWriter, r *http.Request, id sessionID) error {
	c, err := s.open(r.Context(), id, false)
	if err != nil {
		return err
	}
	defer c.close()
	after, compactions, list := r.URL.Query().Get("after"), 0, []map[string]any{}
	found := after == ""
	for e, err := range c.session.PathTo(r.Context(), "") {
		switch {
		case err != nil:
			return err
		case e.Type() == entry.TypeCompaction:
			compactions++
		case e.Type() == entry.TypeMessage:
			if m := e.Message(); found && len(list) < page {
				list = append(list, map[string]any{"entry": e.ID, "of": e.Of, "role": m.Role, "text": m.Text(), "calls": m.ToolCalls})
			}
			found = found || known(e, after)
		}
	}
	if !found {
		return errUnknown
	}
	return reply(w, http.StatusOK, map[string]any{"entries": list, "compactions": compactions})
}

func remove(w http.ResponseWriter, r *http.Request, c *conversation) error {
	return c.session.Remove(r.Context())
}

func branch(w http.ResponseWriter, r *http.Request, c *conversation) error {
	var in struct{ Entry string }
	if err := body(r, &in); err != nil {
		return err
	}
	if err := c.session.Branch(r.Context(), in.Entry); err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]string{"leaf": in.Entry})
}

func compact(w http.ResponseWriter, r *http.Request, c *conversation) error {
	var in struct{ Instructions string }
	if err := body(r, &in); err != nil {
		return err
	}
	before, err := c.compactor.Render(r.Context(), c.prompt) // the prompt that the summary must fit
	if err != nil {
		return err
	}
	made, err := c.compactor.Compact(r.Context(), in.Instructions)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]int{"tokensBefore": before.Tokens, "tokensAfter": made.Result.Tokens})
}
