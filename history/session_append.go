package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/worded"
)

// Append adds messages after the leaf, all or none. It returns once they are as durable as the store promises. A crash
// during Append may leave the first few of them in the store.
//
// System messages are refused, because the prompt renders them anew each time. Also refused are a tool message that
// answers no open call, tool calls and thinking in any message but the assistant's, a message with two calls of one id
// or a call without one, and text that JSON cannot hold in a field that holds only text. An assistant message that was
// cut short may be empty. A result that comes after its round was compacted is kept, but only the transcript shows it.
//
// If another session has appended something said to the same store since this one last read it, the error is a
// [*storage.ConflictError], and nothing is written: call [Session.Refresh] and read what was said.
func (s *Session) Append(ctx context.Context, messages ...chat.Message) error {
	entries := make([]entry.Entry, len(messages))
	for i, m := range messages {
		entries[i].Body = entry.Message{Message: m}
	}
	_, err := s.Add(ctx, entries...)
	return err
}

// Add adds entries of any kind, all or none, and returns them as added. The session owns what they hold from then on.
// It returns once they are as durable as the store promises.
//
// Add fills in what an entry lacks: an ID, the Time, and as its Parent the entry added before it, which for the first
// is the leaf. An entry that names another parent starts a branch there, and the session continues on that branch.
// Messages are checked as by [Session.Append], and a compaction as by [Session.Compact], each on its path. An
// [entry.Clearing] must name tool results and calls on its path, with a text for each, which for arguments is valid
// JSON. An [entry.Unknown] entry is written as its line says, so its id and its parent are those of the line.
//
// An id set by the caller is checked against the whole store, which the first such check reads completely.
//
// In a store to which others append, what is said (messages, shell commands, custom messages, branches) is only added
// directly after what the session has read: the error is a [*storage.ConflictError] if anything was said in between.
// Everything else is added after what was appended in between; a compaction is checked again there.
//
// Texts other than those of messages and shell output are made valid UTF-8, and so is Data, which is kept without white
// space between its values. An entry whose line would have more than 500 levels of objects and arrays is a
// [*entry.DepthError], and one whose line would have more than [Options.MaxLine] bytes a [*storage.LineTooLongError].
// What is added can be read back as it is returned.
//
// [Options.Redact] sees all texts first.
func (s *Session) Add(ctx context.Context, entries ...entry.Entry) ([]entry.Entry, error) {
	entries = slices.Clone(entries)
	for i := range entries {
		e, err := entries[i].Redact(ctx, s.options.Redact) // before anything is locked
		if err != nil {
			return nil, inEntry(describe(entries, i), err)
		}
		entries[i] = e
	}
	if err := s.begins(ctx); err != nil {
		return nil, err
	}
	defer s.writing.release()
	return s.add(ctx, entries, false)
}

// isStored reports whether the entry of a node is still in the store. A writer removes a line that it could not write
// completely.
func (r *reader) isStored(ctx context.Context, n node) bool {
	for line, err := range r.store.Read(ctx, n.at) {
		return err == nil && (line.ID == n.id || n.id == "")
	}
	return n.id == ""
}

// Refresh reads what others have appended to the store since. The session continues from the entry that was appended
// last.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.begins(ctx); err != nil {
		return err
	}
	defer s.writing.release()
	r, p, end, err := s.state()
	if err != nil || r.store == nil {
		return err
	}
	if s.ReadOnly() && !r.isStored(ctx, p.last()) { // the writer removed it
		if end, err = r.store.End(ctx); err != nil {
			return err
		}
		return s.reload(ctx, r, end)
	}
	news, err := s.readOn(ctx, r, p, end)
	if err != nil {
		return err
	}
	if news.erased {
		return s.reload(ctx, r, news.end)
	}
	s.advance(news.path, end, news.end)
	return nil
}

