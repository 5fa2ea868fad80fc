package render

import (
	"iter"
	"runtime"
)

// A tree of many pieces is larger than the processor's caches, and what is done to it goes through it in orders of its own:
// by priority, or from one piece that is left to the next. To wait for memory at each piece takes longer than all the rest.
// So what is read next is touched before, in loops that do nothing else and wait for nothing: then memory gives many
// pieces in about the time of one.

// atOnce is how many pieces are touched before they are gone through.
const atOnce = 32

// standing gives the children that were there after a step, in order, their texts touched.
func (n *node) standing(at step) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		var some [atOnce]*node
		for i := n.nextAt(0, at); i < len(n.children); {
			k := 0
			for k < len(some) && i < len(n.children) {
				some[k] = &n.children[i]
				k++
				i = n.nextAt(i+1, at)
			}
			if k > 1 {
				touchTexts(some[:k], at)
			}
			for _, c := range some[:k] {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// touchTexts touches the texts that were there after a step among nodes and directly in them, as many as that is worth. Where
// one thing tells where the next is, it goes through all of the one before the next.
func touchTexts(list []*node, at step) {
	var texts [4 * atOnce]*node
	sum, k := int32(0), 0
	add := func(n *node) bool {
		if k == len(texts) {
			return false
		}
		texts[k] = n
		k++
		return true
	}
	for _, n := range list {
		sum += n.index
	}
	for _, n := range list {
		if !n.leaf() {
			sum += n.left
		}
	}
	for _, n := range list {
		if n.leaf() {
			add(n)
			continue
		}
		for i := n.nextAt(0, at); i < len(n.children) && add(&n.children[i]); i = n.nextAt(i+1, at) {
		}
	}
	for _, c := range texts[:k] {
		sum += c.index
	}
	for _, c := range texts[:k] {
		sum += int32(ends(c.text))
	}
	runtime.KeepAlive(sum)
}

// ends reads the two ends of a text.
func ends(s string) byte {
	if s == "" {
		return 0
	}
	return s[0] + s[len(s)-1]
}

// touch touches the next candidates of a choice, and what goes along with them.
func (p *pruner) touch(c *choice) {
	var some [atOnce]*node
	k, sum := 0, int32(0)
	for _, place := range c.sorted[:min(atOnce, len(c.sorted))] {
		if c.went(place) {
			continue
		}
		n := c.node(place)
		some[k] = n
		k++
		sum += int32(n.gone) + n.parent.left
		if !n.is(isOneText) { // of which nothing inside is asked
			sum += n.left
		}
	}
	if p.groups != nil {
		sum += p.touchGroups(some[:k])
	}
	runtime.KeepAlive(sum)
}

// touchGroups touches the members of groups, a few of each: the first ones, then the next ones, for one tells where the next is.
func (p *pruner) touchGroups(list []*node) (sum int32) {
	var along [4 * atOnce]*node
	var next [atOnce]int32
	groups, m := 0, 0
	for _, n := range list {
		if n.gone == 0 && n.is(isGrouped) {
			next[groups] = p.groups[n.number].first
			groups++
		}
	}
	for before := -1; m > before && m+groups <= len(along); {
		before = m
		for i, place := range next[:groups] {
			if place != 0 {
				along[m], next[i] = p.members[place].node, p.members[place].next
				m++
			}
		}
	}
	for _, n := range along[:m] {
		sum += int32(n.gone)
	}
	return sum
}

// touchWent touches the texts that went last, those before the last rest of what went.
func (p *pruner) touchWent(rest int) {
	last := p.went[max(0, rest-atOnce):rest]
	touchTexts(last, last[0].gone-1) // before any of them went: each had at least then what it went with
}
