package render

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// What has tens of thousands of pieces is laid out and counted by several goroutines, where its parts have nothing to do
// with each other. Nothing else is different: what a helper cannot do, for it fails or is up to the caller's own code, is
// left undone, and done in its turn. A prompt of the usual size has no helpers, for it takes a millisecond or two.

// A goroutine is worth so much.
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

// portions is how many portions work is divided into, so that who is done sooner takes more.
func portions(helpers int) int { return 8 * (helpers + 1) }

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

// together lays out all of the chunks, with help.
func (c chunks) together(ctx context.Context, helpers int) (_ chunks, done bool) {
	n := portions(helpers)
	parts := make([]chunks, n)
	var undone atomic.Int64
	undone.Store(int64(n))
	inPortions(n, helpers, func(i int) {
		parts[i] = c
		if parts[i].layOut(ctx, i*len(c.list)/n, (i+1)*len(c.list)/n) {
			undone.Add(-1)
		}
	})
	for i := range parts {
		c.required = c.required || parts[i].required
		c.bytes += parts[i].bytes
	}
	return c, undone.Load() == 0
}

// errNotOurs tells a helper that there is an element of the caller's.
var errNotOurs = errors.New("an element of the caller's")

// evenlyTogether lays out elements as evenPart does, with help.
func (l *layouter) evenlyTogether(ctx context.Context, e *node, list siblings, budget, helpers int, at place) (used int, err error) {
	type portion struct {
		list siblings
		used int
		done bool
	}
	all := make([]portion, min(portions(helpers), list.len()))
	for i := range all {
		all[i].list = list.part(i*list.len()/len(all), (i+1)*list.len()/len(all))
	}
	var failed atomic.Bool // then the rest is done in its turn too
	inPortions(len(all), helpers, func(i int) {
		p, at := &all[i], at
		if failed.Load() {
			return
		}
		defer func() {
			if !p.done {
				failed.Store(true)
			}
		}()
		at.slabs, at.helping = &slabs{}, true
		used, err := l.evenPart(ctx, e, p.list, budget, at)
		p.used, p.done = used, err == nil
	})
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

// anew forgets what was begun of the elements in e.
func (e *node) anew(list siblings) {
	for i := range list.len() {
		if it := list.at(i); it.node != nil {
			c := &e.children[it.slot]
			*c = node{parent: e, index: c.index, own: c.own}
		}
	}
}

// countMany counts the texts in n, of about so many bytes, where that is worth help: what a text counts by itself is noted
// with it. Who counts them all finds it there.
func (c *counter) countMany(n *node, bytes int) {
	helpers := helpers(bytes, bytesEach)
	if helpers == 0 {
		return
	}
	list := n.spread(portions(helpers))
	parts := min(portions(helpers), len(list))
	inPortions(parts, helpers, func(i int) {
		for some := list[i*len(list)/parts : (i+1)*len(list)/parts]; len(some) > 0; {
			next := some[:min(atOnce, len(some))]
			some = some[len(next):]
			touchTexts(next, latest)
			for _, n := range next {
				n.walk(latest, func(n *node) {
					if n.kind == text {
						c.piece(n)
					}
				})
			}
		}
	})
}

// spread gives nodes that hold all that n holds, each for itself: this many, if there are as many.
func (n *node) spread(enough int) []*node {
	list := []*node{n}
	for deeper := true; deeper && len(list) < enough; {
		var next []*node
		deeper = false
		for _, n := range list {
			if n.leaf() || n.left == 0 {
				next = append(next, n)
				continue
			}
			deeper = true
			for i := n.nextAt(0, latest); i < len(n.children); i = n.nextAt(i+1, latest) {
				next = append(next, &n.children[i])
			}
		}
		list = next
	}
	return list
}
