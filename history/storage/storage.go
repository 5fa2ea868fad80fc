package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Store keeps the lines of one session in order: the header, then one line for each entry. It knows only ids and
// parents, not the content of lines. It is safe for concurrent use; package historytest has the tests that every store
// must pass.
//
// Optional interfaces add abilities: see [Texter], [LineCounter], [Picker], [Eraser], [Sharer],
// [Leaser] and [ReadOnlyer].
type Store interface {
	// End returns the position after the last line, including lines that others appended, and 0 if there are none.
	End(ctx context.Context) (Position, error)
	// Append adds lines at a position, which the caller believes to be the end: all of them or, if it fails, none. It
	// returns the position after each of them once they are as durable as the store promises. If the position is not the
	// end the error is a [*ConflictError]. The store does not keep the slices.
	Append(ctx context.Context, at Position, lines ...Line) ([]Position, error)
	// Read returns the lines from a position on, in order. A position at which no line starts is an error. A line that
	// cannot be read is yielded with its position and an error, such as a [*LineTooLongError], and more lines may
	// follow; an error without a line is the last.
	Read(ctx context.Context, from Position) iter.Seq2[Stored, error]
	// Back returns the line with an id before a position, or with "" the last line before it, then the line of its
	// parent, and so on to the root. If several lines have an id, the one nearest to the position counts. A missing line
	// is a [*NoEntryError]. An error, such as that of a line on the way that cannot be read, ends the sequence. The
	// position may be beyond the end.
	Back(ctx context.Context, before Position, id string) iter.Seq2[Stored, error]
	// Close closes the store. From then on its other methods fail with [ErrClosed]. Closing twice does nothing.
	Close() error
}

// Position is a place between two lines of a store, or at one of its ends. 0 is before the first line. The meaning of
// other numbers is up to the store, but they increase from line to line.
type Position int64

// Line is one line of a session.
type Line struct {
	// ID is the id of the entry, and Parent that of the entry that it follows, "" for none. For the header, ID is that
	// of the session.
	ID, Parent string
	// Kind is the type of the entry, and [KindHeader] for the header.
	Kind string
	// Data is the line itself, without the line break at its end: one JSON object on one line. Data returned by a store
	// is valid until the next line is requested.
	Data []byte
}

// KindHeader is the kind of the first line of a session, its header.
const KindHeader = "session"

// Stored is a line in a store, with the positions before and after it.
type Stored struct {
	Line
	At, End Position
}

// Texter is a [Store] that also keeps the texts of long entries in files, for an agent whose tools read files by lines.
// The log is the truth: the files are made from it, and removing them loses nothing.
type Texter interface {
	// TextPath returns the absolute path of the text of an entry, "" if the store keeps no texts.
	TextPath(id string) string
	// WriteText writes the text of an entry in place of an earlier one, whole or not at all.
	WriteText(ctx context.Context, id string, text []byte) error
	// RemoveText removes the text of an entry, if there is one.
	RemoveText(ctx context.Context, id string) error
}

// LineCounter is a [Store] that can count its lines.
type LineCounter interface {
	// Count returns the number of lines from a position to the end.
	Count(ctx context.Context, from Position) (int, error)
}

// Picker is a [Store] that returns lines at several places faster than one after the other.
type Picker interface {
	// Pick returns the lines that start at positions, which are sorted and distinct. Positions at which no line starts
	// are skipped. Errors are as those of Read.
	Pick(ctx context.Context, at ...Position) iter.Seq2[Stored, error]
}

// Eraser is a [Store] whose lines can be made unreadable and which can be removed.
type Eraser interface {
	// Replace overwrites the data of lines, each given with its position At. The new data has at most as many bytes as
	// the old; positions, ids, parents and kinds stay. It returns once that is durable: all lines are replaced or none,
	// even after a crash.
	Replace(ctx context.Context, lines ...Stored) error
	// Remove removes the session with everything in it, and closes the store.
	Remove(ctx context.Context) error
}

