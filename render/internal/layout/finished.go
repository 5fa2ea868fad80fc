package layout

import (
	"context"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// finished is the layout of messages that do not change. It is cached in the element and shared by all layouts of it.
type finished struct {
	block      *tree.Block
	charged    int            // tokens at layout
	tokenizer  chat.Tokenizer // the caller's, by which the messages were counted
	compatible bool
	silent     bool // some messages are blank: they count but are not sent
}

// layFinished lays out finished messages, or takes their cached layout. In a message they are laid out like other
// elements.
func layFinished(ctx context.Context, n elements.Node, s *site) (elements.Nodes, error) {
	e, l := n.(*elements.Finished), s.layouter
	s.node().Flags |= tree.Chunk
	s.lazy = false
	if s.inMessage {
		return s.render(ctx, e)
	}
	f, kept := e.Kept().Load().(*finished)
	kept = kept && f.compatible == l.Compatible
	switch {
	case kept && l.keepsCounts && f.tokenizer == l.Sizing.Tokenizer:
	case kept && !f.silent:
		f = f.countedBy(l)
		e.Kept().Store(f)
	default:
		children, err := s.render(ctx, e)
		if err != nil {
			return nil, err
		}
		// The cached layout must not hold on to this one, so it has a site of its own.
		separate := l.outermost(s.watch, tree.Node{}, "", place{depth: s.depth}, MaxBudget)
		if separate.contents(ctx, children) != nil {
			return children, nil // laid out again in place, for the error's path
		}
		separate.tree.Close(separate.id)
		f = &finished{tokenizer: l.Sizing.Tokenizer, compatible: l.Compatible, charged: separate.used}
		state := tree.NewState(separate.tree.Finish())
		f.block = &tree.Block{
			Messages: join.Messages(state), Tokens: count.New(state, l.Tokenizer).Count(tree.Root), Tree: state.Tree,
		}
		f.silent = len(f.block.Messages) < state.Left(tree.Root)
		e.Kept().Store(f)
	}
	s.tree.EnsureExtra(s.id).Block = f.block
	if s.required {
		s.node().Kind = tree.Finished
	} else {
		s.tree.Append(f.block.Tree, 1, s.id)
	}
	s.used += f.charged
	s.uncharged += max(0, f.block.Tokens-f.charged)
	return nil, nil
}

// countedBy returns the same messages counted with another tokenizer, or with one whose counts have changed.
func (f *finished) countedBy(l *Layouter) *finished {
	old := f.block.Tree
	t := *old
	t.Extras, t.Texts = slices.Clone(old.Extras), slices.Clone(old.Texts)
	block := *f.block
	block.Tree, block.Tokens = &t, 0
	other := &finished{block: &block, tokenizer: l.Sizing.Tokenizer, compatible: f.compatible}
	for i := range t.Nodes {
		id := tree.ID(i)
		switch extra := &t.Extras[t.Details[i].Extra]; t.Nodes[i].Kind {
		case tree.Message:
			if extra.Frame.Role != chat.RoleTool {
				other.charged += frameTokens(l.Tokenizer, *extra.Frame, extra.Calls)
			}
		case tree.Text:
			t.SetTokens(id, l.Tokenizer.CountText(t.Text(id)))
			tokens, _ := t.Tokens(id)
			other.charged += tokens
		case tree.Part:
			if _, own := extra.Part.(chat.Opaque); !own { // an opaque value has its own tokens
				extra.Tokens = l.Tokenizer.CountPart(extra.Part)
			}
		}
	}
	for _, m := range block.Messages {
		block.Tokens += l.Tokenizer.CountMessage(m)
	}
	return other
}
