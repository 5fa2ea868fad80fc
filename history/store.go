package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
)

// Store keeps the lines of one session in order: the header, then an entry each. It knows nothing of what they say but who
// follows whom. It is safe for concurrent use; package historytest has the tests that every store must pass.
//
// A store may be able to do more, by methods of its own: see [Transcriber], [LineCounter], [Picker], [Eraser], [Sharer] and
// [ReadOnlyer].
type Store interface {
	// End returns the position after the last line, 0 if there are none. Lines that others appended count.
	End(ctx context.Context) (Position, error)
	// Append adds lines at a position, which is the end as the caller knows it, all of them or, if it fails, none. It returns
	// the positions after each of them, once they are as durable as the store promises. If the position is not the end the
	// error is a [*ConflictError]. The store does not keep the slices.
	Append(ctx context.Context, at Position, lines ...Line) ([]Position, error)
	// Read returns the lines from a position on, in order. A position at which no line begins is an error. A line that cannot
	// be read is returned with its position and an error that says why, such as a [*LineTooLongError], after which the lines
	// may go on; an error without a line is the last.
	Read(ctx context.Context, from Position) iter.Seq2[Stored, error]
	// Back returns the line of an id that stands before a position, or with "" the last line before it, then the line of its
	// parent, and so on to the root. If an id stands more than once, the line nearest to the position counts. A line that is
	// not there is a [*NoEntryError]; every error is the last, and so is that of a line on the way that cannot be read. The
	// position may be beyond the end.
	Back(ctx context.Context, before Position, id string) iter.Seq2[Stored, error]
	// Close gives the store up. From then on its other methods fail with [ErrClosed]. Closing twice does nothing.
	Close() error
}

// Position is a place between two lines of a store, or at one of its ends. 0 is before the first line; what other numbers mean
// is the store's, but that they grow from line to line.
type Position int64

// Line is one line of a session.
type Line struct {
	// ID of the entry, and of the one that it follows, "" for none. For the header ID is that of the session.
	ID, Parent string
	// Kind of the entry. That of the header is [TypeSession].
	Kind EntryType
	// Data is the line itself, without its end: one JSON object, without line breaks. What a store returns is valid until
	// the next line is asked for.
	Data []byte
}

// Stored is a line in a store, with the positions before and after it.
type Stored struct {
	Line
	At, End Position
}

// Transcriber is a store whose lines an agent can read by a tool.
type Transcriber interface {
	// Transcript returns what a breadcrumb names.
	Transcript() Transcript
}

// Transcript is what the breadcrumb beside a summary names, so that an agent finds what the summary leaves out.
type Transcript struct {
	// Name by which the tool finds it: for a file its path, absolute.
	Name string
	// Tool that reads it, by its name. "" is a tool that reads files.
	Tool string
}

// LineCounter is a store that can count its lines.
type LineCounter interface {
	// Count returns the number of lines from a position to the end.
	Count(ctx context.Context, from Position) (int, error)
}

// Picker is a store that returns lines of several places faster than one after the other.
type Picker interface {
	// Pick returns the lines that begin at positions, which are in order and each there once. One at which no line begins is left
	// out. Errors are as those of Read.
	Pick(ctx context.Context, at ...Position) iter.Seq2[Stored, error]
}

// Sharer is a store to which others may append at the same time.
type Sharer interface{ Shared() bool }

// ReadOnlyer is a store that may be open for reading only.
type ReadOnlyer interface{ ReadOnly() bool }

// ErrReadOnly is the error of an append to a session that was opened with [Read].
var ErrReadOnly = errors.New("history: the session is open for reading only")

// ErrClosed is the error of a session or a store that was closed.
var ErrClosed = errors.New("history: the session is closed")

// ConflictError is the error of an append to a store in which somebody else has appended since. Nothing was written.
type ConflictError struct {
	// At is the position at which the lines were to stand, End that of the store's end. Both are 0 if they are not known.
	At, End Position
}

func (e *ConflictError) Error() string {
	if e.End == 0 {
		return "history: the session was appended to meanwhile: call Refresh, and look at what was said"
	}
	return fmt.Sprintf("history: the session was appended to meanwhile, to %d and not %d: call Refresh, and look at what was said", e.End, e.At)
}

// LineTooLongError is the error of a line that is longer than a store reads or writes.
type LineTooLongError struct {
	// Bytes that the line has, and the most that it may have.
	Bytes, Max int64
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the line has %d bytes, more than the limit of %d: raise MaxLine", e.Bytes, e.Max)
}

// NoEntryError is the error of an id that no entry of a session has.
type NoEntryError struct{ ID string }

func (e *NoEntryError) Error() string { return fmt.Sprintf("history: there is no entry %q", e.ID) }

// PositionError is the error of a position at which no line of a store begins.
type PositionError struct{ At Position }

func (e *PositionError) Error() string { return fmt.Sprintf("history: no line begins at %d", e.At) }

// CheckLines returns what is wrong with lines that a store is to append: each needs an id, a kind, and data without line breaks.
func CheckLines(lines []Line) error {
	for i, l := range lines {
		switch {
		case len(l.Data) == 0 || bytes.IndexByte(l.Data, '\n') >= 0:
			return fmt.Errorf("history: line %d of %d is empty or holds a line break", i+1, len(lines))
		case l.ID == "" || l.Kind == "":
			return fmt.Errorf("history: line %d of %d has no id or no kind", i+1, len(lines))
		}
	}
	return nil
}
