package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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

// document is a recording that is one JSON document. It counts the lines up to the offset requested last.
type document struct {
	data        []byte
	at          int
	line, first int // of that offset, and of the document
}

// readRest reads a document whose first line was read.
func readRest(lines *lineReader) (*document, error) {
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
		d.data, lines.mended = mended, []int{d.first}
	}
	return d, nil
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
		return []item{{number: d.lineAt(start), Object: o}}, err
	}
	var items []item
	err := wire.Each(whole, func(o *wire.Object, offset int) error {
		items = append(items, item{number: d.lineAt(start + offset), Object: o})
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
