package history

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// Session is a conversation: everything that was said, and the compactions made of it, as a tree that is only ever
// appended to. The zero value is an empty session in memory; [Open] keeps one in a file, and [New] in any
// [storage.Store]. It is safe for concurrent use.
//
// What was said stays in the store. In memory a session holds what is shown at the leaf, and some hundred bytes for
// each entry from the cut of the newest compaction on; recently read entries are in a [Cache] that sessions share.
// Older entries are read from the store on demand.
type Session struct {
	options Options

	writing lock            // held while appending, and while waiting for the store
	ids     ids             // safe by itself
	taken   map[string]bool // ids of all entries, once a caller has given one; guarded by writing
	spare   []string        // ids from Options.IDs that were not used; guarded by writing

	mu     sync.RWMutex  // guards the fields below, never held for long
	store  storage.Store // nil in memory until the first entry
	key    uint64        // of the session in the cache
	header entry.Header
	end    storage.Position // end of the store, as far as the session has read it
	path   path             // to the leaf
	closed bool
	claims map[string]*claim // see [Session.Claim]
	holder string            // of the session's leases; "" until one is taken

	views views
}

// Options say how a session is opened. The zero value holds the defaults.
type Options struct {
	// File configures the log.
	File storage.FileOptions
	// Header of a new session. Defaults to a random id and the current time.
	Header entry.Header
	// MaxLine is the maximum length, in bytes, of a line that is written to any store. Defaults to File.MaxLine.
	MaxLine int64
	// Redact, if set, is called with each text before it is written and returns what is written instead, so that a
	// secret reaches neither the store nor what is made from the session: prompts, plans and summaries. [entry.Passage]
	// lists the texts that it is called with, and [entry.Entry.Redacted] the places that it changed. Texts that are in
	// the store already are not changed.
	//
	//   - JSON stays JSON: strings, numbers and keys are passed one by one, and a number that is changed becomes a string.
	//   - An image or a document that is changed becomes a text.
	//   - Thinking that is changed loses its signature, so that it is not sent to a model again.
	//   - A preamble keeps the digest of its original, by which plans find it.
	//
	// It sees one text at a time, so a secret that spans two texts is missed. If it panics, or returns text that is not
	// valid UTF-8, nothing is written, and the error is a [*entry.RedactError]. It runs in the goroutine that adds
	// entries, possibly in several at a time, and blocks only that one.
	Redact func(entry.Passage) string
	// Salvage skips lines that cannot be read ([Session.Skipped] lists them) and reads those around them: an entry
	// whose parent was lost follows the one before it in the log, and a compaction that cut at an entry that was lost
	// cuts at the one that followed it. If the header cannot be read the session gets one with the id of its first
	// entry. The log keeps the lines. Opening reads the whole log. A file without an entry in one of its first lines is
	// not a log, and is still refused. Without Salvage, a line that cannot be read is a [*storage.CorruptError] when it
	// is needed. Off by default.
	Salvage bool
	// IDs returns the id of each new entry. An id that an entry has already is skipped. Defaults to 20 characters that
	// sort by time, half of them random, so that two writers do not choose the same.
	IDs func() string
	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
	// Cache for entries that were recently read or appended. Defaults to one of 64 MiB that all sessions of the process
	// share.
	Cache *Cache
}

// writable returns a line that was encoded, or an error if it is nested too deep or too long to be written.
func (o Options) writable(line []byte, err error) ([]byte, error) {
	if err == nil {
		err = entry.CheckDepth(line)
	}
	limit := cmp.Or(o.MaxLine, o.File.MaxLine, storage.DefaultMaxLine)
	if size := int64(len(line)); err == nil && size > limit {
		err = &storage.LineTooLongError{Bytes: size, Max: limit}
	}
	return line, err
}

