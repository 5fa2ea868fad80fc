package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/promptree-go/promptree/history"
)

// builder puts a recording together.
type builder struct {
	rec   Recording
	index map[string]int  // of records, by id
	notes map[noteKey]int // of notes, by what they are about
	bad   int             // unreadable lines that have a note of their own
	made  int             // ids that were made up
	tip   string          // the record that was added last and is no aside
}

type noteKey struct {
	reason NoteKind
	what   string
}

func newBuilder() *builder {
	return &builder{index: map[string]int{}, notes: map[noteKey]int{}}
}

// add adds a record. Without an id it gets one of its place. A parent must have been added before.
func (b *builder) add(r Record) error {
	if r.ID == "" {
		r.ID = b.madeUp()
	}
	if len(r.ID) > history.MaxID {
		return fmt.Errorf("the id %q has more than %d bytes", clip(r.ID), history.MaxID)
	}
	if at, ok := b.index[r.ID]; ok {
		return fmt.Errorf("the id %q is that of line %d", clip(r.ID), b.rec.Records[at].Line)
	}
	b.index[r.ID] = len(b.rec.Records)
	b.rec.Records = append(b.rec.Records, r)
	if !r.Aside {
		b.tip = r.ID
	}
	return nil
}

// madeUp is an id that no record has yet.
func (b *builder) madeUp() string {
	for {
		b.made++
		if id := "r" + strconv.Itoa(b.made); !b.has(id) {
			return id
		}
	}
}

// drop takes back the records and notes that were added since there were so many of them.
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

// get is the record with an id that was added. It is valid until the next is added.
func (b *builder) get(id string) *Record {
	if i, ok := b.index[id]; ok {
		return &b.rec.Records[i]
	}
	return nil
}

// note counts something that is left out.
func (b *builder) note(line int, reason NoteKind, what string) {
	key := noteKey{reason, clip(what)}
	if i, ok := b.notes[key]; ok {
		b.rec.Notes[i].Count++
		return
	}
	b.notes[key] = len(b.rec.Notes)
	b.rec.Notes = append(b.rec.Notes, Note{Line: line, Count: 1, Kind: reason, What: key.what})
}

// maxUnreadable is how many unreadable lines have a note each. What follows is counted in the last one.
const maxUnreadable = 1000

func (b *builder) unreadable(err *LineError) {
	if b.bad == maxUnreadable {
		b.note(err.Line, Unreadable, "further lines")
		return
	}
	b.bad++
	b.rec.Notes = append(b.rec.Notes, Note{Line: err.Line, Count: 1, Kind: Unreadable, What: err.Err.Error()})
}

// pending are the notes of a line that may yet turn out to be unreadable.
type pending []noteKey

func (p *pending) add(reason NoteKind, what string) { *p = append(*p, noteKey{reason, what}) }

// rest notes the fields of an object that nobody has read.
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

// recording is what was read.
func (b *builder) recording() (*Recording, error) {
	if b.rec.Format == "" {
		return nil, &LineError{Line: 1, Err: unknownFormat(errors.New("there is nothing to read"))}
	}
	slices.SortStableFunc(b.rec.Notes, func(x, y Note) int { return cmp.Compare(x.Line, y.Line) })
	return &b.rec, nil
}
