package history

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Session is a conversation: everything that was said, and the compactions made of it. It is only ever appended to.
// The zero value is an empty session in memory; [Open] keeps one in a file. It is safe for concurrent use.
type Session struct {
	mu       sync.RWMutex
	log      *log // nil in memory
	entries  []Entry
	index    map[string]int  // of entries, by id
	open     map[string]bool // calls without a result
	next     int             // number of the next entry
	recovery *Recovery
}

// Open opens the session in a file for writing, and makes the file where there is none. A torn last line, as a crash
// leaves it, is set aside ([Session.Recovered] tells). The error is [ErrLocked] where another writer has it open and a
// [*CorruptError] where a line in the middle cannot be read.
func Open(path string) (*Session, error) {
	l, entries, _, recovery, err := openLog(path)
	if err != nil {
		return nil, err
	}
	s := &Session{log: l, recovery: recovery}
	s.load(entries)
	if l.size == 0 {
		head, err := encodeLine(headerLine{Type: typeSession, Version: version, Header: Header{ID: rand.Text(), Time: time.Now().UTC()}})
		if err == nil {
			err = l.write(append(head, '\n'), 1)
		}
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return s, nil
}

// Read opens the session in a file for reading. It takes no lock and changes nothing; a torn last line is left out.
func Read(path string) (*Session, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	entries, head, size, torn, err := readLog(path, f)
	switch {
	case err != nil:
		return nil, err
	case head.ID == "":
		return nil, &CorruptError{Path: path, Line: 1, Err: errors.New("there is no header of a session")}
	}
	s := &Session{log: &log{path: path, size: size, lines: len(entries) + 1}}
	if len(torn) > 0 {
		s.recovery = &Recovery{Line: len(entries) + 2, Bytes: len(torn)}
	}
	s.load(entries)
	return s, nil
}

// load takes in entries that were read.
func (s *Session) load(entries []Entry) {
	for _, e := range entries {
		s.take(e)
	}
}

// take adds an entry that is safe in the log.
func (s *Session) take(e Entry) {
	if s.index == nil {
		s.index, s.open = map[string]int{}, map[string]bool{}
	}
	s.index[e.ID] = len(s.entries)
	s.entries = append(s.entries, e)
	if n, err := strconv.Atoi(strings.TrimPrefix(e.ID, "e")); err == nil {
		s.next = max(s.next, n)
	}
	m := e.Message()
	for _, c := range m.ToolCalls {
		s.open[c.ID] = true
	}
	if m.Role == chat.RoleTool {
		delete(s.open, m.ToolCallID)
	}
}

// Append adds messages, all or none. In a file they are on disk when it returns; after a crash in the middle of it some
// of the first of them may be there.
//
// System messages are refused: what the system says is the prompt's to say anew each time. So is a tool message that
// answers no open call, tool calls and thinking of anybody but the assistant, a message with two calls of one id, and text that JSON cannot hold where only text may stand.
// An assistant message that was cut short may be empty. A result that comes after its round was compacted is kept, but only
// the transcript shows it.
func (s *Session) Append(messages ...chat.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]bool{}
	for i, m := range messages {
		if err := s.check(m, open); err != nil {
			return fmt.Errorf("history: message %d of %d: %w", i+1, len(messages), err)
		}
	}
	entries := make([]Entry, len(messages))
	for i, m := range messages {
		m.Content, m.ToolCalls = slices.Clone(m.Content), slices.Clone(m.ToolCalls) // the caller's may change
		entries[i] = Entry{Body: Message{Message: m}}
	}
	return s.append(entries)
}

// check tells what keeps a message from being appended. Open are the calls of the messages appended with it.
func (s *Session) check(m chat.Message, open map[string]bool) error {
	switch m.Role {
	case chat.RoleUser, chat.RoleAssistant:
	case chat.RoleTool:
		isOpen, here := open[m.ToolCallID]
		if !here {
			isOpen = s.open[m.ToolCallID]
		}
		if !isOpen {
			return &PairingError{CallID: m.ToolCallID, Reason: "answers no open tool call"}
		}
		open[m.ToolCallID] = false
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
		seen[c.ID], open[c.ID] = true, true
	}
	return checkText(m)
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

// Compact adds a compaction. From then on the session shows its messages in place of what it covers.
func (s *Session) Compact(c Compaction) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkCompaction(c); err != nil {
		return fmt.Errorf("history: compaction: %w", err)
	}
	return s.append([]Entry{{Body: c}})
}

func (s *Session) checkCompaction(c Compaction) error {
	if len(c.Messages) == 0 {
		return errors.New("it has no messages to show")
	}
	for i, m := range c.Messages {
		if m.Role != chat.RoleUser {
			return fmt.Errorf("message %d is from %s: what stands for history is the user's", i+1, m.Role)
		}
		if err := checkText(m); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	if c.FirstKept == "" {
		return nil
	}
	i, ok := s.index[c.FirstKept]
	if !ok {
		return fmt.Errorf("there is no entry %q to keep from", c.FirstKept)
	}
	if e := s.entries[i]; e.Type() != TypeMessage || e.Message().Role == chat.RoleTool {
		return fmt.Errorf("entry %q is no place to cut: it is neither a user's nor an assistant's message", c.FirstKept)
	}
	if i < boundary(s.entries, s.index) {
		return fmt.Errorf("entry %q is covered by an earlier compaction", c.FirstKept)
	}
	return nil
}

// append writes entries and takes them in.
func (s *Session) append(entries []Entry) error {
	var data bytes.Buffer
	parent := ""
	if len(s.entries) > 0 {
		parent = s.entries[len(s.entries)-1].ID
	}
	now := time.Now().UTC()
	for i := range entries {
		e := &entries[i]
		e.ID, e.Parent, e.Time = "e"+strconv.Itoa(s.next+1+i), parent, now
		line, err := e.encode()
		if err != nil {
			return fmt.Errorf("history: %w", err)
		}
		data.Write(line)
		data.WriteByte('\n')
		parent = e.ID
	}
	if err := s.log.write(data.Bytes(), len(entries)); err != nil {
		return err
	}
	for _, e := range entries {
		s.take(e)
	}
	return nil
}

// Entries gives all entries in order. What they hold is the session's and must not be changed.
func (s *Session) Entries() []Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.entries)
}

// Len is the number of entries. It grows with every append and never falls.
func (s *Session) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.entries)
}

// Path of the file, absolute, or "" for a session in memory.
func (s *Session) Path() string {
	if s.log == nil {
		return ""
	}
	return s.log.path
}

// Lines of the file, its header included; 0 for a session in memory.
func (s *Session) Lines() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.log == nil {
		return 0
	}
	return s.log.lines
}

// Recovered tells of a torn last line found on opening, nil where there was none.
func (s *Session) Recovered() *Recovery { return s.recovery }

// Close gives the file up. The entries stay readable. Closing twice, or a session in memory, does nothing.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil || errors.Is(s.log.broken, ErrClosed) {
		return nil
	}
	return s.log.close()
}
