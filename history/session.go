package history

import (
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// Session is a conversation: everything that was said, and the compactions made of it, as a tree that is only ever
// appended to. The zero value is an empty session in memory; [Open] keeps one in a file, and [New] wherever a [Store]
// is. It is safe for concurrent use.
//
// What was said stays in the store. The session keeps an index of some hundred bytes for each entry, the entries that it
// read last, up to 64 MiB of them, and what is shown at the leaf, where that takes no more.
type Session struct {
	writing sync.Mutex // one appends at a time; held while the store is waited for
	calls   callIndex  // of the path that was appended to last; guarded by writing

	mu      sync.RWMutex // guards what follows, and is never held for long
	store   Store        // nil in memory until the first entry
	header  Header
	nodes   []node           // the entries in order; only ever appended to
	ids     map[string]int32 // places in nodes
	next    int              // number of the next entry
	skipped []*CorruptError
	closed  bool
	claims  map[string]bool // see [Session.Claim]

	cache cache
	views views
}

// Options say how a session is opened. The zero value is the default.
type Options struct {
	// File says how the log is written.
	File FileOptions
	// Header of a session that is new. Defaults to a random id and the time.
	Header Header
	// Salvage leaves out lines that cannot be read ([Session.Skipped] tells) and reads what stands around them: an entry
	// whose parent was lost follows the one before it in the log. Else they are a [*CorruptError]. The log keeps them
	// either way.
	Salvage bool
}

// Open opens the session in a file for writing, and makes the file where there is none; see [OpenFile]. A line that
// cannot be read is a [*CorruptError].
func Open(path string) (*Session, error) { return OpenWith(path, Options{}) }

// OpenWith is [Open] with options.
func OpenWith(path string, o Options) (*Session, error) {
	f, err := OpenFile(path, o.File)
	if err != nil {
		return nil, err
	}
	s, err := newSession(f, o)
	if err != nil {
		return nil, err
	}
	if err := f.mend(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Read opens the session in a file for reading, as it is at the time. It takes no lock and changes nothing; a torn end is
// left out.
func Read(path string) (*Session, error) { return ReadWith(path, Options{}) }

// ReadWith is [Read] with options.
func ReadWith(path string, o Options) (*Session, error) {
	f, err := ReadFile(path, o.File)
	if err != nil {
		return nil, err
	}
	return newSession(f, o)
}

// newSession closes the store where it cannot be a session.
func newSession(store Store, o Options) (*Session, error) {
	s, err := New(store, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// New is the session in a store, which it closes when it is closed. An empty store is given a header. Options.File is not
// looked at.
func New(store Store, o Options) (*Session, error) {
	s := &Session{store: store}
	err := error(nil)
	if store.Len() == 0 {
		err = s.begin(o.Header)
	} else {
		err = s.load(o.Salvage)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// begin writes the header of a new session.
func (s *Session) begin(h Header) error {
	if h.ID == "" {
		h.ID = rand.Text()
	}
	if h.Time.IsZero() {
		h.Time = time.Now()
	}
	h.Time = h.Time.UTC().Round(0)
	line, err := plainjson.Marshal(headerLine{Type: typeSession, Version: FormatVersion, Header: h})
	if err != nil {
		return fmt.Errorf("history: the header: %w", err)
	}
	if h, err = decodeHeader(line); err != nil { // as it will be read
		return err
	}
	if err := s.store.Append(line); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = h
	return nil
}

// Header of the session, the zero value for one in memory that nothing was appended to.
func (s *Session) Header() Header {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.header
}

// Entries gives all entries in the order in which they were appended, as they are at the time, one after the other from
// the store. What they hold is the session's and must not be changed. An error is the last that is given.
func (s *Session) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		t, _, err := s.tree("")
		if err != nil {
			yield(Entry{}, err)
			return
		}
		all := make([]int32, len(t.nodes))
		for i := range all {
			all[i] = int32(i)
		}
		t.each(all, false, yield)
	}
}

// Entry gives the entry of an id, the leaf for "". The error is a [*NoEntryError] where there is none.
func (s *Session) Entry(id string) (Entry, error) {
	t, at, err := s.tree(id)
	switch {
	case err != nil:
		return Entry{}, err
	case at < 0:
		return Entry{}, &NoEntryError{ID: id}
	}
	return t.load(at)
}

// Len is the number of entries. It grows with every append and never falls.
func (s *Session) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.nodes)
}

// Path of the file, absolute, or "" for a session that is in none.
func (s *Session) Path() string {
	if f, ok := s.stored().(interface{ Path() string }); ok {
		return f.Path()
	}
	return ""
}

// Lines of the file, its header included; 0 for a session that is in none.
func (s *Session) Lines() int {
	if s.Path() == "" {
		return 0
	}
	return s.stored().Len()
}

// Recovered tells of a torn end found on opening, nil where there was none.
func (s *Session) Recovered() *Recovery {
	if f, ok := s.stored().(interface{ Recovered() *Recovery }); ok {
		return f.Recovered()
	}
	return nil
}

// Skipped lists the lines that were left out under [Options.Salvage].
func (s *Session) Skipped() []*CorruptError { return s.skipped }

func (s *Session) stored() Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.store
}

// Close gives the store up. From then on what needs it fails with [ErrClosed]. Closing twice does nothing.
func (s *Session) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	store, closed := s.store, s.closed
	s.closed = true
	s.mu.Unlock()
	if store == nil || closed {
		return nil
	}
	return store.Close()
}
