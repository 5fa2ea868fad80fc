package render

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// finished is what messages that do not change lay out to. It is kept with the element and shared by all layouts in which
// it stands. Where the messages are required, they are one node of the tree that is pruned.
type finished struct {
	tokenizer   sizing.Tokenizer
	lenient     bool
	children    []node
	charged     int   // tokens at layout
	tokens      int   // of the messages
	breakpoints int32 // messages with one
	messages    []chat.Message
}

// Keepsake makes it one of an [elements.Finished].
func (*finished) Keepsake() {}

// finished lays out finished messages, or takes what they were laid out to before.
func (l *layouter) finished(ctx context.Context, e *node, n *elements.Finished, at place, r *room) error {
	f, ok := n.Kept().(*finished)
	if !ok || !l.lasting || f.lenient != l.lenient || f.tokenizer != l.tokenizer {
		template, err := n.Render(ctx, sizing.Sizing{})
		if err != nil {
			return err
		}
		charge := &room{budget: most}
		list := listOf(template)
		apart := &node{own: e.own} // what is kept must not hold on to this layout
		at.slabs = nil
		if l.contents(ctx, apart, list, at, charge) != nil {
			return l.contents(ctx, e, list, at, charge) // for the error's path
		}
		f = &finished{tokenizer: l.tokenizer, lenient: l.lenient, children: apart.all(), charged: charge.used}
		f.count()
		if l.lasting {
			n.Keep(f)
		}
	}
	e.holding(at.slabs).finished = f
	r.used += f.charged
	return nil
}

// count counts the messages as a whole.
func (f *finished) count() {
	root := &node{inside: &inside{finished: f}}
	begin(root)
	c := newCounter(f.tokenizer)
	f.tokens, f.breakpoints = c.count(root), root.breakpoints
	f.messages = root.messages(latest)
}

// whole gives the messages, for a caller who may change them.
func (f *finished) whole(into []chat.Message) []chat.Message {
	for _, m := range f.messages {
		m.Content, m.ToolCalls = slices.Clone(m.Content), slices.Clone(m.ToolCalls)
		into = append(into, m)
	}
	return into
}
