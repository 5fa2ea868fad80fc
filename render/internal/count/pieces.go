package count

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// pieces counts the texts and parts of a tree by themselves. The ID of a tag means its opening end,
// [tree.Tree.ClosingEnd] of it the closing one.
type pieces struct {
	state     *tree.State
	tokenizer chat.Tokenizer
}

// Piece returns the tokens of a text or part by itself.
func (p *pieces) Piece(n tree.ID) int {
	if t := p.state.Trimmed(n); t != nil {
		if t.Tokens < 0 {
			t.Tokens = p.tokenizer.CountText(t.Text)
		}
		return t.Tokens
	}
	return p.PieceIn(p.state.Tree, n)
}

// PieceIn returns the tokens of a text or part of another tree by itself.
func (p *pieces) PieceIn(t *tree.Tree, n tree.ID) int {
	if t.Nodes[n].Kind != tree.Text {
		return t.Extra(n).Tokens
	}
	tokens, known := t.Tokens(n)
	if !known {
		tokens = p.tokenizer.CountText(t.Text(n))
		t.SetTokens(n, tokens)
	}
	return tokens
}

// tag returns the tag whose end has an ID, and whether that is the closing end; nil for a text.
func (p *pieces) tag(id tree.ID) (tag *tree.Tag, closing bool) {
	t := p.state.Tree
	if nodes := tree.ID(len(t.Nodes)); id >= nodes {
		return t.Extra(id - nodes).Tag, true
	}
	if t.Nodes[id].Kind == tree.Text {
		return nil, false
	}
	return t.Extra(id).Tag, false
}

// tokensOf returns the tokens of a text or an end of a tag.
func (p *pieces) tokensOf(id tree.ID) int {
	switch tag, closing := p.tag(id); {
	case tag == nil:
		return p.Piece(id)
	case closing:
		return tag.CloseTokens
	default:
		return tag.OpenTokens
	}
}

// textOf returns the current text of a node, or an end of a tag.
func (p *pieces) textOf(id tree.ID) string {
	switch tag, closing := p.tag(id); {
	case tag == nil:
		return p.state.Text(id)
	case closing:
		return tag.Close
	default:
		return tag.Open
	}
}

// startsLine reports whether a text always starts on a line of its own, as the ends of tags do.
func (p *pieces) startsLine(id tree.ID) bool {
	tag, _ := p.tag(id)
	return tag != nil || p.state.Tree.Nodes[id].Is(tree.StartsLine)
}

// trimmed reports whether a text was made shorter.
func (p *pieces) trimmed(id tree.ID) bool {
	return id < tree.ID(len(p.state.Tree.Nodes)) && p.state.Trimmed(id) != nil
}
