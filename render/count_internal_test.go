package render

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/join"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// countFresh counts the rest of a node by a second implementation, from nothing.
func (f *fitting) countFresh(n tree.ID) int {
	return bareOf(f.state, n).count(f.layout.layouter.Tokenizer)
}

// CheckCounts prunes a prompt to nothing, and compares the count after each step with a fresh one; if each is set, also
// the counts of all elements. It returns the first difference, or "".
func CheckCounts(layout *Layout, each bool) string {
	f := layout.fitting(0)
	for {
		wrong := ""
		f.state.At(tree.Latest).Walk(tree.Root, func(n tree.ID) {
			if n != tree.Root && (!each || f.state.Tree.Nodes[n].Leaf()) {
				return
			}
			if got, want := f.count.Count(n), f.countFresh(n); got != want {
				wrong = fmt.Sprintf("step %d: %d tokens in %s, not %d", f.state.Now, got, f.state.Tree.Path(n), want)
			}
		})
		if wrong != "" {
			return wrong
		}
		if n, _, _ := f.step(tree.Root); n == tree.None {
			return ""
		}
	}
}

// CheckSkip calls skip for each of these limits. It returns the first case in which skip removed more than was
// necessary, or "".
func CheckSkip(ctx context.Context, layout *Layout, limits []int) string {
	f := layout.fitting(0)
	for _, limit := range limits {
		f.rewind(0)
		for range limit % 3 { // so that some pieces are counted
			f.count.Count(tree.Root)
			f.step(tree.Root)
		}
		start := f.state.Now
		f.skip(ctx, tree.Root, limit)
		if wrong := f.wrongState(); wrong != "" {
			return fmt.Sprintf("limit %d: %s", limit, wrong)
		}
		left := f.count.Count(tree.Root)
		switch fresh := f.countFresh(tree.Root); {
		case left != fresh:
			return fmt.Sprintf("limit %d, step %d: %d tokens, not %d", limit, f.state.Now, left, fresh)
		case f.state.Now > start && left <= limit:
			return fmt.Sprintf("limit %d: at step %d only %d tokens were left", limit, f.state.Now, left)
		}
	}
	return ""
}

// wrongState compares the state with one that is built again from its log. It returns the last difference, or "".
func (f *fitting) wrongState() (wrong string) {
	fresh := tree.NewState(f.state.Tree)
	fresh.Replay(f.state, func(n tree.ID) tree.ID { return n })
	f.state.At(tree.Latest).Walk(tree.Root, func(n tree.ID) {
		switch {
		case f.state.Left(n) != fresh.Left(n):
			wrong = fmt.Sprintf("%d children of %s, not %d", f.state.Left(n), f.state.Tree.Path(n), fresh.Left(n))
		case f.state.Blank(n) != fresh.Blank(n):
			wrong = fmt.Sprintf("whether %s is blank", f.state.Tree.Path(n))
		}
	})
	return wrong
}

// CheckLowerBound prunes a prompt to nothing. It returns the first case in which a lower bound is above the exact count
// (of a message, without its frame), or "".
func CheckLowerBound(layout *Layout) string {
	f := layout.fitting(0)
	joiner := f.layout.layouter.Tokenizer.(chat.Joiner)
	for {
		wrong := ""
		if least, tokens := f.count.LowerBoundWithTools(tree.Root), f.count.Count(tree.Root); least > tokens {
			return fmt.Sprintf("step %d: %d tokens at least, but it counts %d", f.state.Now, least, tokens)
		}
		f.state.At(tree.Latest).Walk(tree.Root, func(n tree.ID) {
			tokens := f.count.Count(n)
			if f.state.Tree.Nodes[n].Kind == tree.Message {
				frame, _ := joiner.CountFrame(join.Message(f.state.At(tree.Latest), n))
				tokens -= frame
			}
			if least := f.count.LowerBound(n, tree.Latest); least > tokens {
				wrong = fmt.Sprintf("step %d: %s counts %d at least, but it counts %d", f.state.Now, f.state.Tree.Path(n), least, tokens)
			}
		})
		if wrong != "" {
			return wrong
		}
		if n, _, _ := f.step(tree.Root); n == tree.None {
			return ""
		}
	}
}
