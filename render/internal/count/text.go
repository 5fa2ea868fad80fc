package count

import (
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// text counts a text that is joined of pieces. The tokens of a joined text are those of its pieces, and what changes where they
// meet: only the end of the one from its last safe cut on, a line break if one is put there, and the start of the other up to its
// first safe cut matter ([chat.Joiner]). Pieces without a safe cut meet on both sides at once.
type text struct {
	pieces    *pieces
	joiner    chat.Joiner
	lineBreak int    // tokens of one
	seams     []seam // by node, and those of closing ends of tags
	pass      int32  // number of the pass over a message in which pieces are met

	tokens  int // of the pieces so far, and what changed between two cuts
	node    tree.ID
	empty   bool   // the node's text is
	trimmed bool   // it is: how it meets others is not kept
	last    string // the piece added last, and its tokens
	own     int
	open    []byte // what is joined since the last cut, if pieces met after it
	apart   int    // tokens of its pieces by themselves
}

// seam is where a piece meets the one before it.
type seam struct {
	before, after tree.ID // the pieces around this one; None at the ends of a text
	tokens        int32   // that meeting adds
	pass          int32   // in which this piece was met; left if it has gone since
	known         bool    // nothing but these two pieces decides about tokens
	newLine       bool
	wants         bool // it starts on a line of its own
}

// part stands for the piece before or after a text that is joined across a part.
const part tree.ID = -2

// left is the pass of a piece that has gone since it was met.
const left int32 = -1

// begin begins a text.
func (t *text) begin() { t.tokens, t.last, t.node, t.empty, t.trimmed = 0, "", tree.None, false, false }

// add adds a piece of so many tokens, with a line break before it if newLine.
func (t *text) add(n tree.ID, s string, tokens int, wants, newLine, trimmed bool) {
	t.follow(n)
	met := &t.seams[n]
	if met.known && met.before == t.node && met.newLine == newLine && t.node >= 0 && len(t.open) == 0 && !trimmed && !t.trimmed {
		t.tokens += tokens + int(met.tokens)
		t.last, t.own = s, tokens
	} else {
		more, known := t.meet(s, tokens, newLine)
		*met = seam{before: t.node, tokens: int32(more), newLine: newLine,
			known: known && t.node != part && s != "" && !t.empty && !trimmed && !t.trimmed}
	}
	met.pass, met.after, met.wants = t.pass, tree.None, wants
	t.node, t.empty, t.trimmed = n, s == "", trimmed
}

// follow records what comes after the piece added last.
func (t *text) follow(n tree.ID) {
	if t.node >= 0 {
		t.seams[t.node].after = n
	}
	if n == part {
		t.node, t.empty, t.trimmed = part, false, false
	}
}

// meet joins a piece. It returns the tokens that are added besides its own, and whether nothing but it and the piece before it
// decides about them.
func (t *text) meet(s string, tokens int, newLine bool) (more int, known bool) {
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

// join adds a piece. It reports whether there is a cut in the piece before it or after that.
func (t *text) join(s string, tokens int) (cut bool) {
	if s == "" {
		return false
	}
	t.tokens += tokens
	if t.last == "" || safeCut(t.joiner, t.last, s) {
		t.close()
		t.last, t.own = s, tokens
		return true
	}
	if len(t.open) == 0 {
		var tail int
		if _, tail, cut = counting.Ends(t.joiner, t.last); cut {
			t.apart = t.joiner.CountText(t.last[tail:])
		} else {
			tail, t.apart = 0, t.own
		}
		t.open = append(t.open, t.last[tail:]...)
	}
	if head, _, ok := counting.Ends(t.joiner, s); ok {
		t.open = append(t.open, s[:head]...)
		t.apart += t.joiner.CountText(s[:head])
		t.close()
	} else {
		t.open = append(t.open, s...)
		t.apart += tokens
	}
	t.last, t.own = s, tokens
	return cut
}

// close counts what was joined since the last cut.
func (t *text) close() {
	if len(t.open) > 0 {
		t.tokens += t.joiner.CountText(string(t.open)) - t.apart
		t.open = t.open[:0]
	}
}

// end returns the tokens of the text.
func (t *text) end() int {
	before := t.tokens
	if t.close(); t.node >= 0 {
		t.seams[t.node].tokens += int32(t.tokens - before)
	}
	return t.tokens
}

// safeCut reports whether a text may be cut between two pieces of it without a change to its count.
func safeCut(j chat.Joiner, before, after string) bool {
	last, n := utf8.DecodeLastRuneInString(before)
	first, m := utf8.DecodeRuneInString(after)
	return whole(last, n) && whole(first, m) && j.SafeCut(last, first)
}

// whole reports whether a character of so many bytes is one: else one may come to be where texts meet.
func whole(r rune, bytes int) bool { return r != utf8.RuneError || bytes > 1 }
