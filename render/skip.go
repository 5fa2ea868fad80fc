package render

import (
	"context"
	"math"

	"github.com/promptree-go/promptree/render/internal/tree"
)

// bytesPerToken is what English and code have.
const bytesPerToken = 4

// skip takes pieces out of a container, uncounted, as long as what is left is surely more than limit. It goes on until the
// rest is about as large as the limit, and from there back to where its lower bound is above it: so the texts of what must go,
// most of all if a prompt is far too large, are never counted. What it leaves is counted and pruned step by step.
func (f *fitting) skip(ctx context.Context, container tree.ID, limit int) {
	if !f.count.Joins() || f.record != nil {
		return
	}
	weight := f.weight(container)
	tokens := float64(weight) / bytesPerToken
	if exact, known := f.count.Known(container); known {
		tokens = float64(exact)
	}
	if tokens <= float64(limit)*1.25 {
		return
	}
	start := f.Now
	f.count.Pause()
	least := 0
	for !f.WentWithChunk(container) {
		before := f.Now
		goal := int(float64(weight) * float64(limit) / tokens)
		stuck := false
		for i := len(f.Log); weight > goal && !stuck && ctx.Err() == nil && !f.WentWithChunk(container); {
			if stuck = f.step(container) != tree.None; stuck {
				break
			}
			for ; i < len(f.Log); i++ {
				if c := f.Log[i]; c.Call < 0 {
					weight -= f.weight(c.Node)
				}
			}
			weight -= f.Run(container, weight-goal)
			i = len(f.Log)
		}
		least = f.count.Least(container, tree.Latest)
		if least <= limit || stuck || ctx.Err() != nil || f.Now == before { // nothing is left that weighs anything
			break
		}
		weight, tokens = f.weight(container), max(float64(least), 1.25*float64(limit)) // so that it goes on by a good part
	}
	f.count.Resume()
	if ctx.Err() == nil {
		f.retreat(container, limit, least, start)
	}
}

// weight returns the bytes of the texts in a node that are there, and of parts about as many as their tokens would have.
func (f *fitting) weight(n tree.ID) (bytes int) {
	switch node := &f.Nodes[n]; {
	case node.Kind == tree.Text, node.Is(tree.OneText):
		return len(node.Text)
	case node.Kind == tree.Finished:
		return bytesPerToken * f.Extra(n).Block.Tokens
	case node.Leaf():
		return bytesPerToken * f.Extra(n).Tokens
	}
	for c := f.First(n); c != tree.None; c = f.Next(c) {
		bytes += f.weight(c)
	}
	return bytes
}

// retreat brings back what went, from the last step to the first after a given one, until what is in a container, now at least this
// much, is surely more than limit.
func (f *fitting) retreat(container tree.ID, limit, least int, first tree.Step) {
	at := f.Now
	for i := len(f.Log); at > first && least <= limit; at-- {
		for ; i > 0 && f.LogStep(i-1) == at; i-- {
			if c := f.Log[i-1]; c.Call < 0 && f.stoodIn(c.Node, container, at) {
				least += f.count.Least(c.Node, at-1)
			}
		}
	}
	f.Rewind(at)
}

// stoodIn reports whether a node went from a container at a step, and not with anything else in it.
func (f *fitting) stoodIn(n, container tree.ID, at tree.Step) bool {
	for n = f.Nodes[n].Parent; n != container; n = f.Nodes[n].Parent {
		if n == tree.None || f.Drop(n).By(at) {
			return false
		}
	}
	return true
}

// exhaust takes out of a container everything that may go, uncounted.
func (f *fitting) exhaust(ctx context.Context, container tree.ID) {
	f.count.Pause()
	for ctx.Err() == nil && f.step(container) == tree.None {
		f.Run(container, math.MaxInt)
	}
	f.count.Resume()
}
