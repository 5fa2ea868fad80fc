package render

import (
	"sort"

	"github.com/promptree-go/promptree/render/internal/count"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// trimming is a text that was trimmed, and its index before: see [tree.State.Trim].
type trimming struct {
	text tree.ID
	was  int
}

// undo makes a text what it was before it was trimmed.
func (t trimming) undo(c *count.Counter) { c.Trim(t.text, t.was) }

// trim puts back the node whose removal brought a container within its limit, with everything removed along with it,
// and trims a text of that so that the container fits. It does nothing if none may be trimmed, or if the text would become
// too short. It returns the text, None if there is none.
func (f *fitting) trim(container tree.ID, limit int, n tree.ID, why tree.Cause) (trimmed tree.ID) {
	text := f.trimmable(container, n)
	if text == tree.None {
		return tree.None
	}
	t := f.whole(text)
	f.rewind(f.state.Now - 1)
	tokens := func(i int) int {
		if i == 0 { // nothing of the text but its mark: never kept, so it need not be counted
			return 0
		}
		f.count.Trim(text, i)
		return f.count.Count(container)
	}
	if longest := longestWithin(limit, t.was, tokens); longest > 0 {
		f.count.Trim(text, longest)
		if t.leavesEnough(f.state, f.count) {
			return text
		}
	}
	t.undo(f.count)
	f.order.Remove(n, why)
	return tree.None
}

// longestWithin returns the index of the longest text with which a container counts at most limit, -1 if there is none.
// Counts grow with the texts, except that a few tokens merge, so it bisects and then looks ahead.
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
	trim := s.Tree.Extra(t.text).Trim
	return c.Piece(t.text) >= trim.Least() && !trim.Blank(s.Trimmed(t.text).Index)
}

// trimRequired trims the required texts in a limit so that it is kept: all to the same number of tokens, by themselves,
// but for those that have fewer. It reports whether that is possible with something left of each.
func (f *fitting) trimRequired(container tree.ID, limit int) bool {
	type required struct {
		trimming
		shortest int // index of the shortest text that is not blank
	}
	var texts []required
	f.state.At(tree.Latest).Walk(container, func(n tree.ID) {
		if f.state.Tree.Nodes[n].Is(tree.Trimmable) && f.order.Locked(n) {
			t := required{f.whole(n), 1}
			for trim := f.state.Tree.Extra(n).Trim; t.shortest < t.was && trim.Blank(t.shortest); {
				t.shortest++
			}
			texts = append(texts, t)
		}
	})
	fits := func(most int) bool {
		for _, t := range texts {
			if t.undo(f.count); f.count.Piece(t.text) <= most {
				continue
			}
			longest := longestWithin(most, t.was, func(i int) int {
				f.count.Trim(t.text, i)
				return f.count.Piece(t.text)
			})
			f.count.Trim(t.text, max(t.shortest, longest))
		}
		return f.count.Count(container) <= limit
	}
	if most := sort.Search(limit+1, func(most int) bool { return !fits(most) }) - 1; len(texts) > 0 && most >= 0 {
		return fits(most)
	}
	for _, t := range texts {
		t.undo(f.count)
	}
	return false
}

// whole returns the trimming that leaves a text as it is now.
func (f *fitting) whole(text tree.ID) trimming {
	if now := f.state.Trimmed(text); now != nil {
		return trimming{text, now.Index}
	}
	return trimming{text, f.state.Tree.Extra(text).Trim.Texts()}
}

// trimmable returns the text to trim in a container in place of the last step, in which a node was chosen: the node
// itself, or of the texts that were removed along with it the one with most tokens, of equals the last. It returns None
// if no text in the step has a break.
func (f *fitting) trimmable(container, chosen tree.ID) (text tree.ID) {
	t := f.state.Tree
	if text = trimmableText(t, chosen); text != tree.None || !t.Trims {
		return text
	}
	before, most := f.state.At(f.state.Now-1), 0
	for i := len(f.state.Log) - 1; i >= 0 && f.state.LogStep(i) == f.state.Now; i-- {
		if c := f.state.Log[i]; c.Call < 0 {
			before.Walk(c.Node, func(n tree.ID) {
				if !t.Nodes[n].Is(tree.Trimmable) || !isInside(t, n, container) {
					return
				}
				if tokens := f.count.Piece(n); tokens > most || tokens == most && n > text {
					text, most = n, tokens
				}
			})
		}
	}
	return text
}

// trimmableText returns the text that a node is, or holds alone, if it may be trimmed; else None.
func trimmableText(t *tree.Tree, n tree.ID) tree.ID {
	if t.Nodes[n].Is(tree.OneText) {
		n++
	}
	if !t.Nodes[n].Is(tree.Trimmable) {
		return tree.None
	}
	return n
}
