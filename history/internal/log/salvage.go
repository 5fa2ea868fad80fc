package log

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

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
