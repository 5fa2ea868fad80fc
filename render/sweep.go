package render

import (
	"math"
	"slices"
)

// crowd is very many texts among which pruning chooses, and of each as little as it takes to let them go in an order of
// their own: it fits the processor's caches where the tree does not.
type crowd struct {
	choice   *choice
	texts    []crowded // by the place of the candidate
	families []family
}

// crowdSize is from how many texts on a crowd is worth its making.
const crowdSize = 2048

// crowded is a text. One that is watched may be the last of its family that is not white space.
type crowded struct {
	bytes int32
	in    int32 // its family, and watched
	gone  step
}

// watched is the bit for it, beside the family.
const watched = math.MinInt32

func (t *crowded) watched() bool { return t.in&watched != 0 }
func (t *crowded) watch()        { t.in |= watched }
func (t *crowded) family() int32 { return t.in &^ watched }

// family is the texts from a place to another, which are all that stands in an element.
type family struct {
	node     *node
	from, to int32
}

// sweep does what run does, for very many texts that take nothing along but what they leave empty. It takes them out of
// a crowd, and when enough went it takes them out of the tree, in the order in which they stand there.
func (p *pruner) sweep(c *choice, weight, goal int) (left int) {
	if c.sweepTried || len(c.sorted) < crowdSize {
		return weight
	}
	c.sweepTried = true
	if slices.IsSorted(c.sorted) {
		return weight
	}
	all := c.crowd()
	if all == nil {
		return weight
	}
	before := p.now
	next := 0
	for ; next < len(c.sorted) && weight > goal; next++ {
		place := c.sorted[next]
		t := &all.texts[place]
		f := &all.families[t.family()]
		if t.gone != 0 || t.watched() && !f.node.attached() {
			continue
		}
		p.now++
		t.gone = p.now
		p.went = append(p.went, c.node(place))
		weight -= int(t.bytes)
		if t.watched() && !all.watchOther(f, place) && f.node.empty() {
			if p.remove(f.node, byEmptiness); f.node.gone != 0 {
				weight -= all.weight(f)
			}
		}
	}
	c.sorted = c.sorted[next:]
	p.disturbed = slices.Grow(p.disturbed, len(all.families))
	for i := range all.families {
		if f := &all.families[i]; all.note(f, before) {
			p.disturbed.add(f.node)
		}
	}
	return weight
}

// crowd gives the texts that c chooses among; nil where there is anything else among them or beside them.
func (c *choice) crowd() *crowd {
	candidates := len(c.nodes)
	if c.nodes == nil {
		candidates = len(c.in.children)
	}
	const few = 8 // texts in an element, as a guess
	all := &crowd{choice: c, texts: make([]crowded, candidates), families: make([]family, 0, 1+len(c.nodes)/few)}
	f := &family{}
	for i := range all.texts {
		n := c.node(int32(i))
		if in := n.parent; in != f.node {
			if !in.flat || in.held || in.ranks != nil {
				return nil
			}
			in.empty() // finds what is solid, for while texts go it is asked, and the element does not know of them
			all.families = append(all.families, family{node: in, from: int32(i)})
			f = &all.families[len(all.families)-1]
		}
		if n.kind != text || len(n.text) > math.MaxInt32 {
			return nil
		}
		t := &all.texts[i]
		t.bytes, t.in, t.gone = int32(len(n.text)), int32(len(all.families)-1), n.gone
		if f.node.solid == none || f.node.solid == n.index+1 {
			t.watch()
		}
		f.to = int32(i + 1)
	}
	return all
}

// weight is the bytes of what is left of a family.
func (all *crowd) weight(f *family) (bytes int) {
	for _, t := range all.texts[f.from:f.to] {
		if t.gone == 0 {
			bytes += int(t.bytes)
		}
	}
	return bytes
}

// watchOther watches another text of a family than one that went, after it or else before it. White space is not watched
// while there is anything else.
func (all *crowd) watchOther(f *family, place int32) (found bool) {
	if f.node.solid == none {
		return false
	}
	look := func(from, to int32) bool {
		for i := from; i < to; i++ {
			if t := &all.texts[i]; t.gone == 0 && !blank(all.choice.node(i).text) {
				t.watch()
				return true
			}
		}
		return false
	}
	if look(place+1, f.to) || look(f.from, place) {
		return true
	}
	f.node.solid = none
	for i := f.from; i < f.to; i++ {
		all.texts[i].watch()
	}
	return false
}

// note notes in the tree what went of a family after a step, and tells whether anything did.
func (all *crowd) note(f *family, after step) (changed bool) {
	for i := f.from; i < f.to; i++ {
		if all.texts[i].gone <= after {
			continue
		}
		n := all.choice.node(i)
		n.gone, n.cause = all.texts[i].gone, byPriority
		f.node.lose(n)
		if f.node.solid == n.index+1 {
			f.node.solid = 0
		}
		changed = true
	}
	return changed
}
