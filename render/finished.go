package render

import (
	"context"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
	"github.com/promptree-go/promptree/sizing"
)

// finished is what messages that do not change lay out to. It is kept with the element and shared by all layouts in which
// it stands. If the messages are required, they are one node of the tree that is pruned.
type finished struct {
	tokenizer   sizing.Tokenizer // that they were counted with
	lasting     bool             // and what it counted may be used again
	strange     bool             // it is not the one that they were laid out with: what their pieces count is another's
	lenient     bool
	tree        *tree.Tree // of the messages, under its root
	charged     int        // tokens at layout
	tokens      int        // of the messages
	breakpoints int32      // messages with one
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
		f = &finished{tokenizer: l.tokenizer, lasting: l.lasting, lenient: l.lenient, tree: build(apart, HistoryAsGiven).Tree, charged: charge.used}
		f.count()
		n.Keep(f)
	}
	e.holding().finished = f
	r.used += f.charged
	return nil
}

// count counts the messages as a whole.
func (f *finished) count() {
	s := tree.NewState(f.tree, nil)
	f.tokens = count.New(s, f.tokenizer).Count(tree.Root)
	f.breakpoints, f.messages = s.CountBreakpoints(tree.Root), join.Messages(s, tree.Latest)
	f.silent = len(f.messages) < s.Left(tree.Root)
}

// countedBy returns the same messages counted with another tokenizer, or with one that has learnt since.
func (f *finished) countedBy(t sizing.Tokenizer, lasting bool) *finished {
	other := *f
	other.tokenizer, other.lasting, other.strange = t, lasting, true
	other.charged, other.tokens = 0, 0
	for m := tree.Root + 1; m < f.tree.Nodes[tree.Root].End; m = f.tree.Nodes[m].End {
		extra := f.tree.Extra(m)
		other.charged += frameAtLayout(t, extra.Frame, extra.Calls)
		for c := m + 1; c < f.tree.Nodes[m].End; c = f.tree.Nodes[c].End {
			if n := &f.tree.Nodes[c]; n.Kind == tree.Text {
				other.charged += t.CountText(n.Text)
			}
		}
	}
	for _, m := range f.messages {
		other.tokens += t.CountMessage(m)
	}
	return &other
}

// block returns the messages as one node.
func (f *finished) block() *tree.Block {
	return &tree.Block{Messages: f.messages, Tokens: f.tokens, Breakpoints: f.breakpoints, Tree: f.tree, PieceTokens: f.pieceTokens}
}

// pieceTokens returns what a piece of the messages counts by itself.
func (f *finished) pieceTokens(t *tree.Tree, n tree.ID) int {
	if t.Nodes[n].Kind != tree.Text {
		if f.strange {
			return f.partTokens(t, n)
		}
		return t.Extra(n).Tokens
	}
	if tokens, known := t.Tokens(n); known && !f.strange {
		return tokens
	}
	return f.tokenizer.CountText(t.Nodes[n].Text)
}

func (f *finished) partTokens(t *tree.Tree, n tree.ID) int {
	extra := t.Extra(n)
	switch extra.Part.(type) {
	case chat.Opaque, chat.CacheBreakpoint: // which say what they take, or take nothing
		return extra.Tokens
	}
	return f.tokenizer.CountPart(extra.Part)
}
