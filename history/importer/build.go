package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/wire"
)

// builder assembles a recording. What is wrong with a line is recorded in its object or by fail, and nothing of the line is
// taken then.
type builder struct {
	rec    Recording
	index  map[string]int    // of each record, by id
	after  map[string]string // by the recorder's id of a line in a tree: the record that the next one follows
	notes  map[[2]string]int // by kind and what it is about: the index of each note
	bad    int               // unreadable lines with a note of their own
	made   int               // ids that were made up
	tip    string            // the record that was added last and is not aside
	skip   bool              // leave out what cannot be read
	doc    *document         // the document that is read, nil for lines
	model  string            // that was named last
	before []byte            // the object before
	lines  *lineReader       // of the recording

	at      int    // the line that is read
	pending []Note // of it
	err     error  // the first that fail recorded of it
}

// fail records an error of the line that is read, unless there is one.
func (b *builder) fail(err error) { b.err = cmp.Or(b.err, err) }

// say adds a message after the parent of a record, with data.
func (b *builder) say(r Record, m chat.Message, data json.RawMessage) {
	b.add(r, entry.Message{Message: m, Data: data})
}

// custom adds an object that is read, as it was written.
func (b *builder) custom(r Record, name string, o *wire.Object) {
	b.add(r, entry.Custom{Name: name, Data: o.Source()})
}

// keep adds what is kept for the record only, noted aside.
func (b *builder) keep(r Record, raw json.RawMessage) {
	r.ID, r.Aside = "", true
	b.add(r, entry.Custom{Name: r.Recorded, Data: raw})
}

// answeredBy adds that another model answers from here on, if it is another, and returns the record with it as its parent.
func (b *builder) answeredBy(r Record, provider, model string) Record {
	if model == "" || model == b.model {
		return r
	}
	change := Record{Recorded: "model", Sidechain: r.Sidechain, Entry: entry.Entry{Parent: r.Parent, Time: r.Time}}
	b.add(change, entry.ModelChange{Provider: provider, Model: model})
	b.model, r.Parent = model, b.tip
	return r
}

// each calls f for each object of a list of a whole recording, of none if the list is nil. name is that of the list's field.
// Those that cannot be read are left out with a note if skip is set.
func (b *builder) each(list json.RawMessage, name string, skip bool, f func(o *wire.Object)) {
	if list == nil {
		return
	}
	number, start := b.at, 0
	if b.doc != nil {
		start = max(0, bytes.Index(b.doc.data, list))
	}
	err := wire.Each(list, func(o *wire.Object, offset int) error {
		i := item{number: number, Object: o}
		if b.doc != nil {
			i.number = b.doc.lineAt(start + offset)
		}
		if b.repeats(i) {
			return nil
		}
		return b.take(i, skip, func() { f(o) })
	})
	if err != nil { // take looks in it for the line
		b.fail(fmt.Errorf("%s: %w", name, err))
	}
}

// firstOf returns the first object of a list of an object, nil if there is none.
func firstOf(o *wire.Object, list string) *wire.Object {
	var first *wire.Object
	_ = wire.Each(o.Look(list), func(item *wire.Object, _ int) error { // errors are reported when the list is read
		first = item
		return errFound
	})
	return first
}

var errFound = errors.New("found")

// repeats reports whether an object is the same as the one before it, and notes that. Messages without a time, and pieces of one,
// may be alike.
func (b *builder) repeats(i item) bool {
	raw := i.Source()
	same := bytes.Equal(raw, b.before) && !i.Given("delta") && (i.Given("timestamp") || i.Given("created") || i.Given("$rewindTo"))
	if b.before = raw; same {
		b.noteAt(i.number, noteRepeated, "the one before")
	}
	return same
}

// follows returns the record that the next one after a line of a tree follows. If the line is missing, that is another one,
// with a note that names the field.
func (b *builder) follows(line, otherwise, field string) string {
	if at, ok := b.after[line]; ok || line == "" {
		return at
	}
	b.note(noteUnlinked, field)
	return otherwise
}

// join adds an answer's further parts to those that were read of it.
func (b *builder) join(id string, m chat.Message) {
	before := b.get(id)
	whole := before.Body.(entry.Message)
	whole.Content, whole.ToolCalls = append(whole.Content, m.Content...), append(whole.ToolCalls, m.ToolCalls...)
	before.Body = whole
}

// sayAll adds results one after the other, and returns the record for what follows them.
func (b *builder) sayAll(r Record, results []chat.Message) Record {
	for _, m := range results {
		b.say(Record{Recorded: r.Recorded, Sidechain: r.Sidechain, Entry: entry.Entry{Parent: r.Parent, Time: r.Time}}, m, nil)
		r.Parent = b.tip
	}
	return r
}

// keepAll adds parts of a message that are kept for the record only.
func (b *builder) keepAll(r Record, parts []json.RawMessage) {
	for _, raw := range parts {
		b.keep(Record{Recorded: "part", Entry: entry.Entry{Parent: b.tip, Time: r.Time}}, raw)
	}
}

