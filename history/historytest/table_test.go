package historytest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
)

// table holds the lines of a session as a database would. Positions are numbers of rows.
type table struct {
	mu        sync.Mutex
	rows      []storage.Line
	appending sync.Mutex // held by an Append that adds its rows one by one
	reading   int        // reads in progress
}

// tableStore is a store in a table, which several may have open. It may have a mistake.
type tableStore struct {
	table   *table
	mistake string

	mu     sync.Mutex
	closed bool
	known  storage.Position // the end after this store's last Append
}

// mistakes that the author of a store in a database may make.
const (
	notAtomic      = "an append is not one transaction"
	inParts        = "a read sees a part of an append"
	anyPosition    = "Append ignores the position"
	endsOffByOne   = "Append returns where lines begin, not where they end"
	noConflictEnd  = "a conflict has no end"
	backFromEnd    = "Back ignores the position"
	backByPlace    = "Back returns the line before instead of the parent"
	oldestOfTwo    = "Back finds the first of two lines with one id"
	staleEnd       = "End ignores what others appended"
	asText         = "data is stored as text"
	noContext      = "the context is ignored"
	swallowedError = "an error during a read ends it like the end"
	closeIgnored   = "a closed store can be used"
	closesAll      = "closing one store removes the rows of all"
	oneConnection  = "Append fails during a read"
	wrongStart     = "Read begins one line late"
	keepsSlice     = "the caller's slice of data is kept"
	writesNothing  = "Append returns positions and writes nothing"
	writesValid    = "Append writes the lines before an invalid one"
	swapsLines     = "Append swaps the first two lines"
	dropsParents   = "Append drops the parents"
	readsTwice     = "Read returns each line twice"
	backOnce       = "Back returns only the first line"
)

var mistakes = []string{
	notAtomic, inParts, anyPosition, endsOffByOne, noConflictEnd, backFromEnd, backByPlace, oldestOfTwo, staleEnd, asText, noContext,
	swallowedError, closeIgnored, closesAll, oneConnection, wrongStart, keepsSlice, writesNothing, writesValid, swapsLines, dropsParents,
	readsTwice, backOnce,
}

// Shared reports whether others may append.
func (s *tableStore) Shared() bool { return true }

// rows returns all rows.
func (s *tableStore) rows(ctx context.Context) ([]storage.Line, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed && s.mistake != closeIgnored:
		return nil, storage.ErrClosed
	case ctx.Err() != nil && s.mistake != noContext:
		return nil, context.Cause(ctx)
	}
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return s.table.rows, nil
}

func (s *tableStore) End(ctx context.Context) (storage.Position, error) {
	rows, err := s.rows(ctx)
	if s.mu.Lock(); err == nil && s.mistake == staleEnd && s.known > 0 {
		defer s.mu.Unlock()
		return s.known, nil
	}
	s.mu.Unlock()
	return storage.Position(len(rows)), err
}

