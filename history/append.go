package history

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Append adds messages after the leaf, all or none. It returns once they are as durable as the store promises; after a
// crash in the middle of it some of the first of them may be there.
//
// System messages are refused: what the system says is the prompt's to say anew each time. So is a tool message that
// answers no open call, tool calls and thinking of anybody but the assistant, a message with two calls of one id, and
// text that JSON cannot hold where only text may stand. An assistant message that was cut short may be empty. A result
// that comes after its round was compacted is kept, but only the transcript shows it.
func (s *Session) Append(messages ...chat.Message) error {
	entries := make([]Entry, len(messages))
	for i, m := range messages {
		entries[i].Body = Message{Message: m}
	}
	_, err := s.Add(entries...)
	return err
}

// Add adds entries of any kind, all or none, and gives them as they were added. It returns once they are as durable as
// the store promises.
//
// What an entry does not say it is given: an ID, the Time, and as its Parent the entry added before it, which for the
// first is the leaf. One that names another parent begins a branch there, on which the session goes on. Messages are
// checked as [Session.Append] does, and a compaction as [Session.Compact] does, each on its path. A [Clearing] names tool
// results and calls on its path, and has a text for each, which for arguments is valid JSON. An [Unknown] entry is
// written as its line says, so its id and its parent are those of the line.
//
// Texts besides those of messages and the output of a shell are made valid UTF-8, and Data is kept without white space
// between its values.
func (s *Session) Add(entries ...Entry) ([]Entry, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.add(slices.Clone(entries), false)
}

