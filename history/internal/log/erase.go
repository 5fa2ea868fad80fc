package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// ErrNotErasable is returned for an erasure in a store that is not a [storage.Eraser].
var ErrNotErasable = errors.New("history: the session's store cannot erase")

// Erase erases the content of entries for good, and appends an [entry.Erasure], which it returns. See
// history.Session.Erase.
func (l *Log) Erase(ctx context.Context, ids ...string) (entry.Erasure, error) {
	r, _, end, err := l.begins(ctx)
	if err != nil {
		return entry.Erasure{}, err
	}
	defer l.writing.Release()
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return entry.Erasure{}, ErrNotErasable
	}
	if len(ids) == 0 {
		return entry.Erasure{}, nil
	}
	e := eraser{
		erasure: entry.Erasure{Entries: ids}, copies: entry.NewCopies(ctx), given: map[string]bool{}, gone: map[string]bool{}, said: map[string][]string{},
		same: map[string][]said{}, origins: map[string]string{}, forest: forest{index: map[string]int{}},
	}
	if err = e.collect(ctx, r, end); err == nil {
		err = l.removeTexts(ctx, r, e.changed)
	}
	if err == nil {
		err = call(ctx, r.store, "Replace", func(ctx context.Context) error { return store.Replace(ctx, e.lines...) })
	}
	if err == nil {
		err = l.reload(ctx, r, end)
	}
	if err == nil {
		err = l.writeTexts(ctx, r, e.changed, nil)
	}
	if err != nil {
		return entry.Erasure{}, err
	}
	_, err = l.add(ctx, []entry.Entry{{Body: e.erasure}}, false)
	return e.erasure, err
}

// Remove removes the session with everything in it from its store, and closes it. See history.Session.Remove.
func (l *Log) Remove(ctx context.Context) error {
	r, _, _, err := l.begins(ctx)
	if err != nil {
		return err
	}
	defer l.writing.Release()
	store, ok := unwrapped(r.store).(storage.Eraser)
	if !ok {
		return ErrNotErasable
	}
	if err = call(ctx, r.store, "Remove", store.Remove); err != nil {
		return err
	}
	r.cache.forget(r.Key)
	l.mu.Lock()
	l.closed, l.path = true, Path{}
	l.mu.Unlock()
	l.claims.end()
	return nil
}

// eraser walks through a log twice: it finds the copies of erased entries, and then erases.
type eraser struct {
	erasure entry.Erasure
	copies  *entry.Copies
	given   map[string]bool     // the erased entries
	gone    map[string]bool     // these and those that are copies as a whole
	said    map[string][]string // the erased entries by what they say as a whole
	same    map[string][]said   // the others that say the same, by that
	origins map[string]string   // by id of a copy, the first of those that it is a copy of
	forest  forest
	above   []int // of the entries of the forest, the nearest on the path to them that is gone, which may be the entry; -1 if none is
	lines   []storage.Stored
	changed []entry.Entry // those of the lines
}

// said is an entry that was said. It may answer a call.
type said struct{ id, call string }

// collect finds what is erased, in the whole log.
func (e *eraser) collect(ctx context.Context, r *Reader, end storage.Position) error {
	list, err := e.load(ctx, r, end, e.erasure.Entries)
	if err != nil {
		return err
	}
	for _, found := range list {
		e.given[found.ID] = true
		text := entry.Whole(found.Body)
		e.said[text] = append(e.said[text], found.ID)
	}
	for _, id := range e.erasure.Entries {
		if !e.given[id] {
			return &storage.NoEntryError{ID: id}
		}
	}
	if err = e.walk(ctx, r, e.find); err == nil {
		_, err = e.load(ctx, r, end, e.kin())
	}
	if err != nil {
		return err
	}
	e.found()
	return e.walk(ctx, r, e.visit)
}

