package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Verify reads everything in a store and returns what is wrong with it, line by line: lines that cannot be read, ids that stand
// twice, entries whose parent does not stand before them. The error is that of the store.
func Verify(ctx context.Context, store Store) ([]*CorruptError, error) {
	var list []*CorruptError
	err := examine(ctx, store, func(_ Stored, _ string, wrong *CorruptError) {
		if wrong != nil {
			list = append(list, wrong)
		}
	})
	return list, err
}

// examine reads everything in a store. Visit is called with each line, the one that stands before it and can be read, and what is
// wrong with it.
func examine(ctx context.Context, store Store, visit func(line Stored, before string, wrong *CorruptError)) error {
	path := ""
	if f, ok := store.(interface{ Path() string }); ok {
		path = f.Path()
	}
	known := map[string]bool{}
	before := ""
	n := 0
	for s, err := range store.Read(ctx, 0) {
		if err != nil && s.End == 0 {
			return err
		}
		n++
		if err == nil {
			err = examineLine(s, known)
		}
		if err != nil {
			visit(s, before, &CorruptError{Path: path, Line: n, Err: err})
			if _, orphan := errors.AsType[*NoEntryError](err); !orphan {
				continue
			}
		} else {
			visit(s, before, nil)
		}
		if s.At > 0 {
			known[s.ID] = true
			before = s.ID
		}
	}
	if n == 0 {
		visit(Stored{}, "", &CorruptError{Path: path, Line: 1, Err: errors.New("there is no header of a session")})
	}
	return nil
}

// examineLine returns what is wrong with a line, a [*NoEntryError] if it is only its parent that is missing.
func examineLine(s Stored, known map[string]bool) error {
	if s.At == 0 {
		_, err := decodeHeader(s.Data)
		return err
	}
	e, err := decode(s.Data)
	switch {
	case err != nil:
		return err
	case e.ID != s.ID || e.Type() != s.Kind || e.Parent != s.Parent:
		return fmt.Errorf("it is the %s %q after %q, and not the %s %q after %q", e.Type(), e.ID, e.Parent, s.Kind, s.ID, s.Parent)
	case known[s.ID]:
		return fmt.Errorf("a second entry with the id %q", s.ID)
	case s.Parent != "" && !known[s.Parent]:
		return fmt.Errorf("what it follows does not stand before it: %w", &NoEntryError{ID: s.Parent})
	}
	return nil
}

// salvagedStore is a store without the lines that cannot be read.
type salvagedStore struct {
	Store
	end     Position            // up to which it was examined
	at      map[string]Position // of the lines that can be read, by id
	lines   map[Position]string // what each of them follows
	order   []Position
	skipped []*CorruptError
	tooMany *CorruptError // the first that has no room among them
}

// mostSkipped is how many lines may be left out of a log. One with more is something else, and the list would take too much memory.
const mostSkipped = 1 << 20

// salvage examines a store.
func salvage(ctx context.Context, store Store) (*salvagedStore, error) {
	s := &salvagedStore{Store: store, at: map[string]Position{}, lines: map[Position]string{}}
	err := examine(ctx, store, func(line Stored, before string, wrong *CorruptError) {
		s.end = line.End
		parent := line.Parent
		if wrong != nil {
			if _, orphan := errors.AsType[*NoEntryError](wrong.Err); !orphan {
				if len(s.skipped) < mostSkipped {
					s.skipped = append(s.skipped, wrong)
				} else if s.tooMany == nil {
					s.tooMany = wrong
				}
				return
			}
			parent = before
		}
		if line.At > 0 {
			s.at[line.ID], s.lines[line.At] = line.At, parent
			s.order = append(s.order, line.At)
		}
	})
	if err == nil && s.tooMany != nil {
		err = fmt.Errorf("more than %d lines cannot be read: %w", mostSkipped, s.tooMany)
	}
	return s, err
}

// Read returns the lines that can be read.
func (s *salvagedStore) Read(ctx context.Context, from Position) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		for line, err := range s.Store.Read(ctx, from) {
			if (err == nil || line.End != 0) && line.At > 0 && line.At < s.end {
				parent, ok := s.lines[line.At]
				if !ok {
					continue
				}
				line.Parent = parent
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// Back returns the lines of a path, the newest first.
func (s *salvagedStore) Back(ctx context.Context, before Position, id string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		if id == "" && before <= s.end {
			for i := len(s.order) - 1; i >= 0 && id == ""; i-- {
				if s.order[i] < before {
					id = s.idAt(ctx, s.order[i])
				}
			}
			if id == "" {
				return
			}
		}
		if _, ok := s.at[id]; !ok { // it was appended since
			for line, err := range s.Store.Back(ctx, before, id) {
				if !yield(line, err) || err != nil {
					return
				}
				if id = line.Parent; s.at[id] != 0 {
					break
				}
			}
		}
		for id != "" {
			at, ok := s.at[id]
			if !ok || at >= before {
				yield(Stored{}, &NoEntryError{ID: id})
				return
			}
			id = ""
			for line, err := range s.Read(ctx, at) {
				if !yield(line, err) || err != nil {
					return
				}
				id = line.Parent
				break
			}
		}
	}
}

// idAt returns the id of the line at a position.
func (s *salvagedStore) idAt(ctx context.Context, at Position) string {
	for line, err := range s.Store.Read(ctx, at) {
		if err == nil {
			return line.ID
		}
		break
	}
	return ""
}