func (s *tableStore) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if _, err := s.rows(ctx); err != nil {
		return nil, err
	}
	for i, l := range lines {
		if len(l.Data) == 0 || strings.ContainsRune(string(l.Data), '\n') || l.ID == "" || l.Kind == "" {
			if s.mistake == writesValid {
				_, _ = s.Append(ctx, at, lines[:i]...)
			}
			return nil, errors.New("invalid line")
		}
	}
	if s.mistake == inParts {
		s.table.appending.Lock()
		defer s.table.appending.Unlock()
	}
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if s.mistake == oneConnection && s.table.reading > 0 {
		return nil, errors.New("the connection is in use")
	}
	if end := storage.Position(len(s.table.rows)); at != end && s.mistake != anyPosition {
		conflict := &storage.ConflictError{At: at, End: end}
		if s.mistake == noConflictEnd {
			conflict.End = 0
		}
		return nil, conflict
	}
	if s.mistake == swapsLines && len(lines) > 1 {
		lines = slices.Concat(lines[1:2], lines[:1], lines[2:])
	}
	ends := make([]storage.Position, len(lines))
	for i, l := range lines {
		if s.mistake == dropsParents {
			l.Parent = ""
		}
		if s.mistake != keepsSlice {
			l.Data = slices.Clone(l.Data)
		}
		if s.mistake == asText {
			l.Data = []byte(strings.ToValidUTF8(string(l.Data), "\ufffd"))
		}
		if ends[i] = storage.Position(len(s.table.rows) + 1); s.mistake == writesNothing {
			continue
		}
		s.table.rows = append(s.table.rows, l)
		if s.mistake == endsOffByOne {
			ends[i]--
		}
		if s.mistake == notAtomic || s.mistake == inParts {
			s.table.mu.Unlock()
			time.Sleep(200 * time.Microsecond)
			s.table.mu.Lock()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = storage.Position(len(s.table.rows))
	return ends, nil
}

func (s *tableStore) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		rows, err := s.rows(ctx)
		if err == nil && (from < 0 || from > storage.Position(len(rows))) {
			err = &storage.PositionError{At: from}
		}
		if err != nil {
			yield(storage.Stored{}, err)
			return
		}
		if s.mistake == wrongStart && from > 0 {
			from++
		}
		defer s.read()()
		for i := int(from); i < len(rows); i++ {
			if ctx.Err() != nil && s.mistake != noContext {
				if s.mistake != swallowedError {
					yield(storage.Stored{}, context.Cause(ctx))
				}
				return
			}
			if !yield(stored(rows, i), nil) || s.mistake == readsTwice && !yield(stored(rows, i), nil) {
				return
			}
		}
	}
}

// read counts a read in progress until the returned function is called.
func (s *tableStore) read() func() {
	count := func(n int) {
		s.table.mu.Lock()
		defer s.table.mu.Unlock()
		s.table.reading += n
	}
	count(1)
	return func() { count(-1) }
}

func stored(rows []storage.Line, i int) storage.Stored {
	return storage.Stored{Line: rows[i], At: storage.Position(i), End: storage.Position(i) + 1}
}

func (s *tableStore) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		rows, err := s.rows(ctx)
		if err != nil {
			yield(storage.Stored{}, err)
			return
		}
		at := int(min(before, storage.Position(len(rows))))
		if s.mistake == backFromEnd {
			at = len(rows)
		}
		if id == "" && at > 1 {
			id = rows[at-1].ID
		}
		for id != "" {
			named := func(l storage.Line) bool { return l.ID == id }
			next := -1
			for i := at - 1; i > 0 && next < 0; i-- {
				if named(rows[i]) {
					next = i
				}
			}
			if first := slices.IndexFunc(rows, named); s.mistake == oldestOfTwo && next > 0 {
				next = first
			}
			if at = next; at < 0 {
				yield(storage.Stored{}, &storage.NoEntryError{ID: id})
				return
			}
			if !yield(stored(rows, at), nil) || s.mistake == backOnce {
				return
			}
			if id = rows[at].Parent; s.mistake == backByPlace && id != "" {
				id = rows[at-1].ID
			}
		}
	}
}

func (s *tableStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.mistake == closesAll {
		s.table.mu.Lock()
		defer s.table.mu.Unlock()
		s.table.rows = nil
	}
	return nil
}

// The tests run in a child process, because they must fail.
func TestTheSuiteFindsMistakesOfAStoreInADatabase(t *testing.T) {
	t.Parallel()
	if name, child := os.LookupEnv(mistakeEnv); child {
		historytest.Run(t, historytest.Suite{
			New: func(*testing.T) func() (storage.Store, error) {
				shared := &table{}
				return func() (storage.Store, error) { return &tableStore{table: shared, mistake: name}, nil }
			},
			Shared: true,
		})
		return
	}
	for _, name := range append(mistakes, "") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(os.Args[0], "-test.run=^TestTheSuiteFindsMistakesOfAStoreInADatabase$")
			child.Env = append(os.Environ(), mistakeEnv+"="+name)
			out, err := child.CombinedOutput()
			if name == "" {
				require.NoError(t, err, string(out))
				return
			}
			require.Error(t, err)
			require.Contains(t, string(out), "--- FAIL")
			require.NotContains(t, string(out), "panic")
		})
	}
}

// mistakeEnv names the mistake of the store that a child process runs the tests on.
const mistakeEnv = "PROMPTREE_HISTORYTEST_MISTAKE"
