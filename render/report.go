package render

import (
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Reason says why a piece was dropped.
type Reason string

// The reasons. A piece that was kept has none.
const (
	Kept           Reason = ""
	ReasonPriority Reason = "priority" // it was the lowest that was left
	ReasonChunk    Reason = "chunk"    // the chunk it stood in was
	ReasonGroup    Reason = "group"    // an element of a group that it belonged to went
	ReasonEmptied  Reason = "emptied"  // nothing but white space was left around it
)

// PieceKind says what a piece is.
type PieceKind string

// The kinds of pieces.
const (
	PieceText       PieceKind = "text"
	PieceImage      PieceKind = "image"
	PieceDocument   PieceKind = "document"
	PieceThinking   PieceKind = "thinking"
	PieceOpaque     PieceKind = "opaque"
	PieceBreakpoint PieceKind = "cacheBreakpoint"
	PieceToolCall   PieceKind = "toolCall"
)

// Piece is the smallest thing that pruning decides on: a text, another part of a message, or a tool call.
type Piece struct {
	// Path of the element that the piece stands in.
	Path string    `json:"path"`
	Kind PieceKind `json:"kind"`
	// Priority of the piece among its siblings; nil is the highest.
	Priority *int `json:"priority,omitempty"`
	// Tokens that the piece counts by itself. The tokens of a message are fewer if pieces merge, and more by what
	// wraps them.
	Tokens int `json:"tokens"`
	// TrimmedFrom is what the piece counted before it was trimmed to Tokens, 0 if it was not.
	TrimmedFrom int `json:"trimmedFrom,omitempty"`
	// Required reports that the piece could not have been dropped.
	Required bool `json:"required,omitempty"`
	// Restored reports that the piece had been dropped and was put back ([Options.Backfill]).
	Restored bool `json:"restored,omitempty"`
	// Dropped says why the piece is not in the messages; [Kept] if it is.
	Dropped Reason `json:"dropped,omitempty"`
	// Limit is the path of the TokenLimit for which the piece was dropped, "" if it was for the whole prompt.
	Limit string `json:"limit,omitempty"`
}

// Report lists every piece of a prompt in document order, kept or dropped.
type Report []Piece

// Kept returns the pieces that are in the messages.
func (r Report) Kept() []Piece { return r.filter(func(p Piece) bool { return p.Dropped == Kept }) }

// Dropped returns the pieces that are not.
func (r Report) Dropped() []Piece { return r.filter(func(p Piece) bool { return p.Dropped != Kept }) }

func (r Report) filter(want func(Piece) bool) []Piece {
	var list []Piece
	for _, p := range r {
		if want(p) {
			list = append(list, p)
		}
	}
	return list
}

// LogValue sums the report up for package slog: how many pieces and tokens were kept and dropped, and each that was
// dropped.
func (r Report) LogValue() slog.Value {
	tokens := func(pieces []Piece) (n int) {
		for _, p := range pieces {
			n += p.Tokens
		}
		return n
	}
	kept, dropped := r.Kept(), r.Dropped()
	list := make([]string, len(dropped))
	for i, p := range dropped {
		list[i] = fmt.Sprintf("%s (%d tokens, %s)", p.Path, p.Tokens, p.outcome())
	}
	return slog.GroupValue(
		slog.Int("kept", len(kept)), slog.Int("keptTokens", tokens(kept)),
		slog.Int("dropped", len(dropped)), slog.Int("droppedTokens", tokens(dropped)),
		slog.Any("droppedPieces", list),
	)
}

// outcome returns in words whether the piece was kept or dropped, and why.
func (p Piece) outcome() string {
	switch {
	case p.Dropped != Kept && p.Limit != "":
		return fmt.Sprintf("dropped: %s, for %s", p.Dropped, p.Limit)
	case p.Dropped != Kept:
		return fmt.Sprintf("dropped: %s", p.Dropped)
	case p.TrimmedFrom > 0:
		return fmt.Sprintf("trimmed: %d of %d tokens", p.Tokens, p.TrimmedFrom)
	case p.Required:
		return "kept: required"
	case p.Restored:
		return "kept: put back"
	}
	return "kept"
}

// String is a table for people, a line a piece.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, p := range r {
		priority := "-"
		if p.Priority != nil {
			priority = fmt.Sprint(*p.Priority)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d tokens\t%s\n", p.Path, p.Kind, priority, p.Tokens, p.outcome())
	}
	w.Flush()
	return b.String()
}