// add adds entries. If root is set, the first may be a root. The caller holds writing.
func (s *Session) add(ctx context.Context, entries []entry.Entry, root bool) ([]entry.Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	r, p, end, err := s.state()
	if err != nil {
		return nil, err
	}
	var seen []string // for each entry, the id of the entry before it that the caller could know
	for {
		a := adding{s: s, r: r, path: p, end: end, seen: seen}
		r.staged = map[storage.Position]entry.Entry{}
		added := slices.Clone(entries)
		lines := make([]storage.Line, len(entries))
		for i := range added {
			if lines[i], err = a.stage(ctx, &added[i], root && i == 0); err != nil {
				s.spare = append(a.drawn, s.spare...)
				return nil, inEntry(describe(added, i), err)
			}
		}
		ends, err := r.store.Append(ctx, end, lines...)
		r.staged = nil
		if err == nil {
			s.take(a, added, lines, ends)
			return added, nil
		}
		s.spare, seen = append(a.drawn, s.spare...), a.seen
		if _, conflict := errors.AsType[*storage.ConflictError](err); !conflict {
			return nil, err
		}
		news, readErr := s.readOn(ctx, r, p, end)
		if readErr != nil {
			return nil, errors.Join(err, readErr)
		}
		if news.end == end || news.said && a.says {
			return nil, err
		}
		if s.advance(news.path, end, news.end); news.erased {
			if err := s.reload(ctx, r, news.end); err != nil {
				return nil, err
			}
		}
		if r, p, end, err = s.state(); err != nil {
			return nil, err
		}
	}
}

// ready creates a store in memory for a session without one, and starts an empty one.
func (s *Session) ready(ctx context.Context) error {
	s.mu.Lock()
	if s.store == nil {
		s.store, s.key = &storage.Memory{}, sessions.Add(1)
	}
	empty := s.end == 0 && !s.closed
	s.mu.Unlock()
	if !empty {
		return nil
	}
	return s.begin(ctx, entry.Header{})
}

// take records what was appended in the session.
func (s *Session) take(a adding, added []entry.Entry, lines []storage.Line, ends []storage.Position) {
	for i := len(added) - 1; i >= 0; i-- {
		at := a.end
		if i > 0 {
			at = ends[i-1]
		}
		if k := a.path.indexAt(a.end + storage.Position(i)); k < len(a.path.nodes) && a.path.nodes[k].id == added[i].ID {
			a.path.nodes[k].at = at
		}
		a.r.keep(at, added[i], len(lines[i].Data))
		if s.taken != nil {
			s.taken[added[i].ID] = true
		}
	}
	s.advance(a.path, a.end, ends[len(ends)-1])
}

