package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/promptree-go/promptree/history/entry"
)

// builder assembles a recording.
type builder struct {
	rec   Recording
	index map[string]int  // of each record, by id
	notes map[noteKey]int // index of each note
	bad   int             // unreadable lines with a note of their own
	made  int             // ids that were made up
	tip   string          // the record that was added last and is not aside
	skip  bool            // leave out what cannot be read
}

type noteKey struct {
	reason NoteKind
	what   string
}

func newBuilder() *builder {
	return &builder{index: map[string]int{}, notes: map[noteKey]int{}}
}

// add adds a record. If it has no id, it gets one from its place. Its parent must have been added before.
func (b *builder) add(r Record) error {
	if r.ID == "" {
		r.ID = b.madeUp()
	}
	if len(r.ID) > entry.MaxID {
		return fmt.Errorf("the id %q has more than %d bytes", clip(r.ID), entry.MaxID)
	}
	if at, ok := b.index[r.ID]; ok {
		return fmt.Errorf("the id %q is already used by line %d", clip(r.ID), b.rec.Records[at].Line)
	}
	b.index[r.ID] = len(b.rec.Records)
	b.rec.Records = append(b.rec.Records, r)
	if !r.Aside {
		b.tip = r.ID
	}
	return nil
}

// madeUp returns an id that no record has.
func (b *builder) madeUp() string {
	for {
		b.made++
		if id := "r" + strconv.Itoa(b.made); !b.has(id) {
			return id
		}
	}
}

// take calls a function that reads a line. If it returns an error, what it added is removed, and with skip set the line is
// left out with a note.
func (b *builder) take(number int, skip bool, read func() error) error {
	records, notes, tip := len(b.rec.Records), len(b.rec.Notes), b.tip
	err := read()
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*LineError](err)
	if !ok {
		bad = &LineError{Line: number, Err: err}
	}
	b.drop(records, notes, tip)
	if !skip {
		return bad
	}
	b.unreadable(bad)
	return nil
}

// drop removes all but the first records and notes, and restores the tip.
func (b *builder) drop(records int, notes int, tip string) {
	for _, r := range b.rec.Records[records:] {
		delete(b.index, r.ID)
	}
	b.rec.Records, b.tip = b.rec.Records[:records], tip
	for _, n := range b.rec.Notes[notes:] {
		delete(b.notes, noteKey{n.Kind, n.What})
	}
	b.rec.Notes = b.rec.Notes[:notes]
}

func (b *builder) has(id string) bool {
	_, ok := b.index[id]
	return ok
}

// get returns the record with an id. It is valid until the next is added.
func (b *builder) get(id string) *Record {
	if i, ok := b.index[id]; ok {
		return &b.rec.Records[i]
	}
	return nil
}

// note counts something that was left out.
func (b *builder) note(line int, reason NoteKind, what string) {
	key := noteKey{reason, clip(what)}
	if i, ok := b.notes[key]; ok {
		b.rec.Notes[i].Count++
		return
	}
	b.notes[key] = len(b.rec.Notes)
	b.rec.Notes = append(b.rec.Notes, Note{Line: line, Count: 1, Kind: reason, What: key.what})
}

// maxUnreadable is the number of unreadable lines with a note each. Further ones are counted in the last note.
const maxUnreadable = 1000

func (b *builder) unreadable(err *LineError) {
	if b.bad == maxUnreadable {
		b.note(err.Line, Unreadable, "further lines")
		return
	}
	b.bad++
	b.rec.Notes = append(b.rec.Notes, Note{Line: err.Line, Count: 1, Kind: Unreadable, What: err.Err.Error()})
}

// pending holds the notes of a line that may still turn out to be unreadable.
type pending []noteKey

func (p *pending) add(reason NoteKind, what string) { *p = append(*p, noteKey{reason, what}) }

// rest adds a note for each field of an object that was not read.
func (p *pending) rest(path string, o *object) {
	for _, name := range o.rest() {
		if path != "" {
			name = path + "." + name
		}
		p.add(NoPlace, name)
	}
}

func (b *builder) noteAll(line int, notes pending) {
	for _, n := range notes {
		b.note(line, n.reason, n.what)
	}
}

// recording returns what was read.
func (b *builder) recording() (*Recording, error) {
	if b.rec.Format == "" {
		return nil, &LineError{Line: 1, Err: unknownFormat(errors.New("there is nothing to read"))}
	}
	slices.SortStableFunc(b.rec.Notes, func(x, y Note) int { return cmp.Compare(x.Line, y.Line) })
	return &b.rec, nil
}