// reasons are the causes in words.
var reasons = [...]Reason{tree.ByPriority: ReasonPriority, tree.ByChunk: ReasonChunk, tree.ByGroup: ReasonGroup, tree.ByEmptiness: ReasonEmptied}

// pieces returns the pieces in a node, with what had become of each after a step, and these texts trimmed.
func (f *fitting) pieces(root tree.ID, at tree.Step, trimmed map[tree.ID]*tree.Trimmed) Report {
	t := f.state.Tree
	r := reporter{fit: f, tree: t, at: at, trimmed: trimmed, mayGo: map[*elements.Group]bool{}}
	if t.Grouped > 0 && f.order.Held(tree.Root) {
		for i := range t.Nodes {
			if g := t.GroupOf(tree.ID(i)); g != nil && !f.order.Locked(tree.ID(i)) {
				r.mayGo[g] = true
			}
		}
	}
	r.list(root, t.Path(t.Nodes[root].Parent), tree.Drop{})
	return r.report
}

// reporter lists pieces.
type reporter struct {
	fit     *fitting
	tree    *tree.Tree
	at      tree.Step
	trimmed map[tree.ID]*tree.Trimmed
	mayGo   map[*elements.Group]bool // that may go, and calls linked to them
	report  Report
}

// list lists the pieces in a node, which stands in an element of this path that went like this.
func (r *reporter) list(n tree.ID, path string, around tree.Drop) {
	node, extra := &r.tree.Nodes[n], r.tree.Extra(n)
	drop := r.fit.state.Drop(n)
	drop.Restored = drop.Restored || around.Restored
	if drop.By(r.at) {
		around = drop
	}
	around.Restored = drop.Restored
	path = r.tree.PathIn(path, n)
	locked := r.fit.order.Locked(n)
	switch {
	case node.Kind == tree.Finished:
		r.block(extra.Block, path)
		return
	case node.Leaf():
		p := Piece{Path: path, Kind: partKinds[count.TypeOf(extra.Part)], Tokens: r.fit.count.PieceIn(r.tree, n), Required: locked}
		if t := r.trimmed[n]; t != nil && around.Step == 0 {
			p.Tokens, p.TrimmedFrom = t.Tokens, p.Tokens
		}
		r.add(p, n, around)
		return
	}
	for i, c := range extra.Calls {
		call := r.fit.state.CallDrop(n, i)
		went := around
		went.Restored = around.Restored || call.Restored
		if call.By(r.at) {
			went = call
		}
		required := locked || r.fit.order.Pinned(n) && !r.mayGo[c.KeepWith]
		r.add(Piece{Path: path, Kind: PieceToolCall, Tokens: r.fit.count.Call(c), Required: required}, n, went)
	}
	for c := n + 1; c < node.End; c = r.tree.Nodes[c].End {
		r.list(c, path, around)
	}
}

func (r *reporter) add(p Piece, n tree.ID, went tree.Drop) {
	p.Priority = given(&r.tree.Nodes[n])
	if went.Step != 0 {
		p.Dropped, p.Limit = reasons[went.Cause], r.fit.limitPath(went.Step)
	} else {
		p.Restored = went.Restored
	}
	r.report = append(r.report, p)
}

// given returns the priority of a node, nil if it was given none.
func given(n *tree.Node) *int {
	if !n.Is(tree.Given) {
		return nil
	}
	return new(n.Priority)
}

// block lists the pieces of finished messages that stay, in an element of this path.
func (r *reporter) block(b *tree.Block, path string) {
	t := b.Tree
	paths := make([]string, len(t.Nodes))
	paths[tree.Root] = path
	for i := range t.Nodes[1:] {
		n := tree.ID(i + 1)
		node := &t.Nodes[n]
		paths[n] = t.PathIn(paths[node.Parent], n)
		piece := Piece{Path: paths[n], Priority: given(node), Required: true}
		if node.Leaf() {
			piece.Kind, piece.Tokens = partKinds[count.TypeOf(t.Extra(n).Part)], r.fit.count.PieceIn(t, n)
			r.report = append(r.report, piece)
		}
		for _, c := range t.Extra(n).Calls {
			piece.Kind, piece.Tokens = PieceToolCall, r.fit.count.Call(c)
			r.report = append(r.report, piece)
		}
	}
}

// partKinds are the kinds of pieces that parts are.
var partKinds = [...]PieceKind{
	count.TextType: PieceText, count.ImageType: PieceImage, count.DocumentType: PieceDocument, count.ThinkingType: PieceThinking,
	count.OpaqueType: PieceOpaque, count.BreakpointType: PieceBreakpoint,
}
