package adkagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// Service keeps sessions of adk, with their events and state, in logs of package history. Each session has a log, and
// each application has one that holds its state, the state of its users and the list of sessions. An acknowledged write
// is as durable as the log is. A Service is safe for concurrent use. Close it after use.
type Service struct {
	open func(ctx context.Context, name string) (*history.Session, error)

	mu   sync.Mutex
	apps map[string]*app
	logs map[string]*history.Session // the open logs of sessions, by name
}

var _ session.Service = (*Service)(nil)

// NewService returns a service whose logs are opened by a function, such as the one that [Files] returns. The name of a
// log is the application's, or those of application, user and session joined by "/"; each is escaped by
// [url.PathEscape]. The service closes the logs.
func NewService(open func(ctx context.Context, name string) (*history.Session, error)) *Service {
	return &Service{open: open, apps: map[string]*app{}, logs: map[string]*history.Session{}}
}

// Files returns a function that opens logs as files in a folder, and creates the folder if it does not exist.
func Files(folder string) func(ctx context.Context, name string) (*history.Session, error) {
	return func(_ context.Context, name string) (*history.Session, error) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		return history.Open(filepath.Join(folder, url.PathEscape(name)+".jsonl"), history.Options{})
	}
}

// Names of the custom entries in logs, and the type of their data.
const (
	createdName = "adk session" // created
	eventName   = "adk event"   // event
	indexName   = "adk index"   // change
)

// created is the first entry of a session.
type created struct {
	State map[string]any `json:"state,omitempty"`
	Time  time.Time      `json:"time"`
}

// change is an entry of an application's log: state that was set, or a session that was created or deleted.
type change struct {
	User    string         `json:"user,omitempty"`
	Session string         `json:"session,omitempty"`
	Deleted bool           `json:"deleted,omitempty"`
	App     map[string]any `json:"appState,omitempty"`
	Own     map[string]any `json:"userState,omitempty"`
}

// app is an application, as read from its log.
type app struct {
	mu       sync.Mutex
	log      *history.Session
	read     string // the last entry that was read
	state    map[string]any
	users    map[string]map[string]any // state of users
	sessions map[key]bool
}

// key identifies a session within an application.
type key struct{ user, id string }

// Create creates a session. The application and the user are required.
func (s *Service) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	if req.AppName == "" || req.UserID == "" {
		return nil, fmt.Errorf("adkagent: an application and a user are required: got %q and %q", req.AppName, req.UserID)
	}
	id := req.SessionID
	if id == "" {
		id = platform.NewUUID(ctx)
	}
	a, err := s.app(ctx, req.AppName)
	if err != nil {
		return nil, err
	}
	defer a.mu.Unlock()
	if a.sessions[key{req.UserID, id}] {
		return nil, fmt.Errorf("adkagent: session %q exists already: choose another id", id)
	}
	appState, userState, own := split(req.State)
	log, err := s.log(ctx, req.AppName, req.UserID, id)
	if err != nil {
		return nil, err
	}
	begun := created{State: own, Time: platform.Now(ctx)}
	if err := add(ctx, log, createdName, begun); err != nil {
		return nil, err
	}
	if err := a.change(ctx, change{User: req.UserID, Session: id, App: appState, Own: userState}); err != nil {
		return nil, err
	}
	made := &storedSession{app: req.AppName, user: req.UserID, id: id, state: a.merged(req.UserID, own), updated: begun.Time}
	return &session.CreateResponse{Session: made}, nil
}

// Get returns a session.
func (s *Service) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	if req.AppName == "" || req.UserID == "" || req.SessionID == "" {
		return nil, fmt.Errorf("adkagent: an application, a user and a session are required: got %q, %q and %q", req.AppName, req.UserID, req.SessionID)
	}
	a, err := s.app(ctx, req.AppName)
	if err != nil {
		return nil, err
	}
	k := key{req.UserID, req.SessionID}
	has := a.sessions[k]
	a.mu.Unlock()
	if !has {
		return nil, notFound(req.SessionID)
	}
	got, err := s.load(ctx, a, req.AppName, k)
	if err != nil {
		return nil, err
	}
	if n := req.NumRecentEvents; n > 0 {
		got.events = got.events[max(0, len(got.events)-n):]
	}
	if !req.After.IsZero() {
		got.events = slices.DeleteFunc(got.events, func(e *session.Event) bool { return e.Timestamp.Before(req.After) })
	}
	return &session.GetResponse{Session: got}, nil
}

func notFound(id string) error { return fmt.Errorf("adkagent: session %q not found", id) }

