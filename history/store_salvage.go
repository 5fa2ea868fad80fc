package history

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
)

// salvagedStore is a store without the lines that cannot be read.
type salvagedStore struct {
	Store

	mu       sync.Mutex // guards what follows
	examined examination
	lines    []salvagedLine          // that can be read, in order; only ever appended to
	places   map[string]int          // of them, by id
	lost     map[string]salvagedLine // the first that followed an entry that was lost, by its id
	skipped  []*CorruptError
}

// salvagedLine is a line that can be read.
type salvagedLine struct {
	id, parent string
	at         Position
}

// mostSkipped is how many lines may be left out of a log. One with more is something else, and the list would take too much memory.
const mostSkipped = 1 << 20

// salvage examines a store.
func salvage(ctx context.Context, store Store) (*salvagedStore, error) {
	s := &salvagedStore{Store: store, examined: examination{known: map[string]bool{}}, places: map[string]int{}, lost: map[string]salvagedLine{}}
	_, err := s.all(ctx)
	return s, err
}

// all returns all lines that can be read, those that were appended since too.
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
	var tooMany *CorruptError // the first that has no room among what is left out
	err = s.examined.goOn(ctx, s.Store, func(line Stored, before string, wrong *CorruptError) {
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

// leftOut lists the lines that cannot be read.
func (s *salvagedStore) leftOut() []*CorruptError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.skipped)
}

// cut returns a compaction that cuts at an entry that can be read: if that at which it cut was lost, at what followed it.
func (s *salvagedStore) cut(c Compaction) Compaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.places[c.boundary()]; known {
		return c
	}
	next, ok := s.lost[c.boundary()]
	switch {
	case ok && c.FirstKept != "":
		c.FirstKept = next.id
	case ok:
		c.LastCovered = next.parent
	}
	return c
}

// before returns how many of the lines stand before a position.
func before(lines []salvagedLine, at Position) int {
	return sort.Search(len(lines), func(i int) bool { return lines[i].at >= at })
}

// Read returns the lines that can be read.
func (s *salvagedStore) Read(ctx context.Context, from Position) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		lines, err := s.all(ctx)
		if err != nil {
			yield(Stored{}, err)
			return
		}
		lines = lines[before(lines, from):]
		for line, err := range s.Store.Read(ctx, from) {
			if (err == nil || line.End != 0) && line.At > 0 {
				if len(lines) == 0 {
					return // what was appended meanwhile was not examined
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
func (s *salvagedStore) Back(ctx context.Context, until Position, id string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		lines, err := s.all(ctx)
		if err != nil {
			yield(Stored{}, err)
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
				yield(Stored{}, &NoEntryError{ID: id})
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
