package importer

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/history/entry"
)

// ownReader reads the logs of package history, version [entry.FormatVersion]: a header, then one entry per line.
type ownReader struct {
	*builder
	begun bool
}

func (p *ownReader) line(number int, o *object, raw []byte) error {
	if !p.begun {
		if v := o.count("version"); o.err != nil || v != entry.FormatVersion {
			return errors.Join(o.err, fmt.Errorf("the session has format %d, this version reads %d", v, entry.FormatVersion))
		}
		p.rec.Header, p.begun = entry.Header{From: o.text("id"), Time: o.time("time"), Data: clone(raw)}, true
		return o.err
	}
	var e entry.Entry
	if err := e.UnmarshalJSON(raw); err != nil {
		return err
	}
	if e.Parent != "" && !p.has(e.Parent) {
		return fmt.Errorf("its parent %q is missing", clip(e.Parent))
	}
	return p.add(Record{Line: number, Recorded: string(e.Type()), Entry: e})
}

func (p *ownReader) finish() error {
	p.rec.Leaf = p.tip
	return nil
}
