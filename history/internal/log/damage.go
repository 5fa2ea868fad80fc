package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/worded"
)

// missing reports whether an error is a [*storage.NoEntryError].
func missing(err error) bool {
	_, ok := errors.AsType[*storage.NoEntryError](err)
	return ok
}

// ofOtherFormat reports whether an error is an [*entry.FormatError]: such a log is not damaged, and there is nothing to
// salvage.
func ofOtherFormat(err error) bool {
	_, ok := errors.AsType[*entry.FormatError](err)
	return ok
}

// noParent returns the error of a line whose parent is not before it.
func noParent(id string) error {
	return worded.Errorf(&storage.NoEntryError{ID: id}, "its parent %q is not before it", id)
}

// secondEntry returns the error of a line whose id an earlier line has.
func secondEntry(id string) error { return fmt.Errorf("a second entry with the id %q", id) }

// Verify reads everything in a store and returns an error for each line that is wrong: lines that cannot be read, ids
// that occur twice, entries whose parent does not precede them. The second result is an error of the store itself, or an
// [*entry.FormatError].
func Verify(ctx context.Context, store storage.Store) ([]*storage.CorruptError, error) {
	var list []*storage.CorruptError
	x := examination{known: map[string]bool{}}
	err := x.resume(ctx, store, func(_ storage.Stored, _ string, wrong *storage.CorruptError) {
		if wrong != nil {
			list = append(list, wrong)
		}
	})
	if err == nil && x.lines == 0 {
		list = append(list, &storage.CorruptError{Path: pathOf(store), Line: 1, Err: errors.New("there is no header of a session")})
	}
	return list, err
}

