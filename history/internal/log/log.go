package log

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/worded"
)

// Options are those of package history, which guards the functions.
type Options struct {
	Header  entry.Header
	MaxLine int64 // 0 for the default
	Redact  func(entry.Passage) string
	Shrink  func(context.Context, chat.Image) (string, error)
	Salvage bool
	IDs     func(context.Context) (string, error)
	Now     func(context.Context) (time.Time, error)
	Cache   *Cache // nil for the one that all logs of the process share
	Recall  bool
}

// writable returns the line of an entry or a header, or an error if it is nested too deep or too long to be written.
func (o Options) writable(of interface {
	Encode() ([]byte, error)
	CheckDepth(line []byte) error
}) ([]byte, error) {
	line, err := of.Encode()
	if err == nil {
		err = of.CheckDepth(line)
	}
	limit := cmp.Or(o.MaxLine, storage.DefaultMaxLine)
	if size := int64(len(line)); err == nil && size > limit {
		err = &storage.LineTooLongError{Bytes: size, Max: limit}
	}
	return line, err
}

// Log is a session in a store, without its views: a tree of entries to which entries are appended. The zero value is
// an empty log in memory. It is safe for concurrent use.
type Log struct {
	options Options
	reading Reading
	claims  claims

	writing Lock            // held while appending, and while waiting for the store
	ids     generator       // guarded by writing
	taken   map[string]bool // ids of all entries, once a caller has given one; guarded by writing
	calls   *calls          // of the path to the leaf; guarded by writing

	store  storage.Store // nil until it is used, of the zero value
	memory sync.Once     // makes that one in memory

	mu     sync.RWMutex // guards the fields below, never held for long
	key    uint64       // of the log in the cache; another one after an erasure
	header entry.Header
	end    storage.Position // end of the store, as far as the log has read it
	path   Path             // to the leaf
	closed bool
}

// Open opens the log in a store, which it closes when it is closed. An empty store is given a header. The log must be
// the zero value.
func (l *Log) Open(ctx context.Context, store storage.Store, o Options) error {
	store = guarded(store)
	l.options, l.store, l.key = o, store, sessions.Add(1)
	l.reading = readingOf(store, o.Recall)
	end, err := store.End(ctx)
	if err != nil {
		return err
	}
	if end == 0 {
		err := l.begin(ctx, o.Header)
		if err == nil {
			return nil
		}
		conflict, ok := errors.AsType[*storage.ConflictError](err)
		if !ok {
			return err
		}
		end = conflict.End // another session has written it
	}
	if o.Salvage {
		salvaged, err := salvage(ctx, store)
		if err != nil {
			return err
		}
		l.store = salvaged
	}
	if l.header, err = headerOf(ctx, l.reader()); err == nil {
		l.end = end
		l.path, err = l.reader().open(ctx, end, "")
	}
	if err == nil {
		err = l.reader().checkLeaf(ctx, l.path)
	}
	if _, corrupt := errors.AsType[*storage.CorruptError](err); corrupt && !ofOtherFormat(err) && !o.Salvage {
		err = fmt.Errorf("%w; set Options.Salvage to skip it", err)
	}
	return err
}

// begin writes the header of a new session.
func (l *Log) begin(ctx context.Context, h entry.Header) error {
	h.ID = cmp.Or(h.ID, rand.Text())
	if h.Time.IsZero() {
		var err error
		if h.Time, err = l.Now(ctx); err != nil {
			return err
		}
	}
	h.Time = h.Time.UTC().Round(0)
	h, err := h.Redact(ctx, l.options.Redact)
	if err != nil {
		return InEntry("the header", err)
	}
	line, err := l.options.writable(h)
	if err != nil {
		return InEntry("the header", err)
	}
	if err = h.UnmarshalJSON(line); err != nil { // the header as it will be read
		return err
	}
	ends, err := l.store.Append(ctx, 0, storage.Line{ID: h.ID, Kind: storage.KindHeader, Data: line})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.header, l.end = h, ends[0]
	return nil
}

// Now returns the time by the session's clock ([Options.Now]), which is given to entries without a time of their own.
// See history.Session.Now.
func (l *Log) Now(ctx context.Context) (time.Time, error) {
	if l.options.Now != nil {
		return l.options.Now(ctx)
	}
	return time.Now(), nil
}

// reader returns a reader of the session's entries. The caller holds mu, or has the only reference.
func (l *Log) reader() *Reader {
	store := l.rawStore() // which may set the key
	return &Reader{Reading: l.reading, store: store, cache: cmp.Or(l.options.Cache, sharedCache), Key: l.key}
}

// State returns the current state of the session: a reader of its entries, the path to its leaf, and the end of the
// store as it knows it.
func (l *Log) State() (*Reader, Path, storage.Position, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return nil, Path{}, 0, storage.ErrClosed
	}
	return l.reader(), l.path, l.end, nil
}

// begins locks writing for an append, and returns the state of the session, which stays until the caller changes it. The error
// says that the session is closed, or that the context ended first; then nothing is locked.
func (l *Log) begins(ctx context.Context) (r *Reader, p Path, end storage.Position, err error) {
	if _, _, _, err = l.State(); err == nil {
		err = l.writing.Take(ctx)
	}
	if err != nil {
		return nil, Path{}, 0, err
	}
	if r, p, end, err = l.State(); err != nil {
		l.writing.Release()
	}
	return r, p, end, err
}

// Header returns the header of the session, and the zero value for one in memory to which nothing was appended. See
// history.Session.Header.
func (l *Log) Header() entry.Header {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.header
}

// Recovered describes the torn end that was found on opening, and is nil if there was none. See
// history.Session.Recovered.
func (l *Log) Recovered() *storage.Recovery {
	if f, ok := l.stored().(interface{ Recovered() *storage.Recovery }); ok {
		return f.Recovered()
	}
	return nil
}

// Skipped lists the lines that were skipped because of [Options.Salvage]. See history.Session.Skipped.
func (l *Log) Skipped() []*storage.CorruptError {
	if salvaged, ok := l.rawStore().(*salvagedStore); ok {
		return salvaged.leftOut()
	}
	return nil
}

// rawStore returns the store as the log uses it: that of the zero value is in memory.
func (l *Log) rawStore() storage.Store {
	l.memory.Do(func() {
		if l.store == nil {
			l.store, l.key = &storage.Memory{}, sessions.Add(1)
		}
	})
	return l.store
}

// stored returns the caller's own store.
func (l *Log) stored() storage.Store { return unwrapped(l.rawStore()) }

// ReadOnly reports whether the session was opened for reading only. See history.Session.ReadOnly.
func (l *Log) ReadOnly() bool {
	store, ok := l.stored().(storage.ReadOnlyer)
	return ok && ability(l.stored(), store.ReadOnly)
}

// Shared reports whether other processes may append to the session's store at the same time, as reported by a
// [storage.Sharer]. See history.Session.Shared.
func (l *Log) Shared() bool { return isShared(l.rawStore()) }

// Close closes the store. See history.Session.Close.
func (l *Log) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	busy := l.writing.Take(ctx)
	if busy == nil {
		defer l.writing.Release()
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.claims.end()
	if busy != nil {
		return busy
	}
	return l.rawStore().Close() // closing twice does nothing
}

// InEntry returns an error of the package about an entry. If err begins with the package's name, that is written once.
func InEntry(which string, err error) error { return worded.In("history", which, err) }
