package render

import (
	"sort"

	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// trimming is a text that became shorter, and the index of the text that it was: see [tree.State.Trim].
type trimming struct {
	text tree.ID
	was  int
}

// untrimmed is no trimming.
var untrimmed = trimming{text: tree.None}

// undo makes a text what it was before it was trimmed.
func (t trimming) undo(c *count.Counter) {
	if t.text != tree.None {
		c.Trim(t.text, t.was)
	}
}

// trim puts back the text whose going brought a container within its limit, as much of it as fits, with all that went along. It does
// nothing if the text was not chosen itself, may not become shorter, or would keep too little.
func (f *fitting) trim(container tree.ID, limit int, n tree.ID, why tree.Cause) trimming {
	text := trims(f.state.Tree, n, why)
	if text == tree.None {
		return untrimmed
	}
	trim := f.state.Tree.Extra(text).Trim
	t := trimming{text, trim.Texts}
	if before := f.state.Trimmed(text); before != nil {
		t.was = before.Index
	}
	f.rewind(f.state.Now - 1)
	if f.order.BeforeBreakpoint(text) {
		f.order.Take(n, why)
		return untrimmed
	}
	tokens := func(i int) int {
		f.count.Trim(text, i)
		return f.count.Count(container)
	}
	longest := sort.Search(t.was, func(i int) bool { return tokens(i) > limit }) - 1
	for i := longest + 1; i < t.was; i++ { // one that is longer may yet fit
		if n := tokens(i); n <= limit {
			longest = i
		} else if n > limit+tree.Slack {
			break
		}
	}
	if longest > 0 { // some of it is left
		f.count.Trim(text, longest)
		if f.count.Piece(text) >= trim.Least && !tree.Blank(f.state.Text(text)) {
			if f.record != nil { // it did not go
				f.record.taken = f.record.taken[:len(f.record.taken)-1]
			}
			return t
		}
	}
	t.undo(f.count)
	f.order.Take(n, why)
	return untrimmed
}

// trims returns the text that a node is or holds alone if it may become shorter now that the node was chosen to go; else None.
func trims(t *tree.Tree, n tree.ID, why tree.Cause) tree.ID {
	if t.Nodes[n].Is(tree.OneText) {
		n++
	}
	if why != tree.ByPriority || !t.Nodes[n].Is(tree.Trims) {
		return tree.None
	}
	return n
}