// Open opens the session in a file for writing, and creates the file if it is missing; see [storage.OpenFile]. The log
// is read from its end back to what the newest compaction keeps. A line in that part that cannot be read is a
// [*storage.CorruptError]; [Verify] checks all lines.
func Open(path string, o Options) (*Session, error) {
	f, err := storage.OpenFile(path, o.File)
	if err != nil {
		return nil, err
	}
	s, err := newSession(f, o)
	if err != nil {
		return nil, err
	}
	if err := f.Mend(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Read opens the session in a file for reading, as it is at the time; [Session.Refresh] reads what was appended since.
// It takes no lock and changes nothing; a torn end is ignored.
func Read(path string, o Options) (*Session, error) {
	f, err := storage.ReadFile(path, o.File)
	if err != nil {
		return nil, err
	}
	return newSession(f, o)
}

// newSession returns the session in a store, and closes the store on an error.
func newSession(store storage.Store, o Options) (*Session, error) {
	s, err := New(context.Background(), store, o)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// New returns the session in a store, and closes the store with the session. An empty store is given a header.
// Options.File is ignored.
func New(ctx context.Context, store storage.Store, o Options) (*Session, error) {
	if o.MaxLine < 0 {
		return nil, fmt.Errorf("history: Options.MaxLine is %d: want 1 byte or more, or 0 for the default", o.MaxLine)
	}
	store = guarded(store)
	s := &Session{options: o, store: store, key: sessions.Add(1)}
	end, err := store.End(ctx)
	if err != nil {
		return nil, err
	}
	if end == 0 {
		err := s.begin(ctx, o.Header)
		if err == nil {
			return s, nil
		}
		conflict, ok := errors.AsType[*storage.ConflictError](err)
		if !ok {
			return nil, err
		}
		end = conflict.End // another session has written it
	}
	if o.Salvage {
		salvaged, err := salvage(ctx, store)
		if err != nil {
			return nil, err
		}
		s.store = salvaged
	}
	if s.header, err = headerOf(ctx, s.reader()); err == nil {
		s.end = end
		s.path, err = s.reader().open(ctx, end, "")
	}
	if err != nil {
		if _, corrupt := errors.AsType[*storage.CorruptError](err); corrupt {
			err = fmt.Errorf("%w; set Options.Salvage to skip it", err)
		}
		return nil, err
	}
	return s, nil
}

// headerOf reads the header of a session.
func headerOf(ctx context.Context, r *reader) (entry.Header, error) {
	for s, err := range r.store.Read(ctx, 0) {
		if err != nil && s.End == 0 {
			return entry.Header{}, err
		}
		if err == nil {
			var h entry.Header
			if h, err = entry.DecodeHeader(s.Data); err == nil {
				return h, nil
			}
		}
		if salvaged, ok := r.store.(*salvagedStore); ok && len(salvaged.lines) > 0 {
			return entry.Header{ID: salvaged.lines[0].id}, nil
		}
		return entry.Header{}, r.corrupt(ctx, 0, err)
	}
	return entry.Header{}, r.corrupt(ctx, 0, errors.New("there is no header of a session"))
}

// begin writes the header of a new session.
func (s *Session) begin(ctx context.Context, h entry.Header) error {
	if h.ID == "" {
		h.ID = rand.Text()
	}
	if h.Time.IsZero() {
		var err error
		if h.Time, err = s.Now(ctx); err != nil {
			return err
		}
	}
	h.Time = h.Time.UTC().Round(0)
	h, err := h.Redact(ctx, s.options.Redact)
	if err != nil {
		return inEntry("the header", err)
	}
	line, err := s.options.writable(h.Encode())
	if err != nil {
		return inEntry("the header", err)
	}
	if h, err = entry.DecodeHeader(line); err != nil { // the header as it will be read
		return err
	}
	ends, err := s.store.Append(ctx, 0, storage.Line{ID: h.ID, Kind: storage.KindHeader, Data: line})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header, s.end = h, ends[0]
	return nil
}

// Now returns the time by the session's clock ([Options.Now]), which is given to entries without a time of their own.
func (s *Session) Now(ctx context.Context) (time.Time, error) {
	if s.options.Now != nil {
		return callOption(ctx, "Options.Now", s.options.Now)
	}
	return time.Now(), nil
}

// reader returns a reader of the session's entries. The caller holds mu, or has the only reference.
func (s *Session) reader() *reader {
	r := &reader{store: s.store, cache: s.options.Cache, key: s.key}
	if r.cache == nil {
		r.cache = sharedCache
	}
	return r
}

// state returns the current state of the session: a reader of its entries, the path to its leaf, and the end of the
// store as it knows it.
func (s *Session) state() (*reader, path, storage.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, path{}, 0, storage.ErrClosed
	}
	return s.reader(), s.path, s.end, nil
}

// begins locks writing for an append. It returns an error if the session is closed.
func (s *Session) begins(ctx context.Context) error {
	if _, _, _, err := s.state(); err != nil {
		return err
	}
	return s.writing.take(ctx)
}

// Header returns the header of the session, and the zero value for one in memory to which nothing was appended.
func (s *Session) Header() entry.Header {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.header
}

// Entries returns all entries in the order in which they were appended, as far as the session knows them, read one
// after the other from the store. What they hold is shared and must not be changed. An error is the last value.
func (s *Session) Entries(ctx context.Context) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		r, _, end, err := s.state()
		if err != nil {
			yield(entry.Entry{}, err)
			return
		}
		if r.store == nil {
			return
		}
		for line, err := range r.store.Read(ctx, 0) {
			whole := err == nil || line.End != 0
			if whole && line.At == 0 { // the header
				continue
			}
			if whole && line.At >= end {
				return
			}
			e, err := r.decode(ctx, line, err)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Entry returns the entry with an id, the leaf for "". An entry that is not shown is searched for in the store, from
// its end back. The error is a [*storage.NoEntryError] if there is none.
func (s *Session) Entry(ctx context.Context, id string) (entry.Entry, error) {
	r, p, end, err := s.state()
	if err != nil {
		return entry.Entry{}, err
	}
	i := len(p.nodes) - 1
	if id != "" {
		i = p.index(id)
	}
	if i >= 0 {
		return r.load(ctx, p.nodes[i])
	}
	if id == "" || r.store == nil {
		return entry.Entry{}, &storage.NoEntryError{ID: id}
	}
	e, _, err := r.lookUp(ctx, end, entry.Ref{ID: id})
	return e, err
}

// Path returns the absolute path of the session's file, "" if it has none.
func (s *Session) Path() string {
	if f, ok := s.stored().(interface{ Path() string }); ok {
		return f.Path()
	}
	return ""
}

// Transcript returns what a breadcrumb refers to, and the zero value if the session's store is not a
// [storage.Transcriber].
func (s *Session) Transcript() storage.Transcript {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.reader().transcript()
}

// Lines returns the number of lines in the store, the header included; 0 if the store does not count them.
func (s *Session) Lines(ctx context.Context) (int, error) {
	r, p, _, err := s.state()
	if err != nil {
		return 0, err
	}
	return r.lines(ctx, p)
}

// lines counts the lines of a store from the newest compaction on a path on, and adds the number before it, which the
// compaction holds.
func (r *reader) lines(ctx context.Context, p path) (int, error) {
	counter, ok := unwrapped(r.store).(storage.LineCounter)
	if !ok {
		return 0, nil
	}
	before, from := 0, storage.Position(0)
	for _, n := range slices.Backward(p.nodes) {
		_, staged := r.staged[n.at]
		if c := n.compaction; c != nil && !staged && c.Carried.Lines > 0 {
			before, from = c.Carried.Lines, n.at
			break
		}
	}
	more, err := do(ctx, r.store, "Count", func(ctx context.Context) (int, error) { return counter.Count(ctx, from) })
	return before + more, err
}

// Recovered describes the torn end that was found on opening, and is nil if there was none.
func (s *Session) Recovered() *storage.Recovery {
	if f, ok := s.stored().(interface{ Recovered() *storage.Recovery }); ok {
		return f.Recovered()
	}
	return nil
}

// Skipped lists the lines that were skipped because of [Options.Salvage].
func (s *Session) Skipped() []*storage.CorruptError {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if salvaged, ok := s.store.(*salvagedStore); ok {
		return salvaged.leftOut()
	}
	return nil
}

func (s *Session) stored() storage.Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return unwrapped(s.store)
}

// Close closes the store. From then on methods that need it fail with [storage.ErrClosed]. Close waits up to 5 seconds
// for a writer; if the store has not returned by then, Close returns an error that says so, and the store stays open
// until Close is called again. Leases of the session's claims end first, within 4
// seconds ([Session.Claim]). Closing twice does nothing.
func (s *Session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	busy := s.writing.take(ctx)
	if busy == nil {
		defer s.writing.release()
	}
	s.mu.Lock()
	store := s.store
	s.closed = true
	s.mu.Unlock()
	s.endLeases()
	if store == nil || busy != nil {
		return busy
	}
	return store.Close() // closing twice does nothing
}
