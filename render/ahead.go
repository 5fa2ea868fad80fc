package render

import (
	"context"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/sizing"
)

// ahead takes pieces out of a container, uncounted, as long as what is left is surely more than limit. It goes on until the
// rest is about as large as the limit, and from there back to where its least is above it: so the texts of what must go,
// most of all where a prompt is far too large, are never counted. What it leaves is counted and pruned step by step.
//
// The least that a text counts, whatever it is joined with, is what stands between its first and its last safe cut
// ([sizing.Joiner]); white space counts nothing, for a tag with nothing else in it is not written. Where a message is
// nothing but texts on lines of their own, and line breaks, a text is joined with line breaks only, and there it most often
// can be cut. And what is between two such texts holds a line break: it counts 1 at least, if one by itself counts anything.
func (p *pruner) ahead(ctx context.Context, container *node, limit int) {
	if p.joiner == nil || p.recording {
		return
	}
	weight := container.weight()
	tokens := float64(weight) / bytesPerToken
	if container.counted {
		tokens = float64(container.tokens)
	}
	if tokens <= float64(limit)*1.25 {
		return
	}
	start := p.now
	p.went = slices.Grow(p.went, max(0, p.allPieces-len(p.went)))
	p.uncounted = true
	var least int
	for !p.gone(container) {
		before := p.now
		goal := int(float64(weight) * float64(limit) / tokens)
		stuck := false
		for i := len(p.went); weight > goal && !stuck && ctx.Err() == nil && !p.gone(container); {
			stuck = p.removeLowest(container) != nil
			for ; i < len(p.went); i++ {
				weight -= p.went[i].weight()
			}
			if !stuck {
				weight = p.run(container, weight, goal)
				i = len(p.went)
			}
		}
		least = p.least(container)
		if least <= limit || stuck || ctx.Err() != nil || p.now == before { // nothing is left that weighs anything
			break
		}
		weight, tokens = container.weight(), max(float64(least), 1.25*float64(limit)) // so that it goes on by a good part
	}
	p.uncounted = false
	for _, n := range p.disturbed.take() {
		n.forget()
	}
	if ctx.Err() == nil {
		p.retreat(container, limit, least, start)
	}
}

// run goes on where the last piece was chosen, as long as the pieces that come next there take nothing along, until what is
// left weighs no more than goal. It takes no more than removeLowest would, but is soon done with very many.
func (p *pruner) run(container *node, weight, goal int) (left int) {
	n := p.chooser
	if p.grouped > 0 || p.strict && p.chunks && n.is(isLegacy) || n.gone != 0 || n.choice == nil || len(n.choice.risen) > 0 || len(n.choice.holders) > 0 || !n.sole(container) {
		return weight
	}
	c := n.choice
	for len(c.sorted) > 0 && weight > goal {
		piece := c.node(c.sorted[0])
		in := piece.parent
		if piece.gone == 0 && (piece.kind != text || piece.locked || in.ranks != nil || !in.staysSolid(piece)) {
			break
		}
		p.pass(c)
		if piece.gone != 0 {
			continue
		}
		p.now++
		piece.gone, piece.cause = p.now, byPriority
		p.went = append(p.went, piece)
		p.disturbed.add(in)
		in.lose(piece)
		weight -= len(piece.text)
	}
	return weight
}

// staysSolid tells that n holds more than white space also without a child.
func (n *node) staysSolid(without *node) bool {
	if n.empty() {
		return false
	}
	if n.solid == without.index+1 {
		other := n.solidBeside(int(without.index))
		if other == none {
			return false
		}
		n.solid = other
	}
	return true
}

// sole tells that n is what is chosen in a container, whatever goes in it, until it is gone itself.
func (n *node) sole(container *node) bool {
	for ; n != container; n = n.parent {
		around := n.parent
		if around == nil || around.choice == nil {
			return false
		}
		if next, ok := around.choice.peek(); !ok || around.choice.node(next.place) != n || next.tied {
			return false
		}
	}
	return true
}

// bytesPerToken is what English and code have.
const bytesPerToken = 4

// weight is the bytes of the texts in n that are there, and of parts about as many as their tokens would have.
func (n *node) weight() (bytes int) {
	switch {
	case n.kind == text || n.is(isOneText):
		return len(n.text)
	case n.leaf():
		return bytesPerToken * n.rare.tokens
	case n.is(isBlock):
		return bytesPerToken * n.finished.tokens
	case n.plain && int(n.left) == len(n.children):
		return n.bytes
	}
	for i := n.nextAt(0, latest); i < len(n.children); i = n.nextAt(i+1, latest) {
		bytes += n.children[i].weight()
	}
	return bytes
}

// retreat brings back what went, from the last step to the first after a given one, until what is in a container, now this
// much at least, is surely more than limit.
func (p *pruner) retreat(container *node, limit, least int, first step) {
	at, i := p.now, len(p.went)
	for ; at > first && least <= limit; at-- {
		for ; i > 0 && p.went[i-1].gone == at; i-- {
			if n := p.went[i-1]; n.stoodIn(container, at) {
				least += p.leastAt(n, at-1, n.onLines())
			}
		}
	}
	p.rewind(at)
}

// stoodIn tells that n went from a container at a step, and not with anything else in it.
func (n *node) stoodIn(container *node, at step) bool {
	for n = n.parent; n != container; n = n.parent {
		if n == nil || !n.there(at) {
			return false
		}
	}
	return true
}

// least is what a node counts at least.
func (p *pruner) least(n *node) int { return p.leastAt(n, latest, n.onLines()) }

// leastAt is what a node that was there after a step counted at least. A message of lines has one thing between texts less
// than it has texts, and so has one of no texts, lest it were counted twice when they come back.
func (p *pruner) leastAt(n *node, at step, lines bool) (tokens int) {
	switch {
	case n.is(isBlock):
		return n.finished.tokens
	case n.kind == text && blank(n.text):
		return 0
	case n.kind == text:
		return p.leastText(n, lines)
	case n.kind == message:
		if lines = n.lines; lines {
			tokens -= p.between()
		}
	}
	for c := range n.present(at) {
		tokens += p.leastAt(c, at, lines)
	}
	return tokens
}

// leastText is what a text counts at least, with what is between it and the one before it where both stand on lines.
func (p *pruner) leastText(n *node, lines bool) (tokens int) {
	var breaks known
	s := n.text
	if lines {
		breaks, tokens = breaksOf(p.joiner, s), p.between()
		if strings.HasSuffix(s, "\n") { // no other comes after it
			breaks &^= cutBeforeBreak
		}
	}
	tokens += p.piece(n)
	if breaks == cutAfterBreak|cutBeforeBreak {
		return tokens
	}
	head, tail, ok := sizing.Ends(p.joiner, s)
	if !ok {
		return 0
	}
	if breaks&cutAfterBreak == 0 {
		tokens -= p.joiner.CountText(s[:head])
	}
	if breaks&cutBeforeBreak == 0 {
		tokens -= p.joiner.CountText(s[tail:])
	}
	return tokens
}

// between is what there is between two lines at least.
func (p *pruner) between() (tokens int) { return min(1, p.lineBreak) }

// onLines tells that n is or stands in a message of lines.
func (n *node) onLines() bool {
	m := n.message()
	return m != nil && m.lines
}