// add adds a record of the line that is read, with a body. If it has no id, it gets one from its place. Its parent must have
// been added before.
func (b *builder) add(r Record, body entry.Body) {
	at, used := b.index[r.ID]
	switch {
	case r.ID == "":
		r.ID = b.madeUp()
	case len(r.ID) > entry.MaxID:
		b.fail(fmt.Errorf("the id %q has more than %d bytes", clip(r.ID), entry.MaxID))
		return
	case used:
		b.fail(fmt.Errorf("the id %q is already used by line %d", clip(r.ID), b.rec.Records[at].Line))
		return
	}
	r.Line, r.Body = cmp.Or(r.Line, b.at), body
	b.index[r.ID] = len(b.rec.Records)
	b.rec.Records = append(b.rec.Records, r)
	if !r.Aside {
		b.tip = r.ID
	}
}

// finish ends the conversation at the record that was added last.
func (b *builder) finish() { b.rec.Leaf = b.tip }

// madeUp returns an id that no record has.
func (b *builder) madeUp() string {
	for {
		b.made++
		if id := "r" + strconv.Itoa(b.made); !b.has(id) {
			return id
		}
	}
}

// take calls a function that reads an object. If it cannot be read, what the function added is removed, and with skip set the
// object is left out with a note.
func (b *builder) take(i item, skip bool, read func()) error {
	records, notes, at := len(b.rec.Records), len(b.pending), b.at
	tip, made, model := b.tip, b.made, b.model
	b.at = i.number
	read()
	err := cmp.Or(b.err, i.Err())
	b.at, b.err = at, nil
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*LineError](err)
	if !ok {
		bad = &LineError{Line: i.number, Err: err}
	}
	for _, r := range b.rec.Records[records:] {
		delete(b.index, r.ID)
	}
	b.rec.Records, b.pending = b.rec.Records[:records], b.pending[:notes]
	b.tip, b.made, b.model = tip, made, model
	if !skip {
		return bad
	}
	b.unreadable(bad)
	return nil
}

func (b *builder) has(id string) bool { return b.get(id) != nil }

// get returns the record with an id. It is valid until the next is added.
func (b *builder) get(id string) *Record {
	if i, ok := b.index[id]; ok {
		return &b.rec.Records[i]
	}
	return nil
}

// note counts something of the line that is read, which is missing from its records or changed in them.
func (b *builder) note(kind, what string) { b.noteAt(b.at, kind, what) }

func (b *builder) noteAt(line int, kind, what string) {
	b.pending = append(b.pending, Note{Line: line, Count: 1, Kind: kind, What: what})
}

// rest adds a note for each field of an object that was not read, below a path.
func (b *builder) rest(path string, o *wire.Object) {
	var left wire.Leftovers
	left.Rest(path, o)
	b.left(left)
}

// left adds a note for each thing that a codec left over.
func (b *builder) left(l wire.Leftovers) {
	for _, left := range l {
		b.note(string(left.Why), left.What)
	}
}

// inside calls f for the object in a field, if there is one, and adds a note for each field that f did not read.
func (b *builder) inside(o *wire.Object, path, field string, f func(in *wire.Object)) {
	if o.Is(field, wire.KindObject) {
		in := o.Object(field)
		f(in)
		b.rest(path+field, in)
	}
}

// settle counts the notes of the lines that were read.
func (b *builder) settle() {
	for _, n := range b.pending {
		n.What = clip(n.What)
		key := [2]string{n.Kind, n.What}
		if i, ok := b.notes[key]; ok {
			b.rec.Notes[i].Count++
			continue
		}
		b.notes[key] = len(b.rec.Notes)
		b.rec.Notes = append(b.rec.Notes, n)
	}
	b.pending = b.pending[:0]
}

// maxUnreadable is the number of unreadable lines with a note each. Further ones are counted in the last note.
const maxUnreadable = 1000

func (b *builder) unreadable(err *LineError) {
	if b.bad++; b.bad <= maxUnreadable {
		b.rec.Notes = append(b.rec.Notes, Note{Line: err.Line, Count: 1, Kind: Unreadable, What: err.Err.Error()})
	} else {
		b.noteAt(err.Line, Unreadable, "further lines")
	}
}

// recording returns what was read.
func (b *builder) recording() *Recording {
	for _, line := range b.lines.mended {
		b.noteAt(line, noteReplaced, "text that is not Unicode")
	}
	if b.lines.status > 0 {
		b.noteAt(1, noteNoPlace, "lines before the recording")
	}
	b.settle()
	slices.SortStableFunc(b.rec.Notes, func(x, y Note) int { return cmp.Compare(x.Line, y.Line) })
	return &b.rec
}

// clip shortens a name that is quoted in an error or a note.
func clip(s string) string { return plaintext.Cut(s, 80) }