// load reads entries that are to be erased, as far as there are such.
func (e *eraser) load(ctx context.Context, r *Reader, end storage.Position, ids []string) ([]entry.Entry, error) {
	refs := make([]entry.Ref, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	_, list, err := r.Resolve(ctx, end, refs)
	for _, found := range list {
		e.gone[found.ID] = true
		if err := e.copies.Add(found); err != nil {
			return nil, err
		}
	}
	return list, err
}

// walk calls a function with each entry of the log. What the function finds counts only if the context has not ended.
func (e *eraser) walk(ctx context.Context, r *Reader, visit func(storage.Stored, entry.Entry) error) error {
	for line, err := range r.store.Read(ctx, 0) {
		if err == nil && line.Kind == storage.KindHeader {
			continue
		}
		found, err := r.decode(ctx, line, err)
		if err != nil {
			return err
		}
		if err = cmp.Or(visit(line, found), context.Cause(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// leastWhole is the length in bytes of a text from which on it is a copy of an equal text wherever that stands, and not only
// on another branch: on one path people say "go on" twice.
const leastWhole = 32

// find finds out where an entry stands, and whether it may be a copy.
func (e *eraser) find(_ storage.Stored, found entry.Entry) error {
	e.forest.add(found.ID, found.Parent)
	if found.Of != "" {
		e.origins[found.ID] = cmp.Or(e.origins[found.Of], found.Of)
	}
	if text := entry.Whole(found.Body); text != "" && len(e.said[text]) > 0 && !e.gone[found.ID] {
		e.same[text] = append(e.same[text], said{found.ID, found.Message().ToolCallID})
	}
	return nil
}

// kin returns the entries that an erased one names as what it is a copy of, and all that name the same.
func (e *eraser) kin() (list []string) {
	origins := map[string]bool{}
	for id := range e.gone {
		origin := cmp.Or(e.origins[id], id)
		if !origins[origin] && !e.gone[origin] {
			list = append(list, origin)
		}
		origins[origin] = true
	}
	for id, origin := range e.origins {
		if origins[origin] && !e.gone[id] {
			list = append(list, id)
		}
	}
	return list
}

// found adds the entries that say the same to those that are erased.
func (e *eraser) found() {
	e.forest.number()
	for text, list := range e.same {
		if len(text) < leastWhole {
			list = e.forest.apart(list, e.said[text])
		}
		for _, s := range list {
			e.gone[s.id] = true
			e.copies.AddID(s.id, s.call)
		}
	}
	e.above = make([]int, len(e.forest.parents))
	for id, i := range e.forest.index {
		if e.above[i] = -1; e.gone[id] {
			e.above[i] = i
		}
	}
	for i, parent := range e.forest.parents {
		if e.above[i] < 0 {
			e.above[i] = e.under(parent)
		}
	}
}

// under returns the nearest entry that is gone on the path to another of the forest; -1 if none is.
func (e *eraser) under(i int) int {
	if i < 0 {
		return i
	}
	return e.above[i]
}

// covers reports whether what stands for other entries covers some that are gone.
func (e *eraser) covers(found entry.Entry) bool {
	switch b := found.Body.(type) {
	case entry.Compaction:
		last := e.forest.at(cmp.Or(b.Boundary(), found.Parent))
		if b.FirstKept != "" && last >= 0 {
			last = e.forest.parents[last]
		}
		return e.under(last) >= 0
	case entry.BranchSummary:
		left, here := e.under(e.forest.at(b.From)), e.under(e.forest.at(found.Parent))
		return left >= 0 && (here < 0 || !e.forest.leads(left, here))
	}
	return false
}

// mostHolders is the maximum number of holders that are listed.
const mostHolders = 1000

// visit erases an entry, or the copies that it holds.
func (e *eraser) visit(line storage.Stored, found entry.Entry) error {
	was := found.Body
	if e.covers(found) && !e.given[found.ID] {
		e.erasure.Summaries = append(e.erasure.Summaries, found.ID)
	}
	changed := e.gone[found.ID]
	if changed {
		found.Body = entry.Erased(was)
	} else {
		found.Body, changed = e.copies.Without(was)
	}
	if end, ok := found.Body.(entry.PlanEnd); ok {
		n := len(end.Finished)
		end.Finished = slices.DeleteFunc(slices.Clone(end.Finished), func(a entry.SummaryAnswer) bool { return e.under(e.forest.at(cmp.Or(a.To, found.Parent))) >= 0 })
		found.Body, changed = end, changed || len(end.Finished) < n
	}
	switch {
	case changed && !e.given[found.ID]:
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

// forest says of all entries of a log which stand on the path to which. They are numbered in the order of the log, in which
// parents come before their children.
type forest struct {
	index   map[string]int // by id
	parents []int          // -1 for none
	first   []int          // the places of the entries in an order in which each is followed by all below it
	size    []int          // how many these are, with the entry
}

// add adds the next entry.
func (f *forest) add(id, parent string) {
	p := f.at(parent)
	f.index[id] = len(f.parents)
	f.parents = append(f.parents, p)
}

// at returns the number of an entry, -1 if there is none of an id.
func (f *forest) at(id string) int {
	if i, ok := f.index[id]; ok {
		return i
	}
	return -1
}

// number finds the places of the entries, once all are added.
func (f *forest) number() {
	n := len(f.parents)
	f.first, f.size = make([]int, n), make([]int, n)
	for i, p := range slices.Backward(f.parents) {
		f.size[i]++
		if p >= 0 {
			f.size[p] += f.size[i]
		}
	}
	roots, next := 0, make([]int, n) // the places of what comes next below an entry
	for i, p := range f.parents {
		place := &roots
		if p >= 0 {
			place = &next[p]
		}
		f.first[i], next[i] = *place, *place+1
		*place += f.size[i]
	}
}

// leads reports whether an entry is on the path to another, or is it.
func (f *forest) leads(from, to int) bool {
	return f.first[from] <= f.first[to] && f.first[to] < f.first[from]+f.size[from]
}

// apart returns those of a list that are not on the path to any of the others, nor these on the path to them.
func (f *forest) apart(list []said, others []string) []said {
	var all, highest []int // of the others
	for _, id := range others {
		all = append(all, f.index[id])
	}
	place := func(i, first int) int { return cmp.Compare(f.first[i], first) }
	slices.SortFunc(all, func(a, b int) int { return place(a, f.first[b]) })
	for _, i := range all {
		if n := len(highest); n == 0 || !f.leads(highest[n-1], i) {
			highest = append(highest, i)
		}
	}
	return slices.DeleteFunc(list, func(s said) bool {
		i := f.index[s.id]
		below, _ := slices.BinarySearchFunc(all, f.first[i], place)
		above, _ := slices.BinarySearchFunc(highest, f.first[i], place)
		return below < len(all) && f.leads(i, all[below]) || above > 0 && f.leads(highest[above-1], i)
	})
}
