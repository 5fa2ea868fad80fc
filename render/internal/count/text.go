package count

import (
	"slices"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// text counts a text that is joined from pieces: the tokens of the pieces, plus the change at each seam between two. A
// seam depends only on the end of the first piece from its last safe cut on, on the line break that is put there, if
// any, and on the start of the second piece up to its first safe cut ([chat.Joiner]). If a piece has no safe cut, the
// seams on both sides of it are counted as one.
type text struct {
	pieces    *pieces
	joiner    chat.Joiner
	lineBreak int          // tokens of a line break
	seams     []seam       // by ID, those of closing ends of tags included
	pass      int32        // number of the current pass over a message
	around    [3][]tree.ID // neighbours of a removed piece: those before it, after it, all
	leaves    *Seams       // where the seams of the whole tree are left, if anywhere

	tokens     int     // of the pieces so far, with the change at their seams
	node       tree.ID // the piece added last
	empty      bool    // node's text is empty
	trimmed    bool    // node is trimmed, so its seams are not kept
	last       string  // the last text that is not empty
	lastTokens int     // its tokens
	open       []byte  // the text since the last safe cut, if there is a seam in it: counted once the next cut is found
	openApart  int     // tokens of the pieces of open, each by itself
}

// seam is where a piece meets the one before it.
type seam struct {
	before, after tree.ID // the pieces around this one; None at the ends of a text
	tokens        int32   // that the seam adds
	pass          int32   // last pass that read this piece; removedPass if it was removed since
	known         bool    // tokens depends on these two pieces only
	newLine       bool    // a line break is put between the two
	ownLine       bool    // this piece is to start on a line of its own
}

// Seams holds what a counter found where the texts of a whole tree meet, for later counters of the same tree. The first
// leaves nothing: most trees are fitted once. The zero value is ready to use, by several counters at once.
type Seams struct {
	counted atomic.Bool // by an earlier counter
	kept    atomic.Pointer[[]seam]
}

// share makes a text use the seams that an earlier counter left, or leave its own.
func (t *text) share(s *Seams) {
	if kept := s.kept.Load(); kept != nil {
		copy(t.seams, *kept)
	} else if s.counted.Swap(true) {
		t.leaves = s
	}
}

// leave leaves the seams of the whole tree for later counters.
func (t *text) leave() {
	if t.leaves == nil {
		return
	}
	kept := slices.Clone(t.seams)
	for i := range kept {
		kept[i].pass = 0
	}
	t.leaves.kept.Store(&kept)
	t.leaves = nil
}

// acrossPart takes the place of a neighbour if a text is joined across a part.
const acrossPart tree.ID = -2

// removedPass is the pass of a piece that was removed since it was read.
const removedPass int32 = -1

// begin begins a text.
func (t *text) begin() { t.tokens, t.last, t.node, t.empty, t.trimmed = 0, "", tree.None, false, false }

// add adds a piece with its tokens, with a line break before it if newLine is set.
func (t *text) add(n tree.ID, s string, tokens int, ownLine, newLine, trimmed bool) {
	t.follow(n)
	met := &t.seams[n]
	if met.known && met.before == t.node && met.newLine == newLine && t.node >= 0 && len(t.open) == 0 && !trimmed && !t.trimmed {
		t.tokens += tokens + int(met.tokens)
		t.last, t.lastTokens = s, tokens
	} else {
		more, known := t.joinPiece(s, tokens, newLine)
		*met = seam{before: t.node, tokens: int32(more), newLine: newLine,
			known: known && t.node != acrossPart && s != "" && !t.empty && !trimmed && !t.trimmed}
	}
	met.pass, met.after, met.ownLine = t.pass, tree.None, ownLine
	t.node, t.empty, t.trimmed = n, s == "", trimmed
}

// follow records which piece comes after the one added last.
func (t *text) follow(n tree.ID) {
	if t.node >= 0 {
		t.seams[t.node].after = n
	}
	if n == acrossPart {
		t.node, t.empty, t.trimmed = acrossPart, false, false
	}
}

// joinPiece joins a piece. It returns the tokens that its seam adds, and whether they depend on it and the piece before
// it only.
func (t *text) joinPiece(s string, tokens int, newLine bool) (more int, known bool) {
	before, closed := t.tokens, len(t.open) == 0
	cut := false
	if newLine {
		cut = t.join("\n", t.lineBreak)
		t.join(s, tokens)
	} else {
		cut = t.join(s, tokens)
	}
	return t.tokens - before - tokens, closed && cut && len(t.open) == 0
}

// join adds a text. It reports whether there is a safe cut in the previous text, or right after it.
func (t *text) join(s string, tokens int) (cut bool) {
	if s == "" {
		return false
	}
	t.tokens += tokens
	if t.last == "" || counting.SafeCut(t.joiner, t.last, s) {
		t.close()
		t.last, t.lastTokens = s, tokens
		return true
	}
	if len(t.open) == 0 {
		var tail int
		if _, tail, cut = counting.Ends(t.joiner, t.last); cut {
			t.openApart = t.joiner.CountText(t.last[tail:])
		} else {
			tail, t.openApart = 0, t.lastTokens
		}
		t.open = append(t.open, t.last[tail:]...)
	}
	if head, _, ok := counting.Ends(t.joiner, s); ok {
		t.open = append(t.open, s[:head]...)
		t.openApart += t.joiner.CountText(s[:head])
		t.close()
	} else {
		t.open = append(t.open, s...)
		t.openApart += tokens
	}
	t.last, t.lastTokens = s, tokens
	return cut
}

// close counts the open text.
func (t *text) close() {
	if len(t.open) > 0 {
		t.tokens += t.joiner.CountText(string(t.open)) - t.openApart
		t.open = t.open[:0]
	}
}

// end ends the text and returns its tokens.
func (t *text) end() int {
	before := t.tokens
	if t.close(); t.node >= 0 {
		t.seams[t.node].tokens += int32(t.tokens - before)
	}
	return t.tokens
}
