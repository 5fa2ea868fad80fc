package count

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// pieces are the texts and parts of a tree by themselves. A tag stands for its opening end, [tree.Tree.CloseOf] it for the closing one.
type pieces struct {
	state     *tree.State
	tokenizer chat.Tokenizer
}

// of returns what a text or part counts.
func (p *pieces) of(n tree.ID) int {
	if t := p.state.Trimmed(n); t != nil {
		if t.Tokens < 0 {
			t.Tokens = p.tokenizer.CountText(t.Text)
		}
		return t.Tokens
	}
	return p.in(p.state.Tree, n)
}

// in returns what a text or part of another tree counts.
func (p *pieces) in(t *tree.Tree, n tree.ID) int {
	if t.Nodes[n].Kind != tree.Text {
		return t.Extra(n).Tokens
	}
	tokens, known := t.Tokens(n)
	if !known {
		tokens = p.tokenizer.CountText(t.Nodes[n].Text)
		t.SetTokens(n, tokens)
	}
	return tokens
}

// tag returns the tag of which something stands for an end, and whether it is the closing one; nil for a text.
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

// tokensOf returns what a text counts, or an end of a tag.
func (p *pieces) tokensOf(id tree.ID) int {
	switch tag, closing := p.tag(id); {
	case tag == nil:
		return p.of(id)
	case closing:
		return tag.CloseTokens
	default:
		return tag.OpenTokens
	}
}

// textOf returns a text as it is now, or an end of a tag.
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

// startsLine reports whether a text starts on a line of its own wherever it stands, as an end of a tag does.
func (p *pieces) startsLine(id tree.ID) bool {
	tag, _ := p.tag(id)
	return tag != nil || p.state.Tree.Nodes[id].Is(tree.StartsLine)
}

// trimmed reports whether a text is shorter than it was.
func (p *pieces) trimmed(id tree.ID) bool {
	return id < tree.ID(len(p.state.Tree.Nodes)) && p.state.Trimmed(id) != nil
}
