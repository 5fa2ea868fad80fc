package render

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
)

// Tens of thousands of elements are laid out, and more than a hundred KB of text is counted, by several goroutines, where
// one has nothing to do with the other. What comes of it is the same: a portion that fails, or in which there is code of the
// caller's to be called, is done again by the caller's goroutine, in its turn and without help.

// So much is worth a goroutine: about half a millisecond.
const (
	nodesEach = 1 << 14 // nodes to be laid out
	bytesEach = 1 << 16 // bytes of text to be counted
)

// helpers is how many goroutines are to help with work of a size, so that each has enough.
func helpers(size, each int) int {
	if size < 2*each {
		return 0
	}
	return min(runtime.GOMAXPROCS(0), size/each) - 1
}

// helpers is how many are to help to lay out so many nodes here.
func (at place) helpers(nodes int) int {
	if at.alone {
		return 0
	}
	return helpers(nodes, nodesEach)
}

// portions is how many portions work is divided into at best, so that who is done sooner takes more.
func portions(helpers int) int { return 8 * (helpers + 1) }

// portion gives the things of the i-th of n portions of so many.
func portion(i, n, things int) (from, to int) { return i * things / n, (i + 1) * things / n }

// inPortions does n portions of some work, and waits for its helpers. A portion that panics is left undone.
func inPortions(n, helpers int, do func(i int)) {
	var taken atomic.Int64
	try := func(i int) {
		defer func() { _ = recover() }()
		do(i)
	}
	work := func() {
		for i := taken.Add(1) - 1; i < int64(n); i = taken.Add(1) - 1 {
			try(int(i))
		}
	}
	var running sync.WaitGroup
	defer running.Wait()
	for range helpers {
		running.Go(work)
	}
	work()
}

// inParts does some work on n things, a part at a time, and waits for its helpers. A part that panics is left undone.
func inParts(n, helpers int, do func(from, to int)) {
	parts := portions(helpers)
	inPortions(parts, helpers, func(i int) { do(portion(i, parts, n)) })
}

// evenTogether is even, with help if there is any.
func (s siblings) evenTogether(helpers int) bool {
	if helpers == 0 {
		return s.even()
	}
	var odd atomic.Bool
	inParts(s.len(), helpers, func(from, to int) {
		if !odd.Load() && !s.part(from, to).even() {
			odd.Store(true)
		}
	})
	return !odd.Load()
}

// placeTogether is place for all children, with help if there is any.
func (n *node) placeTogether(list elements.Nodes, helpers int) {
	if helpers == 0 {
		n.place(list, 0, len(list))
		return
	}
	inParts(len(list), helpers, func(from, to int) { n.place(list, from, to) })
}

// together lays out all of the chunks, with help.
func (c chunks) together(ctx context.Context, helpers int) (_ chunks, done bool) {
	n := portions(helpers)
	parts := make([]chunks, n)
	var laid atomic.Int64
	inPortions(n, helpers, func(i int) {
		parts[i] = c
		from, to := portion(i, n, len(c.list))
		if parts[i].layOut(ctx, from, to) {
			laid.Add(1)
		}
	})
	for i := range parts {
		c.required = c.required || parts[i].required
		c.bytes += parts[i].bytes
	}
	return c, laid.Load() == int64(n)
}

// errNotOurs tells a helper that there is code of the caller's to be called.
var errNotOurs = errors.New("not ours")

// evenlyTogether lays out elements as evenPart does, with help.
func (l *layouter) evenlyTogether(ctx context.Context, e *node, list siblings, budget, helpers int, at place) (used int, err error) {
	type part struct {
		list siblings
		used int
		done bool
	}
	all := make([]part, min(portions(helpers), list.len()))
	for i := range all {
		all[i].list = list.part(portion(i, len(all), list.len()))
	}
	var failed atomic.Bool // then what nobody began is done in its turn too
	inPortions(len(all), min(helpers, len(all)-1), func(i int) {
		p, at := &all[i], at
		if failed.Load() {
			return
		}
		defer func() {
			if !p.done {
				failed.Store(true)
			}
		}()
		counts := &watch{} // of what is laid out again if it fails
		counts.pieces.Store(at.watch.pieces.Load())
		counts.bytes.Store(at.watch.bytes.Load())
		pieces, bytes := counts.pieces.Load(), counts.bytes.Load()
		all := at.watch
		at.slabs, at.alone, at.helping, at.watch = &slabs{}, true, true, counts
		used, err := l.evenPart(ctx, e, p.list, budget, at)
		if err == nil {
			err = all.meets(e, int(counts.pieces.Load()-pieces), int(counts.bytes.Load()-bytes))
		}
		p.used, p.done = used, err == nil
	})
	at.alone = true // lest what is in there is tried again, level by level
	for _, p := range all {
		if !p.done {
			e.anew(p.list)
			p.used, err = l.evenPart(ctx, e, p.list, budget, at)
		}
		if used += p.used; err != nil {
			return used, err
		}
	}
	return used, nil
}

// anew forgets what was begun of elements in n.
func (n *node) anew(list siblings) {
	for i := range list.len() {
		if it := list.at(i); it.node != nil {
			c := &n.children[it.slot]
			*c = node{parent: n, index: c.index, own: c.own}
		}
	}
}

// leastTogether is what n counts at least, found with help, and notes what countTogether does.
func (p *pruner) leastTogether(n *node, helpers int) (tokens int) {
	list, around := n.spread(portions(helpers))
	var least, done atomic.Int64
	inParts(len(list), helpers, func(from, to int) {
		p.countTexts(list[from:to])
		sum := 0
		for _, n := range list[from:to] {
			sum += p.leastAt(n, latest, n.onLines())
		}
		least.Add(int64(sum))
		done.Add(int64(to - from))
	})
	if done.Load() < int64(len(list)) {
		return p.least(n)
	}
	tokens = int(least.Load())
	for _, n := range around {
		if n.kind == message && n.lines {
			tokens -= p.between()
		}
	}
	return tokens
}

// countTogether counts the texts in n, each by itself, with help. What they count is noted, for those who ask next.
func (c *counter) countTogether(n *node, helpers int) {
	list, _ := n.spread(portions(helpers))
	inParts(len(list), helpers, func(from, to int) { c.countTexts(list[from:to]) })
}

// countTexts counts the texts in nodes, each by itself, and touches many before (see touch.go).
func (c *counter) countTexts(list []*node) {
	var some [atOnce]*node
	k := 0
	count := func() {
		touchTexts(some[:k], latest)
		for _, n := range some[:k] {
			c.piece(n)
		}
		k = 0
	}
	for _, n := range list {
		n.walk(latest, func(n *node) {
			if n.kind == text && n.number == uncounted {
				some[k] = n
				if k++; k == len(some) {
					count()
				}
			}
		})
	}
	count()
}

// spread gives nodes that hold all that n holds, each for itself: this many, if there are as many; and what they stand in.
func (n *node) spread(enough int) (list, around []*node) {
	list = []*node{n}
	for deeper := true; deeper && len(list) < enough; {
		var next []*node
		deeper = false
		for _, n := range list {
			if n.leaf() || n.left == 0 {
				next = append(next, n)
				continue
			}
			deeper = true
			around = append(around, n)
			next = slices.AppendSeq(next, n.present(latest))
		}
		list = next
	}
	return list, around
}
