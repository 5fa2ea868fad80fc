package render

import (
	"slices"
	"sort"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// reasons are the causes in words.
var reasons = [...]Reason{tree.ByPriority: ReasonPriority, tree.ByChunk: ReasonChunk, tree.ByGroup: ReasonGroup, tree.ByEmptiness: ReasonEmptied, tree.ByShare: ReasonShare}

// run lists the pieces in a node.
func (r *reporter) run(root tree.ID) *reporter {
	t, order := r.fit.state.Tree, r.fit.order
	r.tree, r.removable = t, map[*elements.Group]bool{}
	if t.Grouped > 0 && order.Held(tree.Root) {
		for i := range t.Nodes {
			if g := t.GroupOf(tree.ID(i)); g != nil && !order.Locked(tree.ID(i)) {
				r.removable[g] = true
			}
		}
	}
	whole := &Outline{}
	r.pieces, r.refs = slices.Grow(r.pieces, len(t.Texts)), slices.Grow(r.refs, len(t.Texts))
	r.list(root, surroundings{path: t.Path(t.Nodes[root].Parent), outline: whole})
	r.outline = whole.Children[0]
	r.outline.sum(r.pieces)
	return r
}

// reporter lists pieces, with the outcome of each.
type reporter struct {
	fit       *fitting
	tree      *tree.Tree
	removable map[*elements.Group]bool // groups that may be removed, with the calls linked to them
	pieces    []Piece
	refs      []pieceRef // of each piece
	outline   *Outline
	sent      []*Outline // of each message that is sent
}

// pieceRef says where a piece is in the tree: its node, None if it is in finished messages, and the index of a call of
// that node, else -1.
type pieceRef struct {
	node tree.ID
	call int
}

// surroundings says what is around a piece.
type surroundings struct {
	path     string
	priority *int // of the nearest element that has one
	group    string
	category elements.Category
	drop     tree.Drop
	outline  *Outline
}

// list lists the pieces in a node.
func (r *reporter) list(n tree.ID, in surroundings) {
	node, extra := &r.tree.Nodes[n], r.tree.Extra(n)
	drop := r.fit.state.Drop(n)
	drop.Restored = drop.Restored || in.drop.Restored
	if drop.Step > 0 {
		in.drop = drop
	}
	in.drop.Restored = drop.Restored
	in.path = r.tree.PathIn(in.path, n)
	if node.Is(tree.HasPriority) {
		in.priority = new(node.Priority)
	}
	if g := r.tree.GroupOf(n); g != nil {
		in.group = g.Name
	}
	in.category = within(in.category, node)
	in.outline = in.outline.child(r.tree, n, in.path)
	locked := r.fit.order.Locked(n)
	if node.Kind == tree.Message && in.drop.Step == 0 && !r.fit.state.Blank(n) {
		r.sent = append(r.sent, in.outline)
	}
	switch {
	case node.Kind == tree.Finished:
		r.block(extra.Block, in)
		return
	case node.Leaf():
		if node.Kind == tree.Tool {
			in.category = elements.CategoryTools
		}
		p := Piece{Kind: kindOf(node, extra), Tokens: r.fit.count.PieceIn(r.tree, n), Required: locked}
		r.shorten(&p, n, in.drop.Step != 0)
		r.add(p, in, pieceRef{n, -1})
		return
	}
	for i, c := range extra.Calls {
		call, of := r.fit.state.CallDrop(n, i), in
		of.drop.Restored = in.drop.Restored || call.Restored
		if call.Step > 0 {
			of.drop = call
		}
		if c.KeepWith != nil {
			of.group = c.KeepWith.Name
		}
		required := locked || r.fit.order.Pinned(n) && !r.removable[c.KeepWith]
		of.outline = in.outline.call(c.ToolCall)
		r.add(Piece{Kind: PieceToolCall, Tokens: r.fit.count.Call(c), Required: required}, of, pieceRef{n, i})
	}
	for c := n + 1; c < node.End; c = r.tree.Nodes[c].End {
		r.list(c, in)
	}
}

// shorten sets the tokens of a text that layout cut to its share, or that was trimmed.
func (r *reporter) shorten(p *Piece, n tree.ID, dropped bool) {
	left := p.Tokens
	if p.Cut = r.tree.Nodes[n].Is(tree.Cut); p.Cut {
		p.Tokens = r.fit.layout.layouter.Tokenizer.CountText(r.tree.Extra(n).Trim.Given())
	}
	trimmed := r.fit.state.Trimmed(n)
	if trimmed != nil {
		left = trimmed.Tokens
	}
	switch {
	case dropped:
	case p.Cut && tree.Blank(r.tree.Text(n)):
		p.Dropped = ReasonShare
	case p.Cut || trimmed != nil:
		p.Tokens, p.TrimmedFrom = left, p.Tokens
	}
}

// add adds a piece.
func (r *reporter) add(p Piece, in surroundings, at pieceRef) {
	p.Path, p.Priority, p.Group, p.Category = in.path, in.priority, in.group, in.category
	if in.drop.Step == 0 {
		p.Restored = in.drop.Restored
	} else {
		p.Dropped, p.Limit = reasons[in.drop.Cause], r.fit.limitPath(in.drop.Step)
		chosen := r.chosen(in.drop.Step)
		if r.fit.state.Drop(chosen).Cause == tree.ByShare {
			p.Dropped = ReasonShare
		}
		p.Priority = r.priority(chosen)
		if path := r.tree.Path(chosen); path != p.Path {
			p.DecidedBy = path
		}
	}
	r.append(p, at, in.outline)
}

// chosen returns the node that was chosen at a step.
func (r *reporter) chosen(at tree.Step) tree.ID {
	s := r.fit.state
	return s.Log[sort.Search(len(s.Log), func(i int) bool { return s.LogStep(i) >= at })].Node
}

// priority returns the priority of a node, or of the nearest element around it that has one; nil if none has.
func (r *reporter) priority(n tree.ID) *int {
	for ; n != tree.None; n = r.tree.Nodes[n].Parent {
		if r.tree.Nodes[n].Is(tree.HasPriority) {
			return new(r.tree.Nodes[n].Priority)
		}
	}
	return nil
}

// append appends a piece to the report, and makes it the piece of an outline.
func (r *reporter) append(p Piece, at pieceRef, o *Outline) {
	r.pieces, r.refs = append(r.pieces, p), append(r.refs, at)
	o.piece = len(r.pieces)
}

// block lists the pieces of finished messages that are required.
func (r *reporter) block(b *tree.Block, in surroundings) {
	t := b.Tree
	paths := make([]string, len(t.Nodes))
	paths[tree.Root] = in.path
	outlines := make([]*Outline, len(t.Nodes))
	outlines[tree.Root] = in.outline
	whole := tree.NewState(t).At(tree.Latest)
	for i := range t.Nodes[1:] {
		n := tree.ID(i + 1)
		node := &t.Nodes[n]
		paths[n] = t.PathIn(paths[node.Parent], n)
		outlines[n] = outlines[node.Parent].child(t, n, paths[n])
		if node.Kind == tree.Message && !whole.Blank(n) {
			r.sent = append(r.sent, outlines[n])
		}
		piece := Piece{Path: paths[n], Priority: in.priority, Group: in.group, Category: in.category, Required: true}
		if node.Is(tree.HasPriority) {
			piece.Priority = new(node.Priority)
		}
		if node.Leaf() {
			piece.Kind, piece.Tokens = partKinds[count.TypeOf(t.Extra(n).Part)], r.fit.count.PieceIn(t, n)
			r.append(piece, pieceRef{tree.None, -1}, outlines[n])
		}
		for _, c := range t.Extra(n).Calls {
			piece.Kind, piece.Tokens = PieceToolCall, r.fit.count.Call(c)
			r.append(piece, pieceRef{tree.None, -1}, outlines[n].call(c.ToolCall))
		}
	}
}

// kindOf returns the kind of a piece.
func kindOf(n *tree.Node, extra *tree.Extra) PieceKind {
	if n.Kind == tree.Tool {
		return PieceTool
	}
	return partKinds[count.TypeOf(extra.Part)]
}

// partKinds maps types of parts to kinds of pieces.
var partKinds = [...]PieceKind{
	count.TextType: PieceText, count.ImageType: PieceImage, count.DocumentType: PieceDocument, count.ThinkingType: PieceThinking,
	count.OpaqueType: PieceOpaque, count.BreakpointType: PieceBreakpoint,
}
