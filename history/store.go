package history

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Store keeps the lines of one session in order: the header, then an entry each. It knows nothing of what they say. It
// is safe for concurrent use; package historytest has the tests that every store must pass.
//
// A store may have more methods that a session passes on: Path() string, Recovered() *Recovery, ReadOnly() bool and
// Shared() bool; see the methods of [Session] of the same names.
type Store interface {
	// Len is the number of lines. It never falls.
	Len() int
	// Lines gives the lines with the numbers from, from+1, …, to-1, from 0, without their ends. What is given is valid
	// until the next step. A line that is longer than the store reads is a [*LineTooLongError], after which the lines
	// may go on; any other error is the last. A range that is not within 0 and Len is an error.
	Lines(from, to int) iter.Seq2[[]byte, error]
	// Append adds lines after the last, all or, where it fails, none. It returns once they are as durable as the store
	// promises. A line is not empty and holds no line break. The store does not keep the slices.
	Append(lines ...[]byte) error
	// Close gives the store up. From then on Lines and Append fail with [ErrClosed]. Closing twice does nothing.
	Close() error
}

// ErrReadOnly tells that a session was opened with [Read].
var ErrReadOnly = errors.New("history: the session is open for reading only")

// ErrClosed tells that a session or its store was closed.
var ErrClosed = errors.New("history: the session is closed")

// LineTooLongError tells of a line that is longer than a store reads or writes.
type LineTooLongError struct {
	// Bytes that the line has, and the most that it may have.
	Bytes, Max int64
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("the line has %d bytes, more than the limit of %d: raise MaxLine", e.Bytes, e.Max)
}

// checkLines tells what is no line.
func checkLines(lines [][]byte) error {
	for _, l := range lines {
		if len(l) == 0 || bytes.IndexByte(l, '\n') >= 0 {
			return errors.New("history: a line that is empty or holds a line break")
		}
	}
	return nil
}

// checkRange tells what is no range of a store's lines.
func checkRange(from, to, length int) error {
	if from < 0 || to < from || to > length {
		return fmt.Errorf("history: there are no lines from %d to %d, there are %d", from, to, length)
	}
	return nil
}

// MemoryStore is a [Store] that forgets everything with the process. The zero value is empty.
type MemoryStore struct {
	mu     sync.RWMutex
	lines  [][]byte
	closed bool
}

// Len is the number of lines.
func (m *MemoryStore) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.lines)
}

// Lines gives lines.
func (m *MemoryStore) Lines(from, to int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		m.mu.RLock()
		lines, closed := m.lines, m.closed
		m.mu.RUnlock()
		err := checkRange(from, to, len(lines))
		if closed {
			err = ErrClosed
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, l := range lines[from:to] {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// Append adds lines.
func (m *MemoryStore) Append(lines ...[]byte) error {
	if err := checkLines(lines); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	for _, l := range lines {
		m.lines = append(m.lines, slices.Clone(l))
	}
	return nil
}

// Close gives the store up.
func (m *MemoryStore) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