// add adds entries, which it changes. The first may be a root.
func (s *Session) add(entries []Entry, root bool) ([]Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	if s.stored() == nil {
		s.mu.Lock()
		s.store = &MemoryStore{}
		s.mu.Unlock()
	}
	if s.store.Len() == 0 {
		if err := s.begin(Header{}); err != nil {
			return nil, err
		}
	}
	t, leaf, err := s.tree("")
	if err != nil {
		return nil, err
	}
	t.nodes = s.nodes // with room for more, which nobody else sees before it is taken in
	a := adding{s: s, tree: t, ids: map[string]int32{}, last: leaf, line: int32(s.store.Len())}
	lines := make([][]byte, len(entries))
	for i := range entries {
		if lines[i], err = a.stage(&entries[i], root && i == 0); err != nil {
			return nil, fmt.Errorf("history: %s: %w", describe(entries, i), err)
		}
	}
	if err := s.store.Append(lines...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range entries {
		at := int32(len(s.nodes) + i)
		s.cache.put(at, e, len(lines[i]))
		s.take(e.ID, at)
	}
	s.nodes = t.nodes
	return entries, nil
}

// describe names an entry in an error.
func describe(entries []Entry, i int) string {
	kind := string(entries[i].Type())
	if kind == "" {
		kind = "entry"
	}
	if len(entries) == 1 {
		return kind
	}
	return fmt.Sprintf("%s %d of %d", kind, i+1, len(entries))
}

// adding is a session to which entries are about to be added.
type adding struct {
	s *Session
	*tree
	ids  map[string]int32 // of what is added
	last int32            // place of the entry before
	line int32            // of the next entry
}

// stage completes an entry, checks it, and gives its line.
func (a *adding) stage(e *Entry, root bool) ([]byte, error) {
	if e.Body == nil {
		return nil, errors.New("it has no body")
	}
	parent, err := a.place(e, root)
	if err != nil {
		return nil, err
	}
	if e.ID == "" {
		e.ID = a.newID()
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC().Round(0)
	k := kindOther
	switch b := e.Body.(type) {
	case Message:
		if err := a.checkMessage(b.Message, parent); err != nil {
			return nil, err
		}
		b.Content, b.ToolCalls = slices.Clone(b.Content), slices.Clone(b.ToolCalls) // the caller's may change
		e.Body = b
		k = kindOf(TypeMessage, b.Role, false)
	case Shell:
		k = kindOf(TypeShell, "", b.Hidden)
	case Compaction:
		if err := a.checkCompaction(b, parent); err != nil {
			return nil, err
		}
		k = kindCompaction
	case Clearing:
		if err := a.checkClearing(b, parent); err != nil {
			return nil, err
		}
		k = kindClearing
	case CustomMessage:
		if err := checkText(chat.Message{Role: chat.RoleUser, Content: b.Content}); err != nil {
			return nil, err
		}
		k = kindCustomMessage
	default:
		k = kinds[e.Type()]
	}
	line, err := e.encode()
	if err != nil {
		return nil, err
	}
	if m, ok := e.Body.(Message); !ok || m.Data != nil {
		if *e, err = decode(line); err != nil { // as it will be read, and nothing of it is the caller's
			return nil, err
		}
	}
	a.ids[e.ID] = int32(len(a.nodes))
	a.last = int32(len(a.nodes))
	a.nodes = append(a.nodes, node{id: e.ID, parent: parent, line: a.line, kind: k})
	a.staged = append(a.staged, *e)
	a.line++
	return line, nil
}

// place gives the place of the entry's parent, and checks its id.
func (a *adding) place(e *Entry, root bool) (int32, error) {
	if u, ok := e.Body.(Unknown); ok {
		line, err := decode(u.Line)
		switch {
		case err != nil:
			return 0, fmt.Errorf("its line: %w", err)
		case known(line.Type()) || line.Type() != u.Kind || bytes.IndexByte(u.Line, '\n') >= 0:
			return 0, fmt.Errorf("its line is not one of an unknown %q", u.Kind)
		case e.ID != "" && e.ID != line.ID || e.Parent != "" && e.Parent != line.Parent:
			return 0, errors.New("its line has another id or parent")
		}
		*e, root = line, line.Parent == ""
	}
	if e.ID != "" {
		if _, ok := a.find(e.ID); ok {
			return 0, fmt.Errorf("there is an entry %q already", e.ID)
		}
		if len(e.ID) > MaxID || !utf8.ValidString(e.ID) {
			return 0, fmt.Errorf("the id %.40q is longer than %d bytes or not valid UTF-8", e.ID, MaxID)
		}
	}
	switch {
	case root:
		return -1, nil
	case e.Parent != "":
		at, ok := a.find(e.Parent)
		if !ok {
			return 0, &NoEntryError{ID: e.Parent}
		}
		return at, nil
	case a.last >= 0:
		e.Parent = a.nodes[a.last].id
	}
	return a.last, nil
}

func (a *adding) find(id string) (int32, bool) {
	if at, ok := a.ids[id]; ok {
		return at, true
	}
	at, ok := a.s.ids[id] // nobody else appends
	return at, ok
}

// newID is the next number that no entry has.
func (a *adding) newID() string {
	for n := a.s.next + len(a.staged) + 1; ; n++ {
		id := "e" + strconv.Itoa(n)
		if _, ok := a.find(id); !ok {
			return id
		}
	}
}

// checkMessage tells what keeps a message from following an entry.
func (a *adding) checkMessage(m chat.Message, parent int32) error {
	switch m.Role {
	case chat.RoleUser, chat.RoleAssistant:
	case chat.RoleTool:
		open, err := a.isOpen(m.ToolCallID, parent)
		if err != nil {
			return err
		}
		if !open {
			return &PairingError{CallID: m.ToolCallID, Reason: "answers no open tool call"}
		}
	case chat.RoleSystem:
		return ErrSystemMessage
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != chat.RoleAssistant {
		return &PairingError{CallID: m.ToolCalls[0].ID, Reason: fmt.Sprintf("is made by a %s message", m.Role)}
	}
	seen := map[string]bool{}
	for _, c := range m.ToolCalls {
		if seen[c.ID] {
			return &PairingError{CallID: c.ID, Reason: "stands twice in one message"}
		}
		seen[c.ID] = true
	}
	return checkText(m)
}

// isOpen tells whether a call was made on the path to an entry and is not answered there.
func (a *adding) isOpen(callID string, parent int32) (bool, error) {
	stored := int32(len(a.nodes) - len(a.staged))
	at := parent
	for ; at >= stored; at = a.nodes[at].parent {
		m := a.staged[at-stored].Message()
		if m.Role == chat.RoleTool && m.ToolCallID == callID {
			return false, nil
		}
		if slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == callID }) {
			return true, nil
		}
	}
	return a.s.calls.isOpen(a.tree, callID, at)
}

// checkText tells where a message has text that JSON cannot hold. Text parts and opaque ones may be of any bytes.
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

// ErrSystemMessage tells that a system message was to be appended.
var ErrSystemMessage = errors.New("a system message: the prompt renders it, a session does not keep it")

// PairingError tells of a tool call and a result that do not belong together.
type PairingError struct {
	CallID string
	Reason string
}

func (e *PairingError) Error() string { return fmt.Sprintf("tool call %q %s", e.CallID, e.Reason) }
