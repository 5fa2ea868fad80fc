package importer

import (
	"cmp"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/checksum"
	"github.com/promptree-go/promptree/internal/wire"
)

// ownReader reads the logs of package history: a header, then one entry per line.
type ownReader struct {
	*builder
	begun bool
}

func isOwn(o *wire.Object) bool {
	return isPi(o) && o.Is("version", wire.KindNumber) && o.Given("time") && !o.Given("timestamp")
}

func (p *ownReader) line(o *wire.Object) {
	raw := o.Source()
	if !p.begun {
		o.Count("version")
		if err := new(entry.Header).UnmarshalJSON(raw); err != nil {
			o.Fail(err)
		}
		p.rec.Header, p.begun = entry.Header{From: o.Text("id"), Time: o.Time("time"), Data: checksum.Cut(raw)}, true
		return
	}
	var e entry.Entry
	if err := e.UnmarshalJSON(raw); err != nil {
		p.fail(err)
	} else if e.Parent != "" && !p.has(e.Parent) {
		p.fail(fmt.Errorf("its parent %q is missing", clip(e.Parent)))
	}
	p.add(Record{Recorded: string(e.Type()), Entry: e})
}

// finish gives each answer the usage that an entry of its own records.
func (p *ownReader) finish() {
	p.rec.Leaf = p.tip
	for _, r := range p.rec.Records {
		if u, is := r.Body.(entry.Usage); is {
			if answer := p.get(cmp.Or(u.Of, r.Parent)); answer != nil && answer.Message().Role == chat.RoleAssistant && answer.Usage == (chat.Usage{}) {
				answer.Usage, answer.Cost = u.Usage, u.Cost
			}
		}
	}
}
