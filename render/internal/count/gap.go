package count

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// mostAdjusted is around how many pieces at most a message is adjusted, if they have no cuts.
const mostAdjusted = 64

// wantAgain finds whether the texts after a gap start on lines of their own now, up to the first that is not empty: what is after that one
// starts as it did. It reports whether that is known.
func (t *text) wantAgain(before, after []tree.ID) bool {
	nodes, afterTag := t.pieces.state.Tree.Nodes, false
	if len(before) > 0 {
		last := before[len(before)-1]
		if afterTag = last >= tree.ID(len(nodes)); t.pieces.textOf(last) == "" {
			return false
		}
	}
	for _, id := range after {
		s := t.pieces.textOf(id)
		switch {
		case t.pieces.startsLine(id):
		case nodes[id].Is(tree.StartsElement): // which depends on the elements before it
			return false
		default:
			t.seams[id].wants = afterTag && s != "" && s[0] != '\n'
		}
		if s != "" {
			break
		}
	}
	return true
}

// around returns the pieces before and after others, up to one with a cut in it or before it on both sides, if they are not too many and
// nothing else stands among them.
func (t *text) around(first, last tree.ID) (before, after []tree.ID, ok bool) {
	collect := func(id tree.ID, next func(tree.ID) tree.ID) (pieces []tree.ID, whole bool) {
		for ; id >= 0 && len(pieces) < mostAdjusted; id = next(id) {
			pieces = append(pieces, id)
			text := t.pieces.textOf(id)
			if _, _, cut := counting.Ends(t.joiner, text); cut || t.pieces.startsLine(id) && t.seams[id].newLine && safeCut(t.joiner, "\n", text) {
				return pieces, true
			}
		}
		return pieces, id == tree.None
	}
	seams := t.seams
	if before, ok = collect(seams[first].before, func(id tree.ID) tree.ID { return seams[id].before }); !ok {
		return nil, nil, false
	}
	slices.Reverse(before)
	after, ok = collect(seams[last].after, func(id tree.ID) tree.ID { return seams[id].after })
	return before, after, ok
}

// meetAgain has pieces meet that did so before, now that what stood between has gone or the texts have become others by change. It
// returns by how many tokens less they count.
func (t *text) meetAgain(before, after []tree.ID, change func()) (fewer int) {
	seams := t.seams
	pieces := slices.Concat(before, after)
	for i, id := range pieces {
		fewer += t.pieces.tokensOf(id)
		if i > 0 || len(before) == 0 {
			fewer += int(seams[id].tokens)
		}
	}
	change()
	last, follows := pieces[len(pieces)-1], tree.None
	if len(after) > 0 {
		follows = seams[last].after
	}
	t.begin()
	t.pass = seams[pieces[0]].pass
	inLine := false // there is text, and its last line has not ended
	for i, id := range pieces {
		s, own, trimmed := t.pieces.textOf(id), t.pieces.tokensOf(id), t.pieces.trimmed(id)
		if i == 0 && len(before) > 0 { // which meets what it met
			t.join(s, own)
			t.node, t.empty, t.trimmed = id, s == "", trimmed
		} else {
			newLine := seams[id].newLine
			if i >= len(before) {
				newLine = inLine && seams[id].wants
			}
			t.add(id, s, own, seams[id].wants, newLine, trimmed)
			inLine = inLine && !newLine
		}
		if s != "" {
			inLine = !strings.HasSuffix(s, "\n")
		}
	}
	fewer -= t.end()
	seams[last].after = follows
	return fewer
}
