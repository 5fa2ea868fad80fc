package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize/event"
)

// sessionOf returns the session that a request names.
func sessionOf(r *http.Request, tenant string) (sessionID, error) {
	id := sessionID{tenant, r.PathValue("name")}
	if !nameRule.MatchString(id.name) {
		return id, bad(nameHelp)
	}
	return id, nil
}

const nameHelp = "the name of a session is 1 to 100 letters, digits, dots, hyphens and underscores, and does not begin with a dot"

func (s *service) createSession(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	var in struct {
		Name string `json:"name"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if in.Name == "" {
		in.Name = newID()
	}
	if !nameRule.MatchString(in.Name) {
		return bad(nameHelp)
	}
	if err := s.store.create(ctx, sessionID{tenant, in.Name}); err != nil {
		return err
	}
	return reply(w, http.StatusCreated, map[string]string{"session": in.Name})
}

// newID returns a random id.
func newID() string { return strings.ToLower(rand.Text()) }

// Pages of a list.
const (
	defaultPage = 100
	maxPage     = 1000
	pageBytes   = 4 << 20 // of texts; a larger text fills a page alone
)

func limitOf(r *http.Request) (int, error) {
	given := r.URL.Query().Get("limit")
	if given == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > maxPage {
		return 0, bad("limit must be a number from 1 to %d", maxPage)
	}
	return n, nil
}

func (s *service) listSessions(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	after := r.URL.Query().Get("after")
	if after != "" && !nameRule.MatchString(after) {
		return bad("after: " + nameHelp)
	}
	list, err := s.store.list(ctx, tenant, after, limit+1)
	if err != nil {
		return err
	}
	out := struct {
		Sessions []info `json:"sessions"`
		Next     string `json:"next,omitempty"`
	}{Sessions: append([]info{}, list[:min(limit, len(list))]...)}
	if len(list) > limit {
		out.Next = list[limit-1].Name
	}
	return reply(w, http.StatusOK, out)
}

// message is an entry as clients see it.
type message struct {
	Entry  string    `json:"entry"`
	Parent string    `json:"parent"` // the message before it
	Role   chat.Role `json:"role"`
	Text   string    `json:"text"`
	Calls  []call    `json:"calls,omitempty"`
	Time   time.Time `json:"time"`
}

type call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (s *service) readSession(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	id, err := sessionOf(r, tenant)
	if err != nil {
		return err
	}
	limit, err := limitOf(r)
	if err != nil {
		return err
	}
	c, release, err := s.store.use(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	out := struct {
		Session     string    `json:"session"`
		Leaf        string    `json:"leaf"`
		Entries     []message `json:"entries"`
		Compactions int       `json:"compactions"`
		Next        string    `json:"next,omitempty"`
	}{Session: id.name, Entries: []message{}}
	after := r.URL.Query().Get("after")
	found, bytes := after == "", 0
	for e, err := range c.session.PathTo(ctx, "") {
		switch {
		case err != nil:
			return err
		case e.Type() == history.TypeCompaction:
			out.Compactions++
		case e.Type() == history.TypeMessage:
			switch {
			case found && len(out.Entries) < limit && bytes < pageBytes:
				m := messageOf(e, out.Leaf)
				out.Entries = append(out.Entries, m)
				bytes += len(m.Text)
			case found:
				out.Next = out.Entries[len(out.Entries)-1].Entry
			}
			out.Leaf = e.ID
			found = found || e.ID == after
		}
	}
	if !found {
		return &problem{status: http.StatusNotFound, Type: "unknown_entry", Message: "after is not a message on the path to the leaf"}
	}
	return reply(w, http.StatusOK, out)
}

func messageOf(e history.Entry, parent string) message {
	m := e.Message()
	out := message{Entry: e.ID, Parent: parent, Role: m.Role, Text: m.Text(), Time: e.Time}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, call{c.Name, c.Arguments})
	}
	return out
}

func (s *service) branch(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	var in struct {
		Entry *string `json:"entry"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if in.Entry == nil {
		return bad(`entry is missing: name the message to go back to, or "" for the beginning`)
	}
	_, c, release, err := s.takeTurn(ctx, r, tenant)
	if err != nil {
		return err
	}
	defer release()
	if *in.Entry != "" {
		e, err := c.session.Entry(ctx, *in.Entry)
		if _, unknown := errors.AsType[*storage.NoEntryError](err); unknown || err == nil && e.Type() != history.TypeMessage {
			return &problem{status: http.StatusNotFound, Type: "unknown_entry", Message: "entry is not a message of the session"}
		} else if err != nil {
			return err
		}
	}
	if err := c.session.Branch(ctx, *in.Entry); err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]string{"leaf": *in.Entry})
}

func (s *service) compact(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	var in struct {
		Instructions string `json:"instructions"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	_, c, release, err := s.takeStep(ctx, r, tenant)
	if err != nil {
		return err
	}
	defer release()
	var mu sync.Mutex
	var made *compaction
	stop := c.listening(func(e compaction) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == event.Done {
			made = &e
		}
	})
	_, err = c.compactor.Render(ctx, c.prompt) // the prompt that the summary must fit; this may place a summary that is ready
	if err == nil {
		_, err = c.compactor.Compact(ctx, in.Instructions)
	}
	stop()
	mu.Lock()
	defer mu.Unlock()
	if made == nil {
		return err
	}
	return reply(w, http.StatusOK, struct {
		Entry        string `json:"entry"`
		TokensBefore int    `json:"tokensBefore"`
		TokensAfter  int    `json:"tokensAfter"`
	}{made.entry, made.TokensBefore, made.TokensAfter})
}

func (s *service) removeSession(ctx context.Context, w http.ResponseWriter, r *http.Request, tenant string) error {
	id, err := sessionOf(r, tenant)
	if err != nil {
		return err
	}
	end, err := s.turns.take(ctx, id)
	if err != nil {
		return err
	}
	defer end()
	if err := s.store.remove(ctx, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