// List returns the sessions of a user, or of all users if none is given, without their events. It reads the log of
// each.
func (s *Service) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	if req.AppName == "" {
		return nil, errors.New("adkagent: an application is required")
	}
	a, err := s.app(ctx, req.AppName)
	if err != nil {
		return nil, err
	}
	keys := slices.SortedFunc(maps.Keys(a.sessions), func(x, y key) int {
		return slices.Compare([]string{x.user, x.id}, []string{y.user, y.id})
	})
	a.mu.Unlock()
	list := []session.Session{}
	for _, k := range keys {
		if req.UserID != "" && req.UserID != k.user {
			continue
		}
		got, err := s.load(ctx, a, req.AppName, k)
		if err != nil {
			return nil, err
		}
		got.events = nil
		list = append(list, got)
	}
	return &session.ListResponse{Sessions: list}, nil
}

// Delete removes a session and its log. Deleting a session that does not exist is not an error. If the store cannot
// remove the log, the session is deleted but its log remains, and the error is [history.ErrNotErasable].
func (s *Service) Delete(ctx context.Context, req *session.DeleteRequest) error {
	if req.AppName == "" || req.UserID == "" || req.SessionID == "" {
		return fmt.Errorf("adkagent: an application, a user and a session are required: got %q, %q and %q", req.AppName, req.UserID, req.SessionID)
	}
	a, err := s.app(ctx, req.AppName)
	if err != nil {
		return err
	}
	defer a.mu.Unlock()
	if !a.sessions[key{req.UserID, req.SessionID}] {
		return nil
	}
	if err := a.change(ctx, change{User: req.UserID, Session: req.SessionID, Deleted: true}); err != nil {
		return err
	}
	log, err := s.log(ctx, req.AppName, req.UserID, req.SessionID)
	if err == nil {
		err = log.Remove(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, nameOf(req.AppName, req.UserID, req.SessionID))
	if err != nil {
		return fmt.Errorf("adkagent: removing the log of session %q: %w", req.SessionID, err)
	}
	return nil
}

// AppendEvent appends an event to a session that the service returned. Partial events and temporary state are not
// stored.
func (s *Service) AppendEvent(ctx context.Context, to session.Session, event *session.Event) error {
	k, ok := to.(*storedSession)
	switch {
	case !ok:
		return fmt.Errorf("adkagent: a session of type %T was not returned by this service: take it from Create or Get", to)
	case event == nil:
		return errors.New("adkagent: the event is nil")
	case event.Partial:
		return nil
	}
	a, err := s.app(ctx, k.app)
	if err != nil {
		return err
	}
	has := a.sessions[key{k.user, k.id}]
	if appState, userState, _ := split(event.Actions.StateDelta); has && len(appState)+len(userState) > 0 {
		err = a.change(ctx, change{User: k.user, App: appState, Own: userState})
	}
	a.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !has:
		return notFound(k.id)
	}
	log, err := s.log(ctx, k.app, k.user, k.id)
	if err != nil {
		return err
	}
	stored := withoutTemporary(event)
	if err := add(ctx, log, eventName, stored); err != nil {
		return err
	}
	k.append(stored, event.Actions.StateDelta)
	return nil
}

// Close closes all logs.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, log := range s.logs {
		errs = append(errs, log.Close())
	}
	for _, a := range s.apps {
		errs = append(errs, a.log.Close())
	}
	clear(s.logs)
	clear(s.apps)
	return errors.Join(errs...)
}

// nameOf returns the name of a log: that of an application, or of an application, a user and a session.
func nameOf(elements ...string) string {
	escaped := make([]string, len(elements))
	for i, e := range elements {
		escaped[i] = url.PathEscape(e)
	}
	return strings.Join(escaped, "/")
}

// app returns an application, locked and read to the end of its log.
func (s *Service) app(ctx context.Context, name string) (*app, error) {
	s.mu.Lock()
	a := s.apps[name]
	if a == nil {
		log, err := s.open(ctx, nameOf(name))
		if err != nil {
			s.mu.Unlock()
			return nil, fmt.Errorf("adkagent: opening the log of application %q: %w", name, err)
		}
		a = &app{log: log, state: map[string]any{}, users: map[string]map[string]any{}, sessions: map[key]bool{}}
		s.apps[name] = a
	}
	s.mu.Unlock()
	a.mu.Lock()
	if err := a.refresh(ctx); err != nil {
		a.mu.Unlock()
		return nil, fmt.Errorf("adkagent: reading the log of application %q: %w", name, err)
	}
	return a, nil
}

// log returns the log of an application, user and session, and opens it if necessary.
func (s *Service) log(ctx context.Context, elements ...string) (*history.Session, error) {
	name := nameOf(elements...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if log := s.logs[name]; log != nil {
		return log, nil
	}
	log, err := s.open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("adkagent: opening the log %q: %w", name, err)
	}
	s.logs[name] = log
	return log, nil
}

