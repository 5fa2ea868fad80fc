package importer

import (
	"cmp"
	"fmt"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/checksum"
)

// ownReader reads the logs of package history, version [entry.FormatVersion]: a header, then one entry per line.
type ownReader struct {
	*builder
	begun bool
}

func (p *ownReader) line(number int, o *object, raw []byte) error {
	if !p.begun {
		o.count("version")
		if _, err := entry.DecodeHeader(raw); o.err != nil || err != nil {
			return cmp.Or(o.err, err)
		}
		p.rec.Header, p.begun = entry.Header{From: o.text("id"), Time: o.time("time"), Data: checksum.Cut(raw)}, true
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
