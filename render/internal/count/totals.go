package count

import "github.com/promptree-go/promptree/render/internal/tree"

// totals are the counts of the nodes of a tree, as far as they are known. That of an element outside messages is the sum of what stands
// in it, less the messages that are to be counted again.
type totals struct {
	state *tree.State
	of    []total   // by node
	again []tree.ID // messages that changed, and are not counted again yet
	any   bool      // something was counted
}

// total is the count of a node.
type total struct {
	tokens int
	known  bool
	gone   bool // that the node went is taken into account
}

func newTotals(s *tree.State) totals { return totals{state: s, of: make([]total, len(s.Tree.Nodes))} }

// set sets the count of a node.
func (t *totals) set(n tree.ID, tokens int) {
	t.of[n].tokens, t.of[n].known, t.any = tokens, true, true
}

// add adds tokens to what a node stands in.
func (t *totals) add(n tree.ID, tokens int) {
	for ; !t.of[n].gone && n != tree.Root; t.of[n].tokens += tokens {
		n = t.state.Tree.Nodes[n].Parent
	}
}

// resize adds tokens to a message, in a node of which something changed.
func (t *totals) resize(n, message tree.ID, tokens int) {
	for ; n != message; n = t.state.Tree.Nodes[n].Parent {
		t.of[n].known = false
	}
	t.of[message].tokens += tokens
	t.add(message, tokens)
}

// changed forgets the counts of a node in a message, or of a message, and of what it stands in up to the outermost message, which it
// takes off the rest.
func (t *totals) changed(n tree.ID) {
	message := n
	for up := n; up != tree.None; up = t.state.Tree.Nodes[up].Parent {
		if t.state.Tree.Nodes[up].Kind == tree.Message {
			message = up
		}
	}
	counted := t.of[message]
	for ; n != message; n = t.state.Tree.Nodes[n].Parent {
		t.of[n].known = false
	}
	t.of[message].known = false
	if counted.known {
		t.add(message, -counted.tokens)
		t.again = append(t.again, message)
	}
}

// goes takes a node outside messages off the rest.
func (t *totals) goes(n tree.ID) (tokens int) {
	if tokens = t.of[n].tokens; t.state.Tree.Nodes[n].Kind == tree.Finished {
		tokens = t.state.Tree.Extra(n).Block.Tokens
	} else if !t.of[n].known {
		tokens = 0 // it is to be counted again
	}
	t.add(n, -tokens)
	t.of[n].gone = true
	return tokens
}

// forget forgets the counts of all that something stands in.
func (t *totals) forget(ch tree.Change, gone bool) {
	n := ch.Node
	if ch.Call < 0 {
		t.of[n].gone = gone
		n = t.state.Tree.Nodes[n].Parent
	}
	for ; n != tree.None; n = t.state.Tree.Nodes[n].Parent {
		t.of[n].known = false
	}
}

// pending returns the messages that are to be counted again and are there.
func (t *totals) pending() (messages []tree.ID) {
	for _, m := range t.again {
		switch {
		case t.of[m].known: // it was
		case t.state.Attached(m, tree.None):
			messages = append(messages, m)
		default:
			for up := m; up != tree.None && !t.of[up].gone; {
				if up = t.state.Tree.Nodes[up].Parent; up != tree.None {
					t.of[up].known = false
				}
			}
		}
	}
	t.again = t.again[:0]
	return messages
}
