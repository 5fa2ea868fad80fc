package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// startsDocument reports whether a first line that is not an object may start a JSON document of several lines: a list,
// or an object that continues.
func startsDocument(lines *lineReader) bool {
	first := bytes.TrimSpace(lines.buf)
	if len(first) == 0 || lines.tooLong || !utf8.Valid(first) {
		return false
	}
	if first[0] == '[' {
		return true
	}
	_, err := lines.r.Peek(1)
	return first[0] == '{' && !json.Valid(first) && err == nil
}

// readDocument reads a recording that is one JSON document whose first line was read.
func readDocument(lines *lineReader) (*Recording, error) {
	first := lines.number
	data := append(bytes.Clone(lines.buf), '\n')
	for {
		_, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(data)+len(lines.buf) > lines.max {
			return nil, lines.wrap(fmt.Errorf("the document is longer than %d bytes", lines.max))
		}
		data = append(append(data, lines.buf...), '\n')
	}
	d := document{data: data, line: first}
	b := newBuilder()
	f := newChat(b)
	if err := d.read(f); err != nil {
		if bad, ok := errors.AsType[*LineError](err); ok {
			return nil, bad
		}
		return nil, &LineError{Line: d.line, Err: err}
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	return b.recording()
}

// document counts the lines of a document up to the offset requested last.
type document struct {
	data []byte
	at   int
	line int // of that offset
}

// lineAt returns the line of an offset, which must not decrease from call to call.
func (d *document) lineAt(offset int) int {
	if offset > d.at {
		d.line += bytes.Count(d.data[d.at:offset], []byte("\n"))
		d.at = offset
	}
	return d.line
}

func (d *document) read(f *chatReader) error {
	if n := validPrefix(d.data); n < len(d.data) {
		return &LineError{Line: d.lineAt(n), Err: errors.New("invalid UTF-8")}
	}
	var whole json.RawMessage
	if err := json.Unmarshal(d.data, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			d.lineAt(max(0, int(syntax.Offset)-1))
		}
		return unknownFormat(err)
	}
	start := bytes.Index(d.data, whole[:1])
	if whole[0] == '[' {
		return eachOffset(whole, func(o *object, raw json.RawMessage, offset int) error {
			line := d.lineAt(start + offset)
			if !isChat(o) {
				return &LineError{Line: line, Err: unknownFormat(errors.New("an item of the list is neither a message nor a request"))}
			}
			if err := f.line(line, o, raw); err != nil {
				return &LineError{Line: line, Err: err}
			}
			return nil
		})
	}
	o, err := parseObject(whole)
	if err != nil {
		return err
	}
	if !isChat(o) {
		return unknownFormat(errors.New("the document is neither a message nor a request"))
	}
	list := start + valueOffset(whole, "messages")
	return f.read(o, whole, func(offset int) int {
		if offset == 0 {
			return d.line
		}
		return d.lineAt(list + offset)
	})
}

// isChat reports whether an object is a message or a request. The role of its first message tells.
func isChat(o *object) bool {
	if o.is("messages", kindList) {
		m := firstOf(o, "messages")
		return m == nil || isChatRole(m)
	}
	return isChatRole(o)
}

func isChatRole(o *object) bool {
	return slices.Contains([]string{"user", "assistant", "system", "developer", "tool", "function"}, o.peek("role"))
}

// firstOf returns the first object of a list of an object, nil if there is none.
func firstOf(o *object, list string) *object {
	var first *object
	_ = eachObject(o.fields[list], func(item *object, _ json.RawMessage) error { // errors are reported when the list is read
		first = item
		return io.EOF
	})
	return first
}

// valueOffset returns where the value of a field starts in an object, that of the last field of the name.
func valueOffset(whole json.RawMessage, name string) int {
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
