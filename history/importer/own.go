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

func (r *ownReader) line(o *wire.Object) {
	raw := o.Source()
	if !r.begun {
		o.Count("version")
		o.Fail(new(entry.Header).UnmarshalJSON(raw))
		r.rec.Header, r.begun = entry.Header{From: o.Text("id"), Time: o.Time("time"), Data: checksum.Cut(raw)}, true
		return
	}
	var e entry.Entry
	if err := e.UnmarshalJSON(raw); err != nil {
		r.fail(err)
	} else if e.Parent != "" && !r.has(e.Parent) {
		r.fail(fmt.Errorf("its parent %q is missing", clip(e.Parent)))
	}
	r.add(Record{Recorded: string(e.Type()), Entry: e}, e.Body)
}

// finish gives each answer the usage that an entry of its own records.
func (r *ownReader) finish() {
	r.rec.Leaf = r.tip
	for _, record := range r.rec.Records {
		if u, is := record.Body.(entry.Usage); is {
			if answer := r.get(cmp.Or(u.Of, record.Parent)); answer != nil && answer.Message().Role == chat.RoleAssistant && answer.Usage == (chat.Usage{}) {
				answer.Usage, answer.Cost = u.Usage, u.Cost
			}
		}
	}
}
