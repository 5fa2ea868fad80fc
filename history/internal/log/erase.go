package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// ErrNotErasable is returned for an erasure in a store that is not an [storage.Eraser].
var ErrNotErasable = errors.New("history: the session's store cannot erase")

// Erase erases the content of entries for good, and appends an [entry.Erasure], which it returns. See
// history.Session.Erase.
func (l *Log) Erase(ctx context.Context, ids ...string) (entry.Erasure, error) {
	if err := l.begins(ctx); err != nil {
		return entry.Erasure{}, err
	}
	defer l.writing.Release()
	r, _, end, err := l.State()
	if err != nil {
		return entry.Erasure{}, err
	}
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return entry.Erasure{}, ErrNotErasable
	}
	if len(ids) == 0 {
		return entry.Erasure{}, nil
	}
	e := newEraser(ids)
	for _, id := range ids {
		found, _, err := r.lookUp(ctx, end, entry.Ref{ID: id})
		if err != nil {
			return entry.Erasure{}, err
		}
		e.add(found)
	}
	if err := e.walk(ctx, r, e.find); err != nil {
		return entry.Erasure{}, err
	}
	e.found()
	if err := e.walk(ctx, r, e.visit); err != nil {
		return entry.Erasure{}, err
	}
	if err := l.removeTexts(ctx, r, e.changed); err != nil {
		return entry.Erasure{}, err
	}
	_, err = do(ctx, r.store, "Replace", func(ctx context.Context) (struct{}, error) { return struct{}{}, store.Replace(ctx, e.lines...) })
	if err != nil {
		return entry.Erasure{}, err
	}
	if err := l.reload(ctx, r, end); err != nil {
		return entry.Erasure{}, err
	}
	if err := l.writeTexts(ctx, r, e.changed, nil); err != nil {
		return entry.Erasure{}, err
	}
	_, err = l.add(ctx, []entry.Entry{{Body: e.erasure}}, false)
	return e.erasure, err
}

// Remove removes the session with everything in it from its store, and closes it. See history.Session.Remove.
func (l *Log) Remove(ctx context.Context) error {
	if err := l.begins(ctx); err != nil {
		return err
	}
	defer l.writing.Release()
	r, _, _, err := l.State()
	if err != nil {
		return err
	}
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return ErrNotErasable
	}
	_, err = do(ctx, r.store, "Remove", func(ctx context.Context) (struct{}, error) { return struct{}{}, store.Remove(ctx) })
	if err != nil {
		return err
	}
	r.cache.forget(r.Key)
	l.mu.Lock()
	l.closed, l.path = true, Path{}
	l.mu.Unlock()
	l.claims.end()
	return nil
}

// eraser walks through a log twice: it finds messages that say the same as erased ones, and then erases.
type eraser struct {
	erasure entry.Erasure
	copies  *entry.Copies
	whole   map[string]string   // what each erased entry says as a whole, by id
	erased  map[string][]string // the erased entries by what they say
	parents map[string]string   // of all entries
	same    map[string]said     // entries that say the same as an erased one
	above   map[string]string   // by id, the nearest erased entry on the path to an entry, which may be the entry
	lines   []storage.Stored
	changed []entry.Entry // those of the lines
}

// said is an entry that says the same as an erased one, whose id is of. It may answer a call.
type said struct{ of, call string }

func newEraser(ids []string) *eraser {
	return &eraser{
		erasure: entry.Erasure{Entries: ids}, copies: entry.NewCopies(), whole: map[string]string{}, erased: map[string][]string{},
		parents: map[string]string{}, same: map[string]said{}, above: map[string]string{},
	}
}

// add records an entry that is erased.
func (e *eraser) add(found entry.Entry) {
	text := entry.Whole(found.Body)
	e.whole[found.ID], e.erased[text] = text, append(e.erased[text], found.ID)
	e.copies.Add(found)
}

// walk calls a function with each entry of the log.
func (e *eraser) walk(ctx context.Context, r *Reader, visit func(storage.Stored, entry.Entry) error) error {
	clear(e.above)
	for line, err := range r.store.Read(ctx, 0) {
		if err == nil && line.Kind == storage.KindHeader {
			continue
		}
		found, err := r.decode(ctx, line, err)
		if err != nil {
			return err
		}
		e.place(found)
		if err := visit(line, found); err != nil {
			return err
		}
	}
	return nil
}

