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
	tokenizer   sizing.Tokenizer // that they were counted with
	lasting     bool             // and what it counted may be used again
	strange     bool             // it is not the one that they were laid out with: what their pieces count is another's
	lenient     bool
	children    []node
	charged     int   // tokens at layout
	tokens      int   // of the messages
	breakpoints int32 // messages with one
	messages    []chat.Message
	silent      bool // there are others, which count but have nothing to say
}

// Keepsake makes it one of an [elements.Finished].
func (*finished) Keepsake() {}

// finished lays out finished messages, or takes what they were laid out to before.
func (l *layouter) finished(ctx context.Context, e *node, n *elements.Finished, at place, r *room) error {
	f, ok := n.Kept().(*finished)
	ok = ok && f.lenient == l.lenient
	switch {
	case ok && f.lasting && l.lasting && f.tokenizer == l.tokenizer:
	case ok && !f.silent:
		f = f.countedBy(l.tokenizer, l.lasting)
		n.Keep(f)
	default:
		template, err := n.Render(ctx, sizing.Sizing{})
		if err != nil {
			return err
		}
		charge := &room{budget: most}
		list := listOf(template)
		apart := &node{own: e.own} // what is kept must not hold on to this layout
		if l.contents(ctx, apart, list, at, charge) != nil {
			return l.contents(ctx, e, list, at, charge) // for the error's path
		}
		f = &finished{tokenizer: l.tokenizer, lasting: l.lasting, lenient: l.lenient, children: apart.all(), charged: charge.used}
		f.count()
		n.Keep(f)
	}
	e.holding().finished = f
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
	f.silent = len(f.messages) < len(f.children)
}

// countedBy is the same messages counted with another tokenizer, or with one that has learnt since.
func (f *finished) countedBy(t sizing.Tokenizer, lasting bool) *finished {
	other := *f
	other.tokenizer, other.lasting, other.strange = t, lasting, true
	other.charged, other.tokens = 0, 0
	for i := range f.children {
		m := &f.children[i]
		other.charged += frameAtLayout(t, m.rare.frame, m.rare.calls)
		for k := range m.all() {
			if c := &m.children[k]; c.kind == text {
				other.charged += t.CountText(c.text)
			}
		}
	}
	for _, m := range f.messages {
		other.tokens += t.CountMessage(m)
	}
	return &other
}

// adopt gives n copies of the messages as its children.
func (f *finished) adopt(n *node) {
	n.adoptCopies(f.children)
	if !f.strange {
		return
	}
	for i := range n.children {
		for k := range n.children[i].all() {
			switch c := &n.children[i].children[k]; c.kind {
			case text:
				c.number = uncounted
			case part:
				more := *c.rare
				more.tokens = f.partTokens(c)
				c.rare = &more
			}
		}
	}
}

// pieceTokens is what a piece of the messages counts by itself.
func (f *finished) pieceTokens(c *counter, n *node) int {
	switch {
	case !f.strange:
		return c.piece(n)
	case n.kind == text:
		return f.tokenizer.CountText(n.text)
	}
	return f.partTokens(n)
}

func (f *finished) partTokens(n *node) int {
	switch n.rare.part.(type) {
	case chat.Opaque, chat.CacheBreakpoint: // which say what they take, or take nothing
		return n.rare.tokens
	}
	return f.tokenizer.CountPart(n.rare.part)
}

// whole gives the messages, for a caller who may change them.
func (f *finished) whole(into []chat.Message) []chat.Message {
	for _, m := range f.messages {
		m.Content, m.ToolCalls = slices.Clone(m.Content), slices.Clone(m.ToolCalls)
		into = append(into, m)
	}
	return into
}