// advance moves the session to a path whose part after the position known is new.
func (s *Session) advance(p path, known, end storage.Position) {
	if slices.ContainsFunc(p.nodes[p.indexAt(known):], func(n node) bool { return n.compaction != nil }) {
		p = p.trimmed()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.path, s.end = p, end
}

// news describes what others have appended to a store.
type news struct {
	path   path // to the last entry appended
	end    storage.Position
	said   bool // something was said, or the branch changed
	erased bool // something was erased
}

// readOn reads what was appended to the store after the position end, at which the path p led to the leaf.
func (s *Session) readOn(ctx context.Context, r *reader, p path, end storage.Position) (news, error) {
	n := news{path: p, end: end}
	if r.store == nil {
		return n, nil
	}
	if _, err := r.store.End(ctx); err != nil { // a reader of a file must look for its new end
		return news{}, err
	}
	for line, err := range r.store.Read(ctx, end) {
		e, err := r.decode(ctx, line, err)
		if err != nil {
			return news{}, err
		}
		r.keep(line.At, e, len(line.Data))
		next := newNode(e, line.At)
		n.said = n.said || next.kind.Said() || e.Parent != n.path.last().id
		switch {
		case e.Parent == "":
			n.path = path{}
		case e.Parent != n.path.last().id:
			if n.path, err = r.pathTo(ctx, n.path, line.At, e.Parent); err != nil {
				return news{}, err
			}
		}
		n.path, n.end = n.path.with(next), line.End
		n.erased = n.erased || next.kind == entry.KindErasure
		if s.taken != nil {
			s.taken[e.ID] = true
		}
	}
	return n, nil
}

// describe names an entry in an error.
func describe(entries []entry.Entry, i int) string {
	kind := string(entries[i].Type())
	if kind == "" {
		kind = "entry"
	}
	if len(entries) == 1 {
		return kind
	}
	return fmt.Sprintf("%s %d of %d", kind, i+1, len(entries))
}

// inEntry returns an error of the package about an entry. If err begins with the package's name, that is written once.
func inEntry(place string, err error) error {
	return worded.In("history", place, err)
}

// adding holds the state of entries being added to a session.
type adding struct {
	s      *Session
	r      *reader
	path   path // to the entry before the next one
	end    storage.Position
	staged []path   // to each staged entry
	says   bool     // an entry holds something said
	seen   []string // see [Session.add]
	drawn  []string // from Options.IDs
}

// stage completes an entry, checks it, and returns its line.
func (a *adding) stage(ctx context.Context, e *entry.Entry, root bool) (storage.Line, error) {
	if e.Body == nil {
		return storage.Line{}, errors.New("it has no body")
	}
	if err := a.place(ctx, e, root); err != nil {
		return storage.Line{}, err
	}
	if len(a.seen) == len(a.staged) {
		a.seen = append(a.seen, a.stored())
	}
	if e.ID == "" {
		var err error
		if e.ID, err = a.newID(ctx); err != nil {
			return storage.Line{}, err
		}
	}
	if e.Time.IsZero() {
		var err error
		if e.Time, err = a.s.Now(ctx); err != nil {
			return storage.Line{}, err
		}
	}
	e.Time = e.Time.UTC().Round(0)
	switch b := e.Body.(type) {
	case entry.Usage:
		if before := a.seen[len(a.staged)]; b.Of == "" && before != e.Parent { // something was added in between
			b.Of = before
		}
		b.Sent.Time = b.Sent.Time.UTC()
		e.Body = b
	case entry.Message:
		if err := a.checkMessage(ctx, b.Message); err != nil {
			return storage.Line{}, err
		}
		b.Content, b.ToolCalls = append(chat.Parts(nil), b.Content...), append([]chat.ToolCall(nil), b.ToolCalls...) // the caller may change its slices
		e.Body = b
	case entry.Compaction:
		if before := a.seen[len(a.staged)]; b.Boundary() == "" && before != a.stored() { // it covers only what the session had read
			b.LastCovered = before
		}
		if err := a.checkCompaction(ctx, b); err != nil {
			return storage.Line{}, err
		}
		var err error
		if b.Carried, err = a.r.carriedPast(ctx, a.path, a.path.cut(b, anywhere)); err != nil {
			return storage.Line{}, err
		}
		if b.Carried.Lines > 0 {
			b.Carried.Lines += len(a.staged)
		}
		e.Body = b
	case entry.Clearing:
		if err := a.checkClearing(ctx, b); err != nil {
			return storage.Line{}, err
		}
	case entry.CustomMessage:
		if err := checkText(chat.Message{Role: chat.RoleUser, Content: b.Content}); err != nil {
			return storage.Line{}, err
		}
	case entry.Preamble:
		for i, m := range b.System {
			if err := checkText(m); err != nil {
				return storage.Line{}, fmt.Errorf("system message %d: %w", i+1, err)
			}
		}
	case entry.Plan:
		if err := checkText(sendable.WithThinking(chat.Message{Role: chat.RoleAssistant}, b.Thinking)); err != nil {
			return storage.Line{}, fmt.Errorf("its thinking: %w", err)
		}
		b.Until = b.Until.UTC()
		e.Body = b
	case entry.PlanEnd:
		b.NotBefore = b.NotBefore.UTC()
		e.Body = b
	}
	line, err := a.s.options.writable(e.Encode())
	if err != nil {
		return storage.Line{}, err
	}
	if m, ok := e.Body.(entry.Message); !ok || m.Data != nil || e.Redacted != nil || slices.ContainsFunc(m.Content, isOpaque) {
		if *e, err = entry.Decode(line); err != nil { // the entry as it will be read, which shares nothing with the caller's
			return storage.Line{}, err
		}
	}
	n := newNode(*e, a.end+storage.Position(len(a.staged)))
	a.r.staged[n.at] = *e
	a.says = a.says || n.kind.Said()
	a.path = a.path.with(n)
	a.staged = append(a.staged, a.path)
	return storage.Line{ID: e.ID, Parent: e.Parent, Kind: string(e.Type()), Data: line}, nil
}

// stored returns the id of the entry before, "" if that is about to be added too.
func (a *adding) stored() string {
	if n := a.path.last(); n.at < a.end {
		return n.id
	}
	return ""
}

// isOpaque reports whether a part is opaque, so that its bytes belong to the caller, who may change them.
func isOpaque(p chat.Part) bool {
	_, ok := p.(chat.Opaque)
	return ok
}

// place moves to the entry's parent, and checks its id.
func (a *adding) place(ctx context.Context, e *entry.Entry, root bool) error {
	if u, ok := e.Body.(entry.Unknown); ok {
		line, err := entry.Decode(u.Line)
		head, headErr := storage.ParseLine(u.Line)
		switch {
		case err != nil || headErr != nil:
			return fmt.Errorf("its line: %w", errors.Join(err, headErr))
		case head.ID != line.ID || head.Parent != line.Parent || head.Kind != string(line.Type()) || !utf8.ValidString(line.ID):
			return errors.New("its line has an id, parent or type twice, or not in UTF-8")
		case line.Type().Known() || line.Type() != u.Kind || bytes.IndexByte(u.Line, '\n') >= 0:
			return fmt.Errorf("its line is not one of an unknown %q", u.Kind)
		case e.ID != "" && e.ID != line.ID || e.Parent != "" && e.Parent != line.Parent:
			return errors.New("its line has another id or parent")
		}
		*e, root = line, line.Parent == ""
	}
	if e.ID != "" {
		if len(e.ID) > entry.MaxID || !utf8.ValidString(e.ID) {
			return fmt.Errorf("the id %.40q is longer than %d bytes or not valid UTF-8", e.ID, entry.MaxID)
		}
		if taken, err := a.isTaken(ctx, e.ID); err != nil {
			return err
		} else if taken {
			return fmt.Errorf("there is an entry %q already", e.ID)
		}
	}
	switch {
	case root:
		a.path = path{}
		return nil
	case e.Parent == "":
		e.Parent = a.path.last().id
		return nil
	}
	return a.follow(ctx, e.Parent)
}

// follow moves the path to an entry.
func (a *adding) follow(ctx context.Context, id string) (err error) {
	if a.path.last().id == id {
		return nil
	}
	for _, p := range a.staged {
		if p.last().id == id {
			a.path = p.to(len(p.nodes) - 1)
			return nil
		}
	}
	a.path, err = a.r.pathTo(ctx, a.path, a.end, id)
	return err
}

// isTaken reports whether an entry has an id, including those about to be added.
func (a *adding) isTaken(ctx context.Context, id string) (bool, error) {
	if slices.ContainsFunc(a.staged, func(p path) bool { return p.last().id == id }) {
		return true, nil
	}
	return a.s.has(ctx, a.r, id)
}

// Has reports whether an entry has an id. The first call reads the whole store.
func (s *Session) Has(ctx context.Context, id string) (bool, error) {
	if err := s.begins(ctx); err != nil {
		return false, err
	}
	defer s.writing.release()
	r, _, _, err := s.state()
	if err != nil || r.store == nil {
		return false, err
	}
	return s.has(ctx, r, id)
}

// has reports whether an entry has an id. The first call reads the ids of the whole store. The caller holds writing.
func (s *Session) has(ctx context.Context, r *reader, id string) (bool, error) {
	if s.taken == nil {
		taken := map[string]bool{}
		for line, err := range unsalvaged(r.store).Read(ctx, 0) {
			if err != nil && line.End == 0 {
				return false, err
			}
			if line.At == 0 {
				continue
			}
			taken[line.ID] = true
			taken[line.Parent] = true // the parent's line may be unreadable
			if err != nil {           // a damaged line may hold the id
				for text := range bytes.SplitSeq(line.Data, []byte{'"'}) {
					if len(text) <= entry.MaxID {
						taken[string(text)] = true
					}
				}
			}
		}
		s.taken = taken
	}
	return s.taken[id], nil
}

// draw returns an id from the caller's source, or one that was drawn before and not used.
func (a *adding) draw(ctx context.Context) (string, error) {
	if len(a.s.spare) == 0 {
		return callOption(ctx, "Options.IDs", a.s.options.IDs)
	}
	id := a.s.spare[0]
	a.s.spare = a.s.spare[1:]
	return id, nil
}

// newID returns an id that no entry has. Without Options.IDs it is random.
func (a *adding) newID(ctx context.Context) (string, error) {
	if a.s.options.IDs == nil {
		now, err := a.s.Now(ctx)
		return a.s.ids.next(now), err
	}
	for range 1 << 20 {
		id, err := a.draw(ctx)
		if err != nil {
			return "", err
		}
		if id == "" || len(id) > entry.MaxID || !utf8.ValidString(id) {
			return "", fmt.Errorf("Options.IDs returned %.40q: an id has 1 to %d bytes of valid UTF-8", id, entry.MaxID)
		}
		taken, err := a.isTaken(ctx, id)
		if err != nil {
			return "", err
		}
		if !taken {
			a.drawn = append(a.drawn, id)
			return id, nil
		}
	}
	return "", errors.New("Options.IDs returned only ids that entries have already")
}

// checkMessage returns an error if a message cannot follow the entry before.
func (a *adding) checkMessage(ctx context.Context, m chat.Message) error {
	switch m.Role {
	case chat.RoleUser, chat.RoleAssistant:
	case chat.RoleTool:
		open, err := a.isOpen(ctx, m.ToolCallID)
		if err != nil {
			return err
		}
		if !open {
			return &entry.PairingError{CallID: m.ToolCallID, Reason: "answers no open tool call"}
		}
	case chat.RoleSystem:
		return worded.Errorf(ErrSystemMessage, "a system message: the prompt renders it, a session does not keep it")
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != chat.RoleAssistant {
		return &entry.PairingError{CallID: m.ToolCalls[0].ID, Reason: fmt.Sprintf("is made by a %s message", m.Role)}
	}
	seen := map[string]bool{}
	for _, c := range m.ToolCalls {
		if c.ID == "" {
			return &entry.PairingError{Reason: "can have no answer: give each call an id where the answer is taken in, with chat.WithCallIDs"}
		}
		if seen[c.ID] {
			return &entry.PairingError{CallID: c.ID, Reason: "occurs twice in one message"}
		}
		seen[c.ID] = true
	}
	return checkText(m)
}

// isOpen reports whether the path has a call with that id and no result for it.
func (a *adding) isOpen(ctx context.Context, callID string) (bool, error) {
	for _, n := range slices.Backward(a.path.nodes) {
		if n.compaction != nil {
			return slices.Contains(n.compaction.Carried.Calls, callID), nil
		}
		if n.kind != entry.KindAssistant && n.kind != entry.KindTool {
			continue
		}
		e, err := a.r.load(ctx, n)
		if err != nil {
			return false, err
		}
		m := e.Message()
		if n.kind == entry.KindTool && m.ToolCallID == callID {
			return false, nil
		}
		if slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == callID }) {
			return true, nil
		}
	}
	return false, nil
}

