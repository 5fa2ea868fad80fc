package render

import (
	"context"
	"fmt"
)

// CheckCounts prunes a prompt to nothing, and compares the count after each step with one made anew, where each is asked
// for also those of all elements in it; "" is what is wanted.
func CheckCounts(layout *Layout, each bool) string {
	r := newFitting(layout, layout.pruned())
	fresh := &counter{tokenizer: r.tokenizer}
	for {
		if got, want := r.count(r.root), fresh.count(bareOf(r.root).fresh()); got != want {
			for _, m := range r.root.messagesThere() {
				text := m.chatMessage(latest)
				if one := fresh.tokenizer.CountMessage(text); m.counted && m.tokens != one {
					return fmt.Sprintf("step %d: %d tokens, not %d: %#v", r.now, m.tokens, one, text)
				}
			}
			return fmt.Sprintf("step %d: %d tokens, not %d", r.now, got, want)
		}
		wrong := ""
		r.root.walk(latest, func(n *node) {
			if !each || n.leaf() {
				return
			}
			if got, want := r.count(n), fresh.count(bareOf(n).fresh()); got != want {
				wrong = fmt.Sprintf("step %d: %d tokens in %s, not %d", r.now, got, n.path(), want)
			}
		})
		if wrong != "" {
			return wrong
		}
		if stuck := r.removeLowest(r.root); stuck != nil {
			return ""
		}
	}
}

// CheckAhead has a prompt pruned uncounted, for each of these limits, and tells where what was left need not have been too
// much: "" is what is wanted.
func CheckAhead(ctx context.Context, layout *Layout, limits []int) string {
	r := newFitting(layout, layout.pruned())
	for _, limit := range limits {
		r.rewind(0)
		for range limit % 3 { // so that some of it is counted
			r.count(r.root)
			r.removeLowest(r.root)
		}
		start := r.now
		r.ahead(ctx, r.root, limit)
		if wrong := r.root.wrongBreakpoints(); wrong != "" {
			return fmt.Sprintf("limit %d: %s", limit, wrong)
		}
		left := r.count(r.root)
		fresh := (&counter{tokenizer: r.tokenizer}).count(bareOf(r.root).fresh())
		switch {
		case left != fresh:
			return fmt.Sprintf("limit %d, step %d: %d tokens, not %d", limit, r.now, left, fresh)
		case r.now > start && left <= limit:
			return fmt.Sprintf("limit %d: at step %d only %d tokens were left", limit, r.now, left)
		}
	}
	return ""
}

// wrongBreakpoints tells where more or fewer breakpoints are noted than there are; "" is what is wanted.
func (n *node) wrongBreakpoints() (wrong string) {
	if n.leaf() {
		return ""
	}
	there := int32(0)
	if n.is(isBlock) {
		there = n.finished.breakpoints
	}
	for c := range n.present(latest) {
		if wrong = c.wrongBreakpoints(); wrong != "" {
			return wrong
		}
		there += c.holdsBreakpoints(n)
	}
	if n.breakpoints != there {
		return fmt.Sprintf("%d breakpoints in %s, not %d", n.breakpoints, n.path(), there)
	}
	return ""
}

// CheckLeast prunes a prompt to nothing, and tells where what something counts at least is more than it counts, a message
// without its frame; "" is what is wanted.
func CheckLeast(layout *Layout) string {
	r := newFitting(layout, layout.pruned())
	for {
		wrong := ""
		r.root.walk(latest, func(n *node) {
			tokens := r.count(n)
			if n.kind == message && !n.is(isBlock) {
				frame, _ := r.joiner.CountFrame(n.chatMessage(latest))
				tokens -= frame
			}
			if least := r.least(n); least > tokens {
				wrong = fmt.Sprintf("step %d: %s counts %d at least, but it counts %d", r.now, n.path(), least, tokens)
			}
		})
		if wrong != "" {
			return wrong
		}
		if stuck := r.removeLowest(r.root); stuck != nil {
			return ""
		}
	}
}

func (n *node) messagesThere() (list []*node) {
	n.walk(latest, func(n *node) {
		if n.kind == message {
			list = append(list, n)
		}
	})
	return list
}
