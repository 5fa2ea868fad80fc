package render

import (
	"context"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// bytesPerToken is about the number in English and code.
const bytesPerToken = 4

// skip takes pieces out of a container, uncounted, as long as what is left is surely more than limit. It goes on until the
// rest is about as large as the limit, and from there back to where its lower bound is above it: so the texts of what must go,
// most of all if a prompt is far too large, are never counted. What it leaves is counted and pruned step by step.
func (f *fitting) skip(ctx context.Context, container tree.ID, limit int) {
	if !f.count.Joins() || f.record != nil {
		return
	}
	weight := weightOf(f.state, container)
	tokens := float64(weight) / bytesPerToken
	if exact, known := f.count.Known(container); known {
		tokens = float64(exact)
	}
	if tokens <= float64(limit)*1.25 {
		return
	}
	start, lowerBound := f.state.Now, 0
	for stuck := false; !stuck && !f.order.RemovedWithChunk(container); {
		before := f.state.Now
		goal := int(float64(weight) * float64(limit) / tokens)
		for i := len(f.state.Log); weight > goal && !stuck && ctx.Err() == nil && !f.order.RemovedWithChunk(container); {
			n, _, _ := f.step(container)
			stuck = n == tree.None
			for ; i < len(f.state.Log); i++ {
				if c := f.state.Log[i]; c.Call < 0 {
					weight -= weightOf(f.state, c.Node)
				}
			}
		}
		lowerBound = f.count.LowerBoundWithTools(container)
		if lowerBound <= limit || ctx.Err() != nil || f.state.Now == before { // nothing is left that weighs anything
			break
		}
		weight, tokens = weightOf(f.state, container), max(float64(lowerBound), 1.25*float64(limit)) // so that it goes on by a good part
	}
	if ctx.Err() == nil {
		f.retreat(container, limit, lowerBound, start)
	}
}

// weightOf returns the bytes of the texts in a node that are there, and of parts about as many as their tokens would have.
func weightOf(s *tree.State, n tree.ID) (bytes int) {
	switch node := &s.Tree.Nodes[n]; {
	case node.Kind == tree.Text, node.Is(tree.OneText):
		return len(node.Text)
	case node.Kind == tree.Finished:
		return bytesPerToken * s.Tree.Extra(n).Block.Tokens
	case node.Leaf():
		return bytesPerToken * s.Tree.Extra(n).Tokens
	}
	for c := range s.At(tree.Latest).Children(n) {
		bytes += weightOf(s, c)
	}
	return bytes
}

// retreat brings back what went, from the last step to the first after a given one, until what is in a container, now at least
// lowerBound, is surely more than limit.
func (f *fitting) retreat(container tree.ID, limit, lowerBound int, first tree.Step) {
	at := f.state.Now
	for i := len(f.state.Log); at > first && lowerBound <= limit; at-- {
		for ; i > 0 && f.state.LogStep(i-1) == at; i-- {
			if c := f.state.Log[i-1]; c.Call < 0 && f.stoodIn(c.Node, container, at) {
				lowerBound += f.count.LowerBound(c.Node, at-1)
			}
		}
	}
	f.rewind(at)
}

// rewind makes the tree what it was after a step.
func (f *fitting) rewind(to tree.Step) { f.count.Restored(f.order.Rewind(to)) }

// stoodIn reports whether a node went from a container at a step, and not with anything else in it.
func (f *fitting) stoodIn(n, container tree.ID, at tree.Step) bool {
	for n = f.state.Tree.Nodes[n].Parent; n != container; n = f.state.Tree.Nodes[n].Parent {
		if n == tree.None || f.state.Drop(n).By(at) {
			return false
		}
	}
	return true
}

// exhaust takes out of a container everything that may go, uncounted.
func (f *fitting) exhaust(ctx context.Context, container tree.ID) {
	for ctx.Err() == nil {
		if n, _, _ := f.step(container); n == tree.None {
			return
		}
	}
}
