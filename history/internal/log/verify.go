package log

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/worded"
)

// missing reports whether an error is a [*storage.NoEntryError].
func missing(err error) bool {
	_, ok := errors.AsType[*storage.NoEntryError](err)
	return ok
}

// noParent returns the error of a line whose parent is not before it.
func noParent(id string) error {
	return worded.Errorf(&storage.NoEntryError{ID: id}, "its parent %q is not before it", id)
}

// Verify reads everything in a store and returns an error for each line that is wrong: lines that cannot be read, ids
// that occur twice, entries whose parent does not precede them. The second result is an error of the store itself.
func Verify(ctx context.Context, store storage.Store) ([]*storage.CorruptError, error) {
	var list []*storage.CorruptError
	err := examine(ctx, store, func(_ storage.Stored, _ string, wrong *storage.CorruptError) {
		if wrong != nil {
			list = append(list, wrong)
		}
	})
	return list, err
}

// examine reads everything in a store and calls visit with each line, the id of the readable line before it, and the
// error of the line, nil if there is none.
func examine(ctx context.Context, store storage.Store, visit func(line storage.Stored, before string, wrong *storage.CorruptError)) error {
	x := examination{known: map[string]bool{}}
	if err := x.resume(ctx, store, visit); err != nil {
		return err
	}
	if x.lines == 0 {
		visit(storage.Stored{}, "", &storage.CorruptError{Path: pathOf(store), Line: 1, Err: errors.New("there is no header of a session")})
	}
	return nil
}

// pathOf returns the path of a store that is a file, "" for any other.
func pathOf(store storage.Store) string {
	if f, ok := store.(interface{ Path() string }); ok {
		return f.Path()
	}
	return ""
}

// examination is the state of examining a store.
type examination struct {
	known  map[string]bool // ids of the readable lines
	before string          // the last of them
	lines  int
	end    storage.Position
}

// resume examines the lines that follow.
func (x *examination) resume(ctx context.Context, store storage.Store, visit func(line storage.Stored, before string, wrong *storage.CorruptError)) error {
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
			visit(s, x.before, &storage.CorruptError{Path: pathOf(store), Line: x.lines, Err: err})
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

// examineLine returns the error of a line, a [*storage.NoEntryError] if only its parent, or the entry that it keeps, is
// missing.
func examineLine(s storage.Stored, known map[string]bool) error {
	if s.At == 0 {
		_, err := entry.DecodeHeader(s.Data)
		return err
	}
	e, err := entry.Decode(s.Data)
	switch {
	case err != nil:
		return err
	case e.ID != s.ID || string(e.Type()) != s.Kind || e.Parent != s.Parent:
		return fmt.Errorf("the line holds the %s %q with parent %q, not the %s %q with parent %q", e.Type(), e.ID, e.Parent, s.Kind, s.ID, s.Parent)
	case known[s.ID]:
		return fmt.Errorf("a second entry with the id %q", s.ID)
	case s.Parent != "" && !known[s.Parent]:
		return noParent(s.Parent)
	}
	if id := e.Compaction().Boundary(); id != "" && !known[id] {
		return worded.Errorf(&storage.NoEntryError{ID: id}, "the entry %q at which it cuts is not before it", id)
	}
	return nil
}
