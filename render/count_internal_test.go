package render

import (
	"fmt"
)

// CheckCounts prunes a prompt to nothing, and compares the count after each step with one made anew; "" is what is wanted.
func CheckCounts(layout *Layout) string {
	r := newFitting(layout)
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
		if stuck := r.removeLowest(r.root); stuck != nil {
			return ""
		}
	}
}

func (n *node) messagesThere() (list []*node) {
	n.walk(latest, func(n *node) {
		if n.laid.kind == message {
			list = append(list, n)
		}
	})
	return list
}
