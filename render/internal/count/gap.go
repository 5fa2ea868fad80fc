package count

import (
	"slices"
	"strings"

	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// maxAdjusted is the number of neighbouring pieces without safe cuts up to which a count is adjusted.
const maxAdjusted = 64

// updateOwnLines finds out which texts after a gap start on lines of their own now, up to the first one that is not
// empty; those after that start as they did. It reports whether that can be known.
func (t *text) updateOwnLines(before, after []tree.ID) bool {
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
		case nodes[id].Is(tree.StartsElement): // that depends on the elements before it
			return false
		default:
			t.seams[id].ownLine = afterTag && s != "" && s[0] != '\n'
		}
		if s != "" {
			break
		}
	}
	return true
}

// neighbours returns the pieces before first and after last, until its next call: on each side, up to and including one with a safe cut in
// it or before it. ok is false if there are too many, or if a part is among them.
func (t *text) neighbours(first, last tree.ID) (before, after []tree.ID, ok bool) {
	collect := func(pieces []tree.ID, id tree.ID, next func(tree.ID) tree.ID) (list []tree.ID, whole bool) {
		for ; id >= 0 && len(pieces) < maxAdjusted; id = next(id) {
			pieces = append(pieces, id)
			text := t.pieces.textOf(id)
			if _, _, cut := counting.Ends(t.joiner, text); cut || t.pieces.startsLine(id) && t.seams[id].newLine && counting.SafeCut(t.joiner, "\n", text) {
				return pieces, true
			}
		}
		return pieces, id == tree.None
	}
	seams := t.seams
	if before, ok = collect(t.around[0][:0], seams[first].before, func(id tree.ID) tree.ID { return seams[id].before }); !ok {
		return nil, nil, false
	}
	slices.Reverse(before)
	after, ok = collect(t.around[1][:0], seams[last].after, func(id tree.ID) tree.ID { return seams[id].after })
	t.around[0], t.around[1] = before, after
	return before, after, ok
}

// rejoin joins neighbouring pieces again, because the pieces between before and after were removed, or because change
// replaces texts. It returns how many tokens fewer they count.
func (t *text) rejoin(before, after []tree.ID, change func()) (fewer int) {
	seams := t.seams
	pieces := append(append(t.around[2][:0], before...), after...)
	t.around[2] = pieces
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
	inLine := false // the text so far ends in the middle of a line
	for i, id := range pieces {
		s, own, trimmed := t.pieces.textOf(id), t.pieces.tokensOf(id), t.pieces.trimmed(id)
		if i == 0 && len(before) > 0 { // its seam with the piece before it is unchanged
			t.join(s, own)
			t.node, t.empty, t.trimmed = id, s == "", trimmed
		} else {
			newLine := seams[id].newLine
			if i >= len(before) {
				newLine = inLine && seams[id].ownLine
			}
			t.add(id, s, own, seams[id].ownLine, newLine, trimmed)
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