// load reads a session from its log.
func (s *Service) load(ctx context.Context, a *app, name string, k key) (*storedSession, error) {
	log, err := s.log(ctx, name, k.user, k.id)
	if err != nil {
		return nil, err
	}
	list, _, err := customsAfter(ctx, log, "")
	if err != nil {
		return nil, fmt.Errorf("adkagent: reading session %q: %w", k.id, err)
	}
	got := &storedSession{app: name, user: k.user, id: k.id}
	for _, c := range list {
		switch c.Name {
		case createdName:
			var begun created
			err = json.Unmarshal(c.Data, &begun)
			got.events, got.state, got.updated = nil, begun.State, begun.Time
		case eventName:
			event := &session.Event{}
			err = json.Unmarshal(c.Data, event)
			_, _, own := split(event.Actions.StateDelta)
			got.append(event, own)
		}
		if err != nil {
			return nil, fmt.Errorf("adkagent: reading session %q: %w", k.id, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	got.state = a.merged(k.user, got.state)
	return got, nil
}

// refresh reads the entries added to the log since it was last read.
func (a *app) refresh(ctx context.Context) error {
	list, leaf, err := customsAfter(ctx, a.log, a.read)
	if err != nil {
		return err
	}
	for _, c := range list {
		var ch change
		if c.Name != indexName {
			continue
		}
		if err := json.Unmarshal(c.Data, &ch); err != nil {
			return err
		}
		maps.Copy(a.state, ch.App)
		if a.users[ch.User] == nil {
			a.users[ch.User] = map[string]any{}
		}
		maps.Copy(a.users[ch.User], ch.Own)
		switch k := (key{ch.User, ch.Session}); {
		case ch.Deleted:
			delete(a.sessions, k)
		case ch.Session != "":
			a.sessions[k] = true
		}
	}
	a.read = leaf
	return nil
}

// change appends a change to the log and applies it.
func (a *app) change(ctx context.Context, c change) error {
	if err := add(ctx, a.log, indexName, c); err != nil {
		return err
	}
	return a.refresh(ctx)
}

// merged returns a session's own state together with its user's and its application's. The application must be locked.
func (a *app) merged(user string, own map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, own)
	for name, v := range a.state {
		all[session.KeyPrefixApp+name] = v
	}
	for name, v := range a.users[user] {
		all[session.KeyPrefixUser+name] = v
	}
	return all
}

// customsAfter returns the custom entries of a log after an entry, and the log's last entry.
func customsAfter(ctx context.Context, log *history.Session, after string) (list []entry.Custom, leaf string, err error) {
	if log.Shared() {
		if err := log.Refresh(ctx); err != nil {
			return nil, "", err
		}
	}
	leaf = log.Leaf()
	for e, err := range log.Back(ctx, leaf) {
		if err != nil {
			return nil, "", err
		}
		if e.ID == after {
			break
		}
		if c, ok := e.Body.(entry.Custom); ok {
			list = append(list, c)
		}
	}
	slices.Reverse(list)
	return list, leaf, nil
}

// add appends a value to a log.
func add(ctx context.Context, log *history.Session, name string, v any) error {
	data, err := plainjson.Marshal(v)
	if err != nil {
		return fmt.Errorf("adkagent: encoding %s as JSON: %w", name, err)
	}
	write, done := callback.Outlive(ctx) // record even if the caller gives up
	defer done()
	if _, err := log.Add(write, entry.Entry{Body: entry.Custom{Name: name, Data: data}}); err != nil {
		return fmt.Errorf("adkagent: writing %s: %w", name, err)
	}
	return nil
}

// split divides a change of state into the application's, the user's and the session's own, and drops temporary state.
func split(delta map[string]any) (app, user, own map[string]any) {
	app, user, own = map[string]any{}, map[string]any{}, map[string]any{}
	for name, v := range delta {
		if of, ok := strings.CutPrefix(name, session.KeyPrefixApp); ok {
			app[of] = v
		} else if of, ok := strings.CutPrefix(name, session.KeyPrefixUser); ok {
			user[of] = v
		} else if !strings.HasPrefix(name, session.KeyPrefixTemp) {
			own[name] = v
		}
	}
	return app, user, own
}

// withoutTemporary returns an event without changes of state that are temporary.
func withoutTemporary(e *session.Event) *session.Event {
	c := *e
	c.Actions.StateDelta = maps.Clone(e.Actions.StateDelta)
	maps.DeleteFunc(c.Actions.StateDelta, func(name string, _ any) bool { return strings.HasPrefix(name, session.KeyPrefixTemp) })
	return &c
}
