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
	"github.com/promptree-go/promptree/internal/wire"
)

// builder assembles a recording.
type builder struct {
	rec    Recording
	index  map[string]int  // of each record, by id
	notes  map[noteKey]int // index of each note
	bad    int             // unreadable lines with a note of their own
	made   int             // ids that were made up
	tip    string          // the record that was added last and is not aside
	skip   bool            // leave out what cannot be read
	doc    *document       // the document that is read, nil for lines
	model  string          // that was named last
	before []byte          // the object before
	lines  *lineReader     // of the recording
}

type noteKey struct {
	reason NoteKind
	what   string
}

func newBuilder(opts Options, lines *lineReader) *builder {
	return &builder{index: map[string]int{}, notes: map[noteKey]int{}, skip: opts.SkipUnreadable, lines: lines}
}

// say adds a message after the parent of a record, with data.
func (b *builder) say(r Record, m chat.Message, data json.RawMessage) error {
	r.Body = entry.Message{Message: m, Data: data}
	return b.add(r)
}

// keep adds what is kept for the record only, noted aside.
func (b *builder) keep(r Record, raw json.RawMessage) error {
	r.ID, r.Aside, r.Body = "", true, entry.Custom{Name: r.Recorded, Data: clone(raw)}
	return b.add(r)
}

// answeredBy adds that another model answers from here on, if it is another, and returns the record with it as its parent.
func (b *builder) answeredBy(r Record, provider, model string) (Record, error) {
	if model == "" || model == b.model {
		return r, nil
	}
	change := Record{Line: r.Line, Recorded: "model", Sidechain: r.Sidechain, Entry: entry.Entry{Parent: r.Parent, Time: r.Time}}
	change.Body = entry.ModelChange{Provider: provider, Model: model}
	if err := b.add(change); err != nil {
		return r, err
	}
	b.model, r.Parent = model, b.tip
	return r, nil
}

// each calls f for each object of a list of a whole recording, with its line. name is that of the list's field. Those that
// cannot be read are left out with a note if skip is set.
func (b *builder) each(list json.RawMessage, number int, name string, skip bool, f func(line int, o *wire.Object, raw json.RawMessage) error) error {
	err := wire.Each(list, func(item *wire.Object, offset int) error {
		line, raw := number, item.Source()
		if b.doc != nil {
			line = b.doc.lineOf(name, offset)
		}
		if b.repeats(line, item, raw) {
			return nil
		}
		return b.take(line, skip, func() error {
			if err := f(line, item, raw); err != nil {
				return err
			}
			return item.Err()
		})
	})
	if bad, ok := errors.AsType[*LineError](err); ok {
		return bad
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// repeats reports whether an object is the same as the one before it, and notes that. Messages without a time may be alike.
func (b *builder) repeats(line int, o *wire.Object, raw []byte) bool {
	same := bytes.Equal(raw, b.before)
	b.before = append(b.before[:0], raw...)
	if same = same && (o.Given("timestamp") || o.Given("created") || o.Given("$rewindTo")); same {
		b.note(line, Repeated, "the one before")
	}
	return same
}

// join adds an answer's further parts to those that were read of it.
func (b *builder) join(id string, m chat.Message) {
	before := b.get(id)
	whole := before.Body.(entry.Message)
	whole.Content, whole.ToolCalls = append(whole.Content, m.Content...), append(whole.ToolCalls, m.ToolCalls...)
	before.Body = whole
}

// sayAll adds results one after the other, and returns the record for what follows them.
func (b *builder) sayAll(r Record, results []chat.Message) (Record, error) {
	for _, m := range results {
		result := Record{Line: r.Line, Recorded: r.Recorded, Entry: entry.Entry{Parent: r.Parent, Time: r.Time}}
		if err := b.say(result, m, nil); err != nil {
			return r, err
		}
		r.Parent = b.tip
	}
	return r, nil
}

// keepAll adds parts of a message that are kept for the record only.
func (b *builder) keepAll(r Record, parts []json.RawMessage) error {
	for _, raw := range parts {
		if err := b.keep(Record{Line: r.Line, Recorded: "part", Entry: entry.Entry{Parent: b.tip, Time: r.Time}}, raw); err != nil {
			return err
		}
	}
	return nil
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

// finish ends the conversation at the record that was added last.
func (b *builder) finish() error {
	b.rec.Leaf = b.tip
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
func (p *pending) rest(path string, o *wire.Object) {
	for _, name := range o.Rest() {
		if path != "" {
			name = path + "." + name
		}
		p.add(NoPlace, name)
	}
}

// left adds a note for each thing that a codec left over.
func (p *pending) left(l wire.Leftovers) {
	for _, left := range l {
		p.add(NoteKind(left.Why), left.What)
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
	b.setOrigins()
	for _, line := range b.lines.mended {
		b.note(line, Replaced, "text that is not Unicode")
	}
	if b.lines.status > 0 {
		b.note(1, NoPlace, "lines before the recording")
	}
	slices.SortStableFunc(b.rec.Notes, func(x, y Note) int { return cmp.Compare(x.Line, y.Line) })
	return &b.rec, nil
}