// checkText returns an error for text in a message that JSON cannot hold. Text parts and opaque parts may hold any
// bytes.
func checkText(m chat.Message) error {
	for _, c := range m.ToolCalls {
		for _, text := range []string{c.ID, c.Name, c.Arguments, c.Signature} {
			if !utf8.ValidString(text) {
				return fmt.Errorf("tool call %q is not valid UTF-8", c.ID)
			}
		}
	}
	if !utf8.ValidString(m.Name) || !utf8.ValidString(m.ToolCallID) {
		return errors.New("its name or tool call id is not valid UTF-8")
	}
	for i, p := range m.Content {
		kind, valid := "", true
		switch p := p.(type) {
		case nil:
			return fmt.Errorf("part %d is nil", i)
		case chat.Thinking:
			if m.Role != chat.RoleAssistant {
				return fmt.Errorf("part %d is thinking in a %s message", i, m.Role)
			}
			kind, valid = "thinking", utf8.ValidString(p.Text) && utf8.ValidString(p.Signature) && utf8.ValidString(p.Encrypted)
		case chat.Image:
			kind, valid = "an image", utf8.ValidString(p.URL) && utf8.ValidString(string(p.Detail)) && utf8.ValidString(p.MediaType)
		case chat.Document:
			kind, valid = "a document", utf8.ValidString(p.Data) && utf8.ValidString(p.MediaType)
		case chat.CacheBreakpoint:
			kind, valid = "a cache breakpoint", utf8.ValidString(p.Type)
		}
		if !valid {
			return fmt.Errorf("part %d is %s that is not valid UTF-8", i, kind)
		}
	}
	return nil
}

// ErrSystemMessage is returned for a system message, which cannot be appended.
var ErrSystemMessage = errors.New("history: a system message cannot be appended")
