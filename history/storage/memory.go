package storage

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// Memory is a [Store] in memory. The zero value is empty. Its positions are line numbers. Several sessions may
// share it. What Replace overwrites is garbage of the process until its memory is used again; pages that were swapped out
// stay in the swap space.
type Memory struct {
	mu     sync.RWMutex
	lines  []Line           // only appended to
	places map[string][]int // by id, ascending
	closed bool
}

// End returns the number of lines.
func (m *Memory) End(ctx context.Context) (Position, error) {
	lines, err := m.all(ctx)
	return Position(len(lines)), err
}

// Append adds lines.
func (m *Memory) Append(ctx context.Context, at Position, lines ...Line) ([]Position, error) {
	if err := CheckLines(lines); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	if end := Position(len(m.lines)); at != end {
		return nil, &ConflictError{At: at, End: end}
	}
	if m.places == nil {
		m.places = map[string][]int{}
	}
	ends := make([]Position, len(lines))
	for i, l := range lines {
		l.Data = slices.Clone(l.Data)
		m.places[l.ID] = append(m.places[l.ID], len(m.lines))
		m.lines = append(m.lines, l)
		ends[i] = Position(len(m.lines))
	}
	return ends, nil
}

// Read returns lines in order.
func (m *Memory) Read(ctx context.Context, from Position) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		lines, err := m.all(ctx)
		if err == nil && (from < 0 || from > Position(len(lines))) {
			err = &PositionError{At: from}
		}
		if err != nil {
			yield(Stored{}, err)
			return
		}
		for i := int(from); i < len(lines); i++ {
			if !yield(storedAt(lines, i), nil) {
				return
			}
		}
	}
}

// Back returns the lines of a path, the newest first.
func (m *Memory) Back(ctx context.Context, before Position, id string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		lines, err := m.all(ctx)
		if err != nil {
			yield(Stored{}, err)
			return
		}
		at := int(min(before, Position(len(lines))))
		if id == "" && at > 1 {
			id = lines[at-1].ID
		}
		for ; id != ""; id = lines[at].Parent {
			at = m.place(id, at)
			if at < 1 { // the header has none
				yield(Stored{}, &NoEntryError{ID: id})
				return
			}
			if !yield(storedAt(lines, at), nil) {
				return
			}
		}
	}
}

// place returns the last place before the given one at which a line has an id, and -1 if none has.
func (m *Memory) place(id string, before int) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, at := range slices.Backward(m.places[id]) {
		if at < before {
			return at
		}
	}
	return -1
}

// Count returns the number of lines from a position on.
func (m *Memory) Count(ctx context.Context, from Position) (int, error) {
	end, err := m.End(ctx)
	if err == nil && (from < 0 || from > end) {
		err = &PositionError{At: from}
	}
	return int(end - from), err
}

// Close closes the store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *Memory) all(ctx context.Context) ([]Line, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	return m.lines, nil
}

// usable returns an error if the context ended or the store is closed.
func (m *Memory) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.closed {
		return ErrClosed
	}
	return nil
}

func storedAt(lines []Line, i int) Stored {
	return Stored{Line: lines[i], At: Position(i), End: Position(i) + 1}
}

// Replace overwrites the data of lines.
func (m *Memory) Replace(ctx context.Context, lines ...Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	all := slices.Clone(m.lines) // others may be reading the old lines
	for _, l := range lines {
		if l.At <= 0 || int(l.At) >= len(all) {
			return &PositionError{At: l.At}
		}
		all[l.At].Data = slices.Clone(l.Data)
	}
	m.lines = all
	return nil
}

// Remove drops all lines, and closes the store.
func (m *Memory) Remove(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	m.lines, m.places, m.closed = nil, nil, true
	return nil
}
