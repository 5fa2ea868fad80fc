package count

import "github.com/promptree-go/promptree/render/internal/tree"

// totals holds the known counts of nodes. The total of an element outside messages is the sum of its contents without
// the stale messages.
type totals struct {
	state  *tree.State
	others []total   // by the index of a node that is not a text
	stale  []tree.ID // messages that changed and are not counted again yet
	any    bool      // something was counted
}

// total is the count of a node.
type total struct {
	tokens int
	known  bool
	gone   bool // the removal of the node is taken into account
}

// of returns the total of a node that is not a text.
func (t *totals) of(n tree.ID) *total { return &t.others[t.state.Tree.Nodes[n].Index] }

// setGone records whether the removal of a node is taken into account. That of a text is part of its parent's total.
func (t *totals) setGone(n tree.ID, gone bool) {
	if t.state.Tree.Nodes[n].Kind != tree.Text {
		t.of(n).gone = gone
	}
}

// set sets the count of a node.
func (t *totals) set(n tree.ID, tokens int) {
	total := t.of(n)
	total.tokens, total.known, t.any = tokens, true, true
}

// addToAncestors adds tokens to the totals of a node's ancestors, up to one that is gone.
func (t *totals) addToAncestors(n tree.ID, tokens int) {
	for ; !t.of(n).gone && n != tree.Root; t.of(n).tokens += tokens {
		n = t.state.Tree.Nodes[n].Parent
	}
}

// adjust adds tokens to a message and its ancestors, after a change in a node of the message.
func (t *totals) adjust(n, message tree.ID, tokens int) {
	for ; n != message; n = t.state.Tree.Nodes[n].Parent {
		t.of(n).known = false
	}
	t.of(message).tokens += tokens
	t.addToAncestors(message, tokens)
}

// invalidate forgets the counts of a node in a message, or of a message, and of its ancestors up to the outermost
// message. It marks that message stale, and subtracts its count from its ancestors.
func (t *totals) invalidate(n tree.ID) {
	message := n
	for up := n; up != tree.None; up = t.state.Tree.Nodes[up].Parent {
		if t.state.Tree.Nodes[up].Kind == tree.Message {
			message = up
		}
	}
	counted := *t.of(message)
	for ; n != message; n = t.state.Tree.Nodes[n].Parent {
		t.of(n).known = false
	}
	t.of(message).known = false
	if counted.known {
		t.addToAncestors(message, -counted.tokens)
		t.stale = append(t.stale, message)
	}
}

// subtract subtracts a removed node outside messages from its ancestors.
func (t *totals) subtract(n tree.ID) {
	tokens := t.of(n).tokens
	if t.state.Tree.Nodes[n].Kind == tree.Finished {
		tokens = t.state.Tree.Extra(n).Block.Tokens
	} else if !t.of(n).known {
		tokens = 0 // its count is not part of its ancestors'
	}
	t.addToAncestors(n, -tokens)
	t.of(n).gone = true
}

// forgetAncestors forgets the counts of all ancestors of a change, and records whether the node is gone.
func (t *totals) forgetAncestors(ch tree.Change, gone bool) {
	n := ch.Node
	if ch.Call < 0 {
		t.setGone(n, gone)
		n = t.state.Tree.Nodes[n].Parent
	}
	for ; n != tree.None; n = t.state.Tree.Nodes[n].Parent {
		t.of(n).known = false
	}
}

// takeStale returns the stale messages that are still attached, and clears the list.
func (t *totals) takeStale() (messages []tree.ID) {
	for _, m := range t.stale {
		switch {
		case t.of(m).known: // it was counted again already
		case t.state.Attached(m, tree.None):
			messages = append(messages, m)
		default:
			for up := m; up != tree.Root && !t.of(up).gone; {
				up = t.state.Tree.Nodes[up].Parent
				t.of(up).known = false
			}
		}
	}
	t.stale = t.stale[:0]
	return messages
}
