package render

import (
	"context"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/guard"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// accounts returns the functions that return the account of the whole prompt: the breakdown of what is left, and all of it.
// Each walks once. An account is empty if the tokenizer fails.
func (f *fitting) accounts() (left, all func() account) {
	var counting sync.Mutex // guards the fitting's counter
	once := func(all bool) func() account {
		return sync.OnceValue(func() account {
			counting.Lock()
			defer counting.Unlock()
			a, _ := guarded(context.Background(), f.layout.layouter, func(context.Context, *guard.Watch) (account, error) {
				return f.tell(tree.Root, all), nil
			})
			return a
		})
	}
	return once(false), once(true)
}

// tell returns the account of a node, by one walk: of everything in it, or the breakdown alone, of what is left.
func (f *fitting) tell(n tree.ID, all bool) (a account) {
	t := teller{fit: f, all: all, mayGo: map[*elements.Group]bool{}}
	in := around{path: f.state.Tree.Path(f.state.Tree.Nodes[n].Parent)}
	if f.state.Tree.MessageOf(n) != n && f.state.Tree.MessageOf(n) != tree.None {
		in.message = &t.breakdown
	}
	outline := t.node(f.state, n, in)
	tokens := f.count.Count(n)
	if rest := tokens - t.breakdown.Total(); len(f.state.At(tree.Latest).Tools(n)) > 0 { // which are counted as one list
		t.breakdown.Tools += rest
	} else {
		t.breakdown.Other += rest
	}
	if a.breakdown = t.breakdown; !all {
		return a
	}
	if n == tree.Root {
		outline.Counted = tokens
	}
	a.outline, a.report = outline, Report{Tokens: tokens, CacheLost: f.cacheLost, Pieces: make([]Piece, 0, t.pieces)}
	outline.each(func(o *Outline) { a.report.Pieces = append(a.report.Pieces, *o.Piece) })
	return a
}

// teller walks through a prompt.
type teller struct {
	fit       *fitting
	all       bool                     // what was dropped too, and each message of finished ones
	mayGo     map[*elements.Group]bool // whether groups may be removed, with the calls linked to them
	pieces    int
	breakdown Breakdown
}

// around says what is around a node or a call.
type around struct {
	path     string
	name     string // of the nearest element that has one of its own, or message
	priority *int   // of the nearest element that has one
	group    string
	category elements.Category
	drop     tree.Drop
	required bool       // all of it is
	message  *Breakdown // of the pieces of the message; nil outside of one
	finished tree.ID    // node of the finished messages that it is in, or the root: of none
}

// dropped adds that something was dropped, or put back.
func (in *around) dropped(drop tree.Drop) {
	drop.Restored = drop.Restored || in.drop.Restored
	if drop.Step == 0 {
		drop.Step, drop.Cause = in.drop.Step, in.drop.Cause
	}
	in.drop = drop
}

// node returns the outline of a node of the prompt, or of finished messages in it, whose tree is another. It is nil for
// what the breakdown needs no pieces of: a tool, and a message that is of one category.
func (t *teller) node(s *tree.State, n tree.ID, in around) *Outline {
	node, extra, own := &s.Tree.Nodes[n], s.Tree.Extra(n), s == t.fit.state
	in.category = within(in.category, node)
	switch {
	case t.all:
	case node.Kind == tree.Tool:
		return nil
	case node.Kind == tree.Message && in.message == nil && uniform(s.Tree, n, in.category):
		t.breakdown.add(in.category, t.fit.count.Count(n))
		return nil
	}
	in.dropped(s.Drop(n))
	in.path = s.Tree.PathIn(in.path, n)
	o := newOutline(s.Tree, n)
	if o.Priority != nil {
		in.priority = o.Priority
	}
	if g := s.Tree.GroupOf(n); g != nil {
		in.group = g.Name
	}
	if named := !structural[s.Tree.Name(n)]; named {
		in.name = o.Name
	}
	in.required = in.required || own && t.fit.order.Locked(n)
	outermost := node.Kind == tree.Message && in.message == nil
	if outermost {
		in.message = &Breakdown{}
	}
	switch {
	case node.Kind == tree.Finished:
		if t.breakdown.add(in.category, extra.Block.Tokens); t.all {
			in.required, in.message = true, &Breakdown{} // not counted again
			if own {
				in.finished = n
			}
			t.children(o, tree.NewState(extra.Block.Tree), tree.Root, in)
		}
	case node.Leaf():
		p := Piece{Kind: PieceKind(count.KindOf(extra.Part)), Tokens: t.fit.count.PieceIn(s.Tree, n)}
		if node.Kind == tree.Tool {
			p.Kind, in.category = pieceTool, elements.CategoryTools
		} else if own {
			t.shorten(&p, n, in.drop.Step != 0)
		}
		t.piece(o, p, in, tree.Change{Node: n, Call: -1})
	default:
		t.calls(o, s, n, in)
		t.children(o, s, n, in)
		if node.Kind == tree.Container && (extra.Tag != nil || s.Tree.Name(n) == "Text" || in.name == o.Name) {
			o.becomeOnlyText(in)
		}
	}
	if in.drop.Step == 0 {
		t.addFrame(o, s, n, in, outermost)
	}
	return o
}

// addFrame adds to the breakdown what a node that is left takes besides its pieces: its tag, and what frames and joins a
// message.
func (t *teller) addFrame(o *Outline, s *tree.State, n tree.ID, in around, outermost bool) {
	if tag := s.Tree.Extra(n).Tag; tag != nil && in.message != nil && !s.Blank(n) {
		in.message.add(in.category, tag.Tokens())
	}
	if s.Tree.Nodes[n].Kind != tree.Message {
		return
	}
	tokens := 0
	if s == t.fit.state {
		tokens = t.fit.count.Count(n)
	} else {
		tokens = t.fit.layout.layouter.Tokenizer.CountMessage(join.Message(s.At(tree.Latest), n))
	}
	if !s.Blank(n) {
		o.Counted = tokens
	}
	if outermost {
		t.breakdown.addMessage(in.message, in.category, tokens)
	}
}

// calls adds the calls of a message to its outline.
func (t *teller) calls(o *Outline, s *tree.State, n tree.ID, in around) {
	pinned := s == t.fit.state && t.fit.order.Pinned(n)
	for i, c := range s.Tree.Extra(n).Calls {
		of, call, at := in, &Outline{Name: c.Name, Text: c.Arguments}, tree.Change{Node: n, Call: int32(i)}
		of.dropped(s.DropOf(at))
		if c.KeepWith != nil {
			of.group = c.KeepWith.Name
		}
		of.required = in.required || pinned && !t.removable(c.KeepWith)
		if t.all || of.drop.Step == 0 {
			t.piece(call, Piece{Kind: pieceToolCall, Tokens: t.fit.count.Call(c)}, of, at)
			o.add(call)
		}
	}
}

// removable reports whether a group may be removed.
func (t *teller) removable(g *elements.Group) bool {
	may, known := t.mayGo[g]
	if !known {
		may = slices.ContainsFunc(t.fit.order.Members(g), func(m tree.Change) bool { return m.Call < 0 && !t.fit.order.Locked(m.Node) })
		t.mayGo[g] = may
	}
	return may
}

// uniform reports whether everything in a node is of one category.
func uniform(t *tree.Tree, n tree.ID, in elements.Category) bool {
	for c := n + 1; c < t.Nodes[n].End; c++ {
		if within(in, &t.Nodes[c]) != in {
			return false
		}
	}
	return true
}

// children adds the outlines of the children of a node to its own.
func (t *teller) children(o *Outline, s *tree.State, n tree.ID, in around) {
	for c := n + 1; c < s.Tree.Nodes[n].End; c = s.Tree.Nodes[c].End {
		if t.all || s.Present(c) {
			if child := t.node(s, c, in); child != nil {
				o.add(child)
			}
		}
	}
}

// piece makes an outline that of a piece.
func (t *teller) piece(o *Outline, p Piece, in around, at tree.Change) {
	if in.finished != tree.Root {
		at = tree.Change{Node: in.finished, Call: -1}
	}
	p.Path, p.Name, p.Priority, p.Group, p.Category, p.Required = in.path, in.name, in.priority, in.group, in.category, in.required
	if in.drop.Step == 0 {
		p.Restored = in.drop.Restored
	} else {
		p.Dropped, p.Limit = reasons[in.drop.Cause], t.fit.limitPath(in.drop.Step)
		chosen := t.chosen(in.drop.Step)
		if t.fit.state.Drop(chosen).Cause == tree.ByShare {
			p.Dropped = reasonShare
		}
		p.Priority = t.priority(chosen)
		if path := t.fit.state.Tree.Path(chosen); path != p.Path {
			p.DecidedBy = path
		}
	}
	o.Piece, o.Tokens, o.at = &p, p.tokens(), at
	t.pieces++
	if in.message != nil {
		in.message.add(in.category, o.Tokens.Kept)
	}
}

// shorten sets the tokens of a text that layout cut to its share, or that was trimmed.
func (t *teller) shorten(p *Piece, n tree.ID, dropped bool) {
	left := p.Tokens
	if p.Cut = t.fit.state.Tree.Nodes[n].Is(tree.Cut); p.Cut {
		p.Tokens = t.fit.layout.layouter.Tokenizer.CountText(t.fit.state.Tree.Extra(n).Trim.Given())
	}
	trimmed := t.fit.state.Trimmed(n)
	if trimmed != nil {
		left = trimmed.Tokens
	}
	switch {
	case dropped:
	case p.Cut && tree.Blank(t.fit.state.Tree.Text(n)):
		p.Dropped = reasonShare
	case p.Cut || trimmed != nil:
		p.Tokens, p.TrimmedFrom = left, p.Tokens
	}
}

// chosen returns the node that was chosen at a step.
func (t *teller) chosen(at tree.Step) tree.ID {
	s := t.fit.state
	return s.Log[sort.Search(len(s.Log), func(i int) bool { return s.LogStep(i) >= at })].Node
}

// priority returns the priority of a node, or of the nearest element around it that has one; nil if none has.
func (t *teller) priority(n tree.ID) *int {
	for nodes := t.fit.state.Tree.Nodes; n != tree.None; n = nodes[n].Parent {
		if nodes[n].Is(tree.HasPriority) {
			return new(nodes[n].Priority)
		}
	}
	return nil
}

// newOutline returns the outline of a node, without what is in it.
func newOutline(t *tree.Tree, n tree.ID) *Outline {
	node, extra := &t.Nodes[n], t.Extra(n)
	o := &Outline{Name: t.PathIn("", n)}
	if node.Is(tree.HasPriority) {
		o.Priority = new(node.Priority)
	}
	if extra.Tag != nil {
		o.Tag = strings.TrimSuffix(extra.Tag.Open, "\n")
	}
	switch node.Kind {
	case tree.Message:
		o.Role = extra.Frame.Role
	case tree.Text:
		if o.Text = t.Text(n); node.Is(tree.Cut) {
			o.Text = extra.Trim.Given()
		}
	case tree.Tool:
		o.Text = extra.Tool.Description
	case tree.Part:
		switch p := extra.Part.(type) {
		case chat.Thinking:
			o.Text = p.Text
		case chat.Image:
			o.Text = p.URL
		}
	}
	return o
}

// add adds the outline of something in the element.
func (o *Outline) add(child *Outline) {
	o.Children = append(o.Children, child)
	o.Tokens.add(child.Tokens)
}

// becomeOnlyText makes an element that holds one text and nothing else that text, so that a file in a fence in a tag is one
// line wherever it is shown.
func (o *Outline) becomeOnlyText(in around) {
	if len(o.Children) != 1 {
		return
	}
	c := o.Children[0]
	if c.Piece == nil || c.Piece.Kind != pieceText || c.Piece.Name != in.name || c.Priority != nil && o.Priority != nil {
		return
	}
	if c.Piece.Path = in.path; c.Piece.DecidedBy == in.path {
		c.Piece.DecidedBy = ""
	}
	if c.Priority != nil {
		o.Priority = c.Priority
	}
	o.Piece, o.Text, o.at, o.Children = c.Piece, c.Text, c.at, nil
}

// structural are the names of elements that say nothing of what they hold. A text that is not an element has none.
var structural = map[string]bool{
	"": true, "Text": true, "Fence": true, "Wrap": true, "Together": true, "KeepWith": true, "LegacyPrioritization": true, "Limit": true,
	"Ranked": true, "IfEmpty": true, "First": true, "Expand": true, "Image": true, "Document": true, "Thinking": true,
}

// each calls f with the outline of each piece, in document order.
func (o *Outline) each(f func(*Outline)) {
	if o.Piece != nil {
		f(o)
	}
	for _, c := range o.Children {
		c.each(f)
	}
}

// reasons are the causes in words.
var reasons = [...]Reason{tree.ByPriority: reasonPriority, tree.ByChunk: reasonChunk, tree.ByGroup: reasonGroup, tree.ByEmptiness: reasonEmptied, tree.ByShare: reasonShare}
