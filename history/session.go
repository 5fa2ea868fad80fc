package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
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
	log   log.Log
	views views
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
	s := &Session{}
	if err := s.log.Open(ctx, store, o.forLog()); err != nil {
		return nil, err
	}
	return s, nil
}

// Verify reads everything in a store and returns an error for each line that is wrong: lines that cannot be read, ids
// that occur twice, entries whose parent does not precede them. The second result is an error of the store itself.
func Verify(ctx context.Context, store storage.Store) ([]*storage.CorruptError, error) {
	return log.Verify(ctx, store)
}

// Close closes the store. From then on methods that need it fail with [storage.ErrClosed]. Close waits up to 5 seconds
// for a writer; if the store has not returned by then, Close returns an error that says so, and the store stays open
// until Close is called again. Leases of the session's claims end first, within 4
// seconds ([Session.Claim]). Closing twice does nothing.
func (s *Session) Close() error { return s.log.Close() }

// Header returns the header of the session, and the zero value for one in memory to which nothing was appended.
func (s *Session) Header() entry.Header { return s.log.Header() }

// Path returns the absolute path of the session's file, "" if it has none.
func (s *Session) Path() string { return s.log.Path() }

// Transcript returns what a breadcrumb refers to, and the zero value if the session's store is not a
// [storage.Transcriber].
func (s *Session) Transcript() storage.Transcript { return s.log.Transcript() }

// Lines returns the number of lines in the store, the header included; 0 if the store does not count them.
func (s *Session) Lines(ctx context.Context) (int, error) { return s.log.Lines(ctx) }

// Recovered describes the torn end that was found on opening, and is nil if there was none.
func (s *Session) Recovered() *storage.Recovery { return s.log.Recovered() }

// Skipped lists the lines that were skipped because of [Options.Salvage].
func (s *Session) Skipped() []*storage.CorruptError { return s.log.Skipped() }

// ReadOnly reports whether the session was opened for reading only.
func (s *Session) ReadOnly() bool { return s.log.ReadOnly() }

// Shared reports whether other processes may append to the session's store at the same time, as reported by a
// [storage.Sharer]. A file has one writer, and a store in memory belongs to this process.
func (s *Session) Shared() bool { return s.log.Shared() }

// Now returns the time by the session's clock ([Options.Now]), which is given to entries without a time of their own.
func (s *Session) Now(ctx context.Context) (time.Time, error) { return s.log.Now(ctx) }
