package history

import (
	"context"
	"errors"
	"fmt"
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
	x := examination{known: map[string]bool{}}
	if err := x.goOn(ctx, store, visit); err != nil {
		return err
	}
	if x.lines == 0 {
		visit(Stored{}, "", &CorruptError{Path: pathOf(store), Line: 1, Err: errors.New("there is no header of a session")})
	}
	return nil
}

// pathOf returns the path of a store that is a file, "" for another.
func pathOf(store Store) string {
	if f, ok := store.(interface{ Path() string }); ok {
		return f.Path()
	}
	return ""
}

// examination is how far a store was examined.
type examination struct {
	known  map[string]bool // ids of the lines that can be read
	before string          // the last of them
	lines  int
	end    Position
}

// goOn examines the lines that follow.
func (x *examination) goOn(ctx context.Context, store Store, visit func(line Stored, before string, wrong *CorruptError)) error {
	for s, err := range store.Read(ctx, x.end) {
		if err != nil && s.End == 0 {
			return err
		}
		x.lines++
		x.end = s.End
		if err == nil {
			err = examineLine(s, x.known)
		}
		if err != nil {
			visit(s, x.before, &CorruptError{Path: pathOf(store), Line: x.lines, Err: err})
			if !missing(err) {
				continue
			}
		} else {
			visit(s, x.before, nil)
		}
		if s.At > 0 {
			x.known[s.ID] = true
			x.before = s.ID
		}
	}
	return nil
}

// examineLine returns what is wrong with a line, a [*NoEntryError] if it is only that what it follows, or keeps, is missing.
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
	if id := e.Compaction().boundary(); id != "" && !known[id] {
		return fmt.Errorf("the entry at which it cuts does not stand before it: %w", &NoEntryError{ID: id})
	}
	return nil
}