// place records where an entry stands. Parents come before their children.
func (e *eraser) place(found entry.Entry) {
	e.parents[found.ID] = found.Parent
	above := e.above[found.Parent]
	if _, erased := e.whole[found.ID]; erased {
		above = found.ID
	}
	e.above[found.ID] = above
}

// leastWhole is the length in bytes of a text from which on it is a copy of an equal text wherever that stands, and not only
// on another branch: on one path people say "go on" twice.
const leastWhole = 32

// find finds the messages that say as a whole what an erased one does.
func (e *eraser) find(_ storage.Stored, found entry.Entry) error {
	text := entry.Whole(found.Body)
	if _, erased := e.whole[found.ID]; erased || text == "" || len(e.erased[text]) == 0 {
		return nil
	}
	if len(text) < leastWhole {
		for id := range e.abovePath(found.ID) {
			if e.whole[id] == text {
				return nil
			}
		}
	}
	e.same[found.ID] = said{e.erased[text][0], found.Message().ToolCallID}
	return nil
}

// found adds what was found to the entries that are erased.
func (e *eraser) found() {
	for text, ids := range e.erased {
		for _, id := range ids {
			for id = e.parents[id]; len(text) < leastWhole && id != ""; id = e.parents[id] {
				if e.whole[e.same[id].of] == text {
					delete(e.same, id)
				}
			}
		}
	}
	for id, s := range e.same {
		e.whole[id] = e.whole[s.of]
		e.copies.AddID(id, s.call)
	}
}

// abovePath returns the erased entries on the path to an entry, the nearest first.
func (e *eraser) abovePath(id string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id = e.above[id]; id != "" && yield(id); id = e.above[e.parents[id]] {
		}
	}
}

// covers reports whether what stands for other entries covers erased ones.
func (e *eraser) covers(found entry.Entry) bool {
	switch b := found.Body.(type) {
	case entry.Compaction:
		cut := cmp.Or(b.Boundary(), found.Parent)
		if b.FirstKept != "" {
			cut = e.parents[cut]
		}
		return e.above[cut] != ""
	case entry.BranchSummary:
		left := e.above[b.From]
		for id := range e.abovePath(found.Parent) {
			if id == left {
				return false
			}
		}
		return left != ""
	}
	return false
}

// mostHolders is the maximum number of holders that are listed.
const mostHolders = 1000

// visit erases an entry, or the copies that it holds.
func (e *eraser) visit(line storage.Stored, found entry.Entry) error {
	was := found.Body
	if e.covers(found) && !slices.Contains(e.erasure.Entries, found.ID) {
		e.erasure.Summaries = append(e.erasure.Summaries, found.ID)
	}
	changed := false
	if _, changed = e.whole[found.ID]; changed {
		found.Body = entry.Erased(was)
	} else {
		found.Body, changed = e.copies.Without(was)
	}
	if end, ok := found.Body.(entry.PlanEnd); ok {
		n := len(end.Finished)
		end.Finished = slices.DeleteFunc(slices.Clone(end.Finished), func(a entry.SummaryAnswer) bool { return e.above[cmp.Or(a.To, found.Parent)] != "" })
		found.Body, changed = end, changed || len(end.Finished) < n
	}
	switch given := slices.Contains(e.erasure.Entries, found.ID); {
	case changed && !given:
		e.erasure.Copies = append(e.erasure.Copies, found.ID)
	case !changed && len(e.erasure.Holders) < mostHolders && e.copies.Holds(was):
		e.erasure.Holders = append(e.erasure.Holders, found.ID)
	}
	if c, ok := was.(entry.Compaction); ok && c.Checkpoints != "" && !slices.Contains(e.erasure.Folders, c.Checkpoints) {
		if changed || slices.Contains(e.erasure.Summaries, found.ID) {
			e.erasure.Folders = append(e.erasure.Folders, c.Checkpoints)
		}
	}
	if !changed {
		return nil
	}
	data, err := found.Encode()
	if err == nil && len(data) > len(line.Data) { // the old line was written in a shorter form
		err = fmt.Errorf("history: entry %q cannot be erased: the line that replaces it would be longer", found.ID)
	}
	if err != nil {
		return err
	}
	line.Data = data
	e.lines, e.changed = append(e.lines, line), append(e.changed, found)
	return nil
}