// Sharer is a [Store] that reports whether others may append to it at the same time.
type Sharer interface{ Shared() bool }

// Leaser is a [Store] that several processes share and that keeps leases on work for its session, such as a plan that
// one of them runs. Leases are not lines. All times are by the store's clock.
type Leaser interface {
	// Lease takes or renews a holder's lease on work, from now for a duration, and reports whether the holder has it. It
	// returns false if another holder has a lease that has not expired.
	Lease(ctx context.Context, work, holder string, d time.Duration) (bool, error)
	// Leased returns the state of the lease on work.
	Leased(ctx context.Context, work string) (LeaseState, error)
	// EndLease ends a holder's lease on work, after which there is none. It does nothing if the holder has none.
	EndLease(ctx context.Context, work, holder string) error
}

// LeaseState is the state of a lease of a [Leaser], and so of a claim on work on a session.
type LeaseState int

// The states.
const (
	// LeaseNone: nobody has taken the lease, or its holder has ended it.
	LeaseNone LeaseState = iota
	// LeaseHeld: a holder has the lease.
	LeaseHeld
	// LeaseExpired: the holder neither renewed the lease nor ended it. A store may forget that after an hour.
	LeaseExpired
	// LeaseUnknown: it may be held elsewhere, but the store keeps no leases, or failed. No [Leaser] returns it.
	LeaseUnknown
)

// ReadOnlyer is a [Store] that reports whether it is open for reading only.
type ReadOnlyer interface{ ReadOnly() bool }

// ErrReadOnly is returned for an append to a session or a store that is open for reading only.
var ErrReadOnly = errors.New("storage: the session is open for reading only")

// ErrClosed is returned by a session or a store that was closed.
var ErrClosed = errors.New("storage: the session is closed")

// ConflictError is returned for an append to a store to which somebody else has appended since. Nothing was written.
type ConflictError struct {
	// At is the position at which the lines were to be written, End the end of the store. Both are 0 if they are not
	// known.
	At, End Position
}

func (e *ConflictError) Error() string {
	if e.End == 0 {
		return "storage: the session was appended to meanwhile: call Refresh, and look at what was said"
	}
	return fmt.Sprintf("storage: the session was appended to meanwhile, to %d and not %d: call Refresh, and look at what was said", e.End, e.At)
}

// LineTooLongError is returned for a line that is longer than a store reads or writes.
type LineTooLongError struct {
	// Bytes is the length of the line, and Max the maximum.
	Bytes, Max int64
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the line has %d bytes, more than the limit of %d: raise MaxLine", e.Bytes, e.Max)
}

// NoEntryError is returned for an id that no entry of a session has.
type NoEntryError struct{ ID string }

func (e *NoEntryError) Error() string { return fmt.Sprintf("storage: there is no entry %q", e.ID) }

// PositionError is returned for a position at which no line of a store starts.
type PositionError struct{ At Position }

func (e *PositionError) Error() string { return fmt.Sprintf("storage: no line begins at %d", e.At) }

// StoreError is returned if a store that is not promptree's own panicked, ended its goroutine, returned an impossible
// value, or had not returned a second after the context ended. If an Append did not return, it is not known whether its
// lines were written: refresh the session once the store returns.
type StoreError struct {
	// Store is the type of the store, and Method the method that was called.
	Store, Method string
	Err           error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("history: %s of %s: %v", e.Method, e.Store, e.Err)
}

// Unwrap returns what went wrong.
func (e *StoreError) Unwrap() error { return e.Err }

// CheckLines returns an error if lines cannot be appended to a store: each needs an id, a kind, and data without line
// breaks.
func CheckLines(lines []Line) error {
	for i, l := range lines {
		switch {
		case len(l.Data) == 0 || bytes.IndexByte(l.Data, '\n') >= 0:
			return fmt.Errorf("storage: line %d of %d is empty or holds a line break", i+1, len(lines))
		case l.ID == "" || l.Kind == "":
			return fmt.Errorf("storage: line %d of %d has no id or no kind", i+1, len(lines))
		}
	}
	return nil
}