// pathOf returns the path of a store that is a file, "" for any other.
func pathOf(store storage.Store) string {
	if f, ok := unwrapped(store).(interface{ Path() string }); ok {
		return ability(store, f.Path)
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

// resume examines the lines that follow, and calls visit with each, the id of the readable line before it, and the error of
// the line, nil if there is none.
func (x *examination) resume(ctx context.Context, store storage.Store, visit func(line storage.Stored, before string, wrong *storage.CorruptError)) error {
	path := sync.OnceValue(func() string { return pathOf(store) }) // a file may have a million damaged lines, or none
	for s, err := range store.Read(ctx, x.end) {
		if err != nil && s.End == 0 {
			return err
		}
		x.lines++
		x.end = s.End
		if err == nil {
			err = examineLine(s, x.known)
		}
		var wrong *storage.CorruptError
		if err != nil {
			wrong = &storage.CorruptError{Path: path(), Line: x.lines, Err: err}
			if wrong.Path != "" {
				wrong.Byte = int64(s.At)
			}
		}
		if ofOtherFormat(err) {
			return wrong
		}
		visit(s, x.before, wrong)
		if s.At > 0 && (err == nil || missing(err)) {
			x.known[s.ID] = true
			x.before = s.ID
		}
	}
	return nil
}

// entryIn returns the entry of a line, and an error if that is not what the store says of the line. Its parent may be another
// if the store is salvaged.
func entryIn(s storage.Stored, salvaged bool) (entry.Entry, error) {
	var e entry.Entry
	err := e.UnmarshalJSON(s.Data)
	if err == nil && (e.ID != s.ID || string(e.Type()) != s.Kind || e.Parent != s.Parent && !salvaged) {
		err = fmt.Errorf("the line holds the %s %q with parent %q, not the %s %q with parent %q", e.Type(), e.ID, e.Parent, s.Kind, s.ID, s.Parent)
	}
	return e, err
}

// examineLine returns the error of a line, a [*storage.NoEntryError] if only its parent, or the entry that it keeps, is
// missing.
func examineLine(s storage.Stored, known map[string]bool) error {
	if s.At == 0 {
		return new(entry.Header).UnmarshalJSON(s.Data)
	}
	e, err := entryIn(s, false)
	switch {
	case err != nil:
		return err
	case known[s.ID]:
		return secondEntry(s.ID)
	case s.Parent != "" && !known[s.Parent]:
		return noParent(s.Parent)
	}
	if id := e.Compaction().Boundary(); id != "" && !known[id] {
		return worded.Errorf(&storage.NoEntryError{ID: id}, "the entry %q at which it cuts is not before it", id)
	}
	return nil
}

// salvagedStore is a store that skips lines that cannot be read.
type salvagedStore struct {
	storage.Store

	mu       sync.Mutex // guards the fields below
	examined examination
	lines    []salvagedLine          // readable lines, in order; only appended to
	places   map[string]int          // their indexes by id
	lost     map[string]salvagedLine // by the id of each lost entry, the first line that followed it
	skipped  []*storage.CorruptError
}

// salvagedLine is a readable line.
type salvagedLine struct {
	id, parent string
	at         storage.Position
}

// mostSkipped is the maximum number of skipped lines. A file with more is not a log, and the list would take too much
// memory.
const mostSkipped = 1 << 20

// salvage examines a store.
func salvage(ctx context.Context, store storage.Store) (*salvagedStore, error) {
	s := &salvagedStore{Store: store, examined: examination{known: map[string]bool{}}, places: map[string]int{}, lost: map[string]salvagedLine{}}
	_, err := s.all(ctx)
	return s, err
}

// all returns all readable lines, including those appended since.
func (s *salvagedStore) all(ctx context.Context) ([]salvagedLine, error) {
	end, err := s.End(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end <= s.examined.end {
		return s.lines, nil
	}
	var tooMany *storage.CorruptError // the first one that exceeds the list
	err = s.examined.resume(ctx, s.Store, func(line storage.Stored, before string, wrong *storage.CorruptError) {
		switch {
		case wrong != nil && !missing(wrong.Err) && len(s.skipped) < mostSkipped:
			s.skipped = append(s.skipped, wrong)
		case wrong != nil && !missing(wrong.Err):
			tooMany = cmp.Or(tooMany, wrong)
		case line.At > 0:
			l := salvagedLine{line.ID, line.Parent, line.At}
			if _, known := s.places[l.parent]; l.parent != "" && !known {
				l.parent = before
				if _, again := s.lost[line.Parent]; !again {
					s.lost[line.Parent] = l
				}
			}
			s.places[l.id] = len(s.lines)
			s.lines = append(s.lines, l)
		}
	})
	if err == nil && tooMany != nil {
		err = fmt.Errorf("more than %d lines cannot be read: %w", mostSkipped, tooMany)
	}
	return s.lines, err
}

// unsalvaged returns the store with all its lines.
func (s *salvagedStore) unsalvaged() storage.Store { return s.Store }

// leftOut returns an error for each line that was skipped.
func (s *salvagedStore) leftOut() []*storage.CorruptError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.skipped)
}

// cut returns a compaction that cuts at a readable entry: if the entry at which it cut was lost, at the one that
// followed it.
func (s *salvagedStore) cut(c entry.Compaction) entry.Compaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.places[c.Boundary()]; known {
		return c
	}
	next, ok := s.lost[c.Boundary()]
	switch {
	case ok && c.FirstKept != "":
		c.FirstKept = next.id
	case ok:
		c.LastCovered = next.parent
	}
	return c
}

// before returns the number of lines before a position.
func before(lines []salvagedLine, at storage.Position) int {
	return sort.Search(len(lines), func(i int) bool { return lines[i].at >= at })
}

// Read returns the readable lines.
func (s *salvagedStore) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		lines, err := s.all(ctx)
		if err != nil {
			yield(storage.Stored{}, err)
			return
		}
		lines = lines[before(lines, from):]
		for line, err := range s.Store.Read(ctx, from) {
			if (err == nil || line.End != 0) && line.At > 0 {
				if len(lines) == 0 {
					return // what was appended in the meantime was not examined
				}
				if line.At != lines[0].at {
					continue
				}
				line.Parent, lines = lines[0].parent, lines[1:]
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// Back returns the lines of a path, the newest first.
func (s *salvagedStore) Back(ctx context.Context, until storage.Position, id string) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		lines, err := s.all(ctx)
		if err != nil {
			yield(storage.Stored{}, err)
			return
		}
		lines = lines[:before(lines, until)]
		if id == "" && len(lines) > 0 {
			id = lines[len(lines)-1].id
		}
		for id != "" {
			s.mu.Lock()
			place, ok := s.places[id]
			s.mu.Unlock()
			if !ok || place >= len(lines) {
				yield(storage.Stored{}, &storage.NoEntryError{ID: id})
				return
			}
			for line, err := range s.Store.Read(ctx, lines[place].at) {
				line.Parent = lines[place].parent
				if !yield(line, err) || err != nil {
					return
				}
				break
			}
			id = lines[place].parent
		}
	}
}
