package importer

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/history"
)

// ownReader reads the logs of package history, version 1: a header, then an entry a line.
type ownReader struct {
	*builder
	begun bool
}

func (p *ownReader) line(number int, o *object, raw []byte) error {
	if !p.begun {
		if v := o.count("version"); o.err != nil || v != 1 {
			return errors.Join(o.err, fmt.Errorf("the session has format %d, this version reads 1", v))
		}
		p.rec.ID, p.rec.Time, p.rec.Header, p.begun = o.text("id"), o.time("time"), clone(raw), true
		return o.err
	}
	var e history.Entry
	if err := e.UnmarshalJSON(raw); err != nil {
		return err
	}
	if e.Parent != "" && !p.has(e.Parent) {
		return fmt.Errorf("it follows %q, which is not there", clip(e.Parent))
	}
	return p.add(Record{Line: number, Type: string(e.Type()), ID: e.ID, Parent: e.Parent, Time: e.Time, Body: e.Body})
}

func (p *ownReader) finish() error {
	p.rec.Leaf = p.tip
	return nil
}
