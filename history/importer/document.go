package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/promptree-go/promptree/internal/wire"
)

// startsDocument reports whether a first line that is not an object may start a JSON document of several lines: a list,
// or an object that continues.
func startsDocument(lines *lineReader) bool {
	first := bytes.TrimSpace(lines.buf)
	if len(first) == 0 || lines.tooLong {
		return false
	}
	if first[0] == '[' {
		return true
	}
	_, err := lines.r.Peek(1)
	return first[0] == '{' && !json.Valid(first) && err == nil
}

// readDocument reads a recording that is one JSON document whose first line was read.
func readDocument(lines *lineReader, opts Options) (*Recording, error) {
	d := &document{line: lines.number, first: lines.number}
	d.data = append(bytes.Clone(lines.buf), '\n')
	for {
		_, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(d.data)+len(lines.buf) > lines.max {
			return nil, lines.wrap(fmt.Errorf("the document is longer than %d bytes", lines.max))
		}
		d.data = append(append(d.data, lines.buf...), '\n')
	}
	if mended, changed := mend(d.data); changed {
		d.data, lines.mended = mended, append(lines.mended, d.first)
	}
	items, err := d.items()
	if err == nil && len(items) == 0 { // an empty list of messages
		b := newBuilder(opts, lines)
		f := newChat(b)
		_ = f.finish() // returns no error
		return b.recording()
	}
	if err != nil {
		return nil, &LineError{Line: d.line, Err: unknownFormat(err)}
	}
	b := newBuilder(opts, lines)
	b.doc = d
	f, err := detect(items[0].o, b)
	if err != nil {
		return nil, &LineError{Line: items[0].number, Err: unknownFormat(err)}
	}
	next := 0
	return b.read(f, items[0], func() (item, error) {
		if next++; next == len(items) {
			return item{}, io.EOF
		}
		return items[next], nil
	})
}

// document counts the lines of a document up to the offset requested last.
type document struct {
	data        []byte
	at          int
	line, first int // of that offset, and of the document
	list        string
	start       int // of that list
}

// items returns the objects of a list, or the document itself.
func (d *document) items() ([]item, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(d.data, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			d.lineAt(max(0, int(syntax.Offset)-1))
		}
		return nil, err
	}
	start := bytes.Index(d.data, whole[:1])
	if whole[0] != '[' {
		o, err := wire.Parse(whole)
		return []item{{number: d.lineAt(start), o: o, raw: whole}}, err
	}
	var items []item
	err := wire.Each(whole, func(o *wire.Object, offset int) error {
		items = append(items, item{number: d.lineAt(start + offset), o: o, raw: o.Source()})
		return nil
	})
	return items, err
}

// lineAt returns the line of an offset.
func (d *document) lineAt(offset int) int {
	if offset < d.at {
		d.at, d.line = 0, d.first
	}
	d.line += bytes.Count(d.data[d.at:offset], []byte("\n"))
	d.at = offset
	return d.line
}

// lineOf returns the line of an offset in a list of the document.
func (d *document) lineOf(list string, offset int) int {
	if d.list != list {
		d.list = list
		d.start = bytes.IndexByte(d.data, '{') + valueOffset(d.data, list)
	}
	return d.lineAt(d.start + offset)
}

// isChat reports whether an object is a message or a request. The role of its first message tells.
func isChat(o *wire.Object) bool {
	if o.Is("messages", wire.KindList) {
		m := firstOf(o, "messages")
		return m == nil || isChatRole(m)
	}
	return isChatRole(o)
}

func isChatRole(o *wire.Object) bool {
	return slices.Contains([]string{"user", "assistant", "system", "developer", "tool", "function"}, o.Peek("role"))
}

// firstOf returns the first object of a list of an object, nil if there is none.
func firstOf(o *wire.Object, list string) *wire.Object {
	var first *wire.Object
	if !o.Is(list, wire.KindList) {
		return nil
	}
	_ = wire.Each(o.Look(list), func(item *wire.Object, _ int) error { // errors are reported when the list is read
		first = item
		return io.EOF
	})
	return first
}

// valueOffset returns where the value of a field starts in an object, that of the last field of the name.
func valueOffset(whole []byte, name string) int {
	dec := json.NewDecoder(bytes.NewReader(whole))
	at := 0
	_, _ = dec.Token() // the object is valid
	for dec.More() {
		key, _ := dec.Token()
		var value json.RawMessage
		_ = dec.Decode(&value)
		if key == name {
			at = int(dec.InputOffset()) - len(value)
		}
	}
	return at
}
