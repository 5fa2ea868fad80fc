package render

import (
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/promptree-go/promptree/elements"
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
	// Tokens that the piece counts by itself. The tokens of a message are fewer where pieces merge, and more by what
	// wraps them.
	Tokens int `json:"tokens"`
	// Required tells that the piece could not have been dropped.
	Required bool `json:"required,omitempty"`
	// Restored tells that the piece had been dropped and was put back ([Options.Backfill]).
	Restored bool `json:"restored,omitempty"`
	// Dropped says why the piece is not in the messages; [Kept] where it is.
	Dropped Reason `json:"dropped,omitempty"`
	// Limit is the path of the TokenLimit for which the piece was dropped, "" where it was for the whole prompt.
	Limit string `json:"limit,omitempty"`
}

// Report lists every piece of a prompt in document order, kept or dropped.
type Report []Piece

// Kept gives the pieces that are in the messages.
func (r Report) Kept() []Piece { return r.filter(func(p Piece) bool { return p.Dropped == Kept }) }

// Dropped gives the pieces that are not.
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
	lost := make([]string, len(dropped))
	for i, p := range dropped {
		lost[i] = fmt.Sprintf("%s (%d tokens, %s)", p.Path, p.Tokens, p.fate())
	}
	return slog.GroupValue(
		slog.Int("kept", len(kept)), slog.Int("keptTokens", tokens(kept)),
		slog.Int("dropped", len(dropped)), slog.Int("droppedTokens", tokens(dropped)),
		slog.Any("droppedPieces", lost),
	)
}

// fate says what became of the piece.
func (p Piece) fate() string {
	switch {
	case p.Dropped != Kept && p.Limit != "":
		return fmt.Sprintf("dropped: %s, for %s", p.Dropped, p.Limit)
	case p.Dropped != Kept:
		return fmt.Sprintf("dropped: %s", p.Dropped)
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%d tokens\t%s\n", p.Path, p.Kind, priority, p.Tokens, p.fate())
	}
	w.Flush()
	return b.String()
}

// pieces says of each piece of a tree what had become of it after a step.
func (f *fitting) pieces(root *node, at step) Report {
	var r Report
	loose := map[*elements.Group]bool{} // that may go, and calls linked to them
	if f.grouped > 0 && f.held {
		f.each(func(n *node) { g := n.linked(); loose[g] = loose[g] || n.is(isGrouped) && !n.locked })
	}
	known := paths{}
	var walk func(n *node, path string, nth int, gone bool, why drop)
	walk = func(n *node, path string, nth int, gone bool, why drop) {
		if !n.there(at) {
			gone, why = true, drop{n.gone, n.cause}
		}
		if n.own != 0 {
			path = n.pathIn(path, nth)
		}
		add := func(kind PieceKind, tokens int, required, gone bool, why drop, back bool) {
			p := Piece{Path: path, Kind: kind, Priority: n.given(), Tokens: tokens, Required: required}
			if gone {
				p.Dropped, p.Limit = reasons[why.cause], f.limitPath(why.gone, known)
			} else {
				p.Restored = back
			}
			r = append(r, p)
		}
		if n.leaf() {
			add(pieceKind(n), f.piece(n), n.locked, gone, why, n.restored)
			return
		}
		for i, c := range n.more().calls {
			gone, why, back := gone, why, n.restored
			if n.unlinked != nil {
				u := n.unlinked[i]
				back = back || u.restored
				if u.gone != 0 && u.gone <= at {
					gone, why = true, u.drop
				}
			}
			required := n.locked || n.pinned && !loose[c.KeepWith]
			add(PieceToolCall, f.call(c), required, gone, why, back)
		}
		if n.is(isBlock) {
			r = f.piecesIn(n.finished, n.finished.children, r, path)
			return
		}
		nths := numbers(n.children)
		for i := range n.children {
			if c := &n.children[i]; c.gone != never {
				walk(c, path, nths[i], gone, why)
			}
		}
	}
	walk(root, root.parent.path(), known.nth(root), false, drop{})
	return r
}

// piecesIn appends the pieces of nodes among finished messages, all of which are required, in an element of this path.
func (f *fitting) piecesIn(in *finished, list []node, to Report, path string) Report {
	nths := numbers(list)
	for i := range list {
		n, path := &list[i], path
		if n.own != 0 {
			path = n.pathIn(path, nths[i])
		}
		if n.leaf() {
			to = append(to, Piece{Path: path, Kind: pieceKind(n), Priority: n.given(), Tokens: in.pieceTokens(&f.counter, n), Required: true})
			continue
		}
		for _, c := range n.more().calls {
			to = append(to, Piece{Path: path, Kind: PieceToolCall, Priority: n.given(), Tokens: f.call(c), Required: true})
		}
		to = f.piecesIn(in, n.all(), to, path)
	}
	return to
}

// partKinds are the kinds of pieces that parts are.
var partKinds = [...]PieceKind{
	textType: PieceText, imageType: PieceImage, documentType: PieceDocument, thinkingType: PieceThinking, opaqueType: PieceOpaque,
	breakpointType: PieceBreakpoint,
}

func pieceKind(n *node) PieceKind { return partKinds[typeOf(n.more().part)] }
