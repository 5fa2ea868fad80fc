package render

import (
	"context"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// bytesPerToken is a rough average for English and code.
const bytesPerToken = 4

// skip removes pieces from a container without counting them, as long as the rest is certainly more than limit. It
// continues until the rest is, by an estimate, about as large as the limit, and then goes back until a lower bound of
// the rest is above the limit. So most texts that must be removed are never counted, which matters if a prompt is far
// too large. The rest is counted and pruned step by step.
func (f *fitting) skip(ctx context.Context, container tree.ID, limit int) {
	if !f.count.Joins() {
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
		if lowerBound <= limit || ctx.Err() != nil || f.state.Now == before { // the last case: only weightless pieces are left
			break
		}
		weight, tokens = weightOf(f.state, container), max(float64(lowerBound), 1.25*float64(limit)) // at least a fifth more is removed
	}
	if ctx.Err() == nil {
		f.backtrack(container, limit, lowerBound, start)
	}
}

// weightOf returns the bytes of the texts that are left in a node. Parts weigh about as much as text with their tokens.
func weightOf(s *tree.State, n tree.ID) (bytes int) {
	switch node := &s.Tree.Nodes[n]; {
	case node.Kind == tree.Text, node.Is(tree.OneText):
		return len(s.Tree.Text(n))
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

// backtrack undoes steps, from the last one back to the one after first, until the container is certainly more than
// limit. Its count is at least lowerBound now.
func (f *fitting) backtrack(container tree.ID, limit, lowerBound int, first tree.Step) {
	at := f.state.Now
	for i := len(f.state.Log); at > first && lowerBound <= limit; at-- {
		for ; i > 0 && f.state.LogStep(i-1) == at; i-- {
			if c := f.state.Log[i-1]; c.Call < 0 && f.outermostRemoved(c.Node, container, at) {
				lowerBound += f.count.LowerBound(c.Node, at-1)
			}
		}
	}
	f.rewind(at)
}

// outermostRemoved reports whether no node between a removed node and the container had been removed by a step too.
func (f *fitting) outermostRemoved(n, container tree.ID, at tree.Step) bool {
	for n = f.state.Tree.Nodes[n].Parent; n != container; n = f.state.Tree.Nodes[n].Parent {
		if n == tree.None || f.state.Drop(n).By(at) {
			return false
		}
	}
	return true
}
