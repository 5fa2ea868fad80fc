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
	t := trimming{text, f.state.Tree.Extra(text).Trim.Texts}
	if before := f.state.Trimmed(text); before != nil {
		t.was = before.Index
	}
	f.rewind(f.state.Now - 1)
	if f.order.BeforeBreakpoint(text) {
		f.order.Remove(n, why)
		return untrimmed
	}
	tokens := func(i int) int {
		if i == 0 { // nothing is left of it
			return 0
		}
		f.count.Trim(text, i)
		return f.count.Count(container)
	}
	if longest := longestWithin(limit, t.was, tokens); longest > 0 { // some of it is left
		f.count.Trim(text, longest)
		if t.leavesEnough(f.state, f.count) {
			if f.record != nil { // it did not go
				f.record.taken = f.record.taken[:len(f.record.taken)-1]
			}
			return t
		}
	}
	t.undo(f.count)
	f.order.Remove(n, why)
	return untrimmed
}

// longestWithin returns the last of so many texts with which a container counts at most limit, -1 if there is none. Counts grow with the
// texts but for the merging of a few tokens, so it is found by bisection and a look ahead.
func longestWithin(limit, texts int, tokens func(int) int) int {
	longest := sort.Search(texts, func(i int) bool { return tokens(i) > limit }) - 1
	for i := longest + 1; i < texts; i++ {
		if n := tokens(i); n <= limit {
			longest = i
		} else if n > limit+tree.Slack {
			break
		}
	}
	return longest
}

// leavesEnough reports whether enough is left of the text.
func (t trimming) leavesEnough(s *tree.State, c *count.Counter) bool {
	return c.Piece(t.text) >= s.Tree.Extra(t.text).Trim.Least && !tree.Blank(s.Text(t.text))
}

// trims returns the text that a node is or holds alone if it may become shorter now that the node was chosen to go; else None.
func trims(t *tree.Tree, n tree.ID, why tree.Cause) tree.ID {
	if t.Nodes[n].Is(tree.OneText) {
		n++
	}
	if why != tree.ByPriority || !t.Nodes[n].Is(tree.Trimmable) {
		return tree.None
	}
	return n
}
