package history

// callIndex knows which calls were made on a path and which of them are answered, so that the path is not gone through again
// for each result. It looks back no further than it was asked for.
type callIndex struct {
	leaf int32 // of the path
	next int32 // the newest place that was not looked at yet, -1 for none
	open map[string]bool
}

// isOpen tells whether a call was made on the path to a place and is not answered there.
func (c *callIndex) isOpen(t *tree, id string, leaf int32) (bool, error) {
	if err := c.follow(t, leaf); err != nil {
		return false, err
	}
	open, known := c.open[id]
	for ; !known && c.next >= 0; c.next = t.nodes[c.next].parent {
		err := t.calls(c.next, func(id string, made bool) {
			if _, later := c.open[id]; !later {
				c.open[id] = made
			}
		})
		if err != nil {
			return false, err
		}
		open, known = c.open[id]
	}
	return open, nil
}

// follow takes in what the path to a place goes on with, or begins anew where it is another path.
func (c *callIndex) follow(t *tree, leaf int32) error {
	var added []int32
	at := leaf
	if c.open != nil {
		for ; at > c.leaf; at = t.nodes[at].parent {
			added = append(added, at)
		}
	}
	if c.open == nil || at != c.leaf {
		*c = callIndex{leaf: leaf, next: leaf, open: map[string]bool{}}
		return nil
	}
	for i := len(added) - 1; i >= 0; i-- {
		if err := t.calls(added[i], func(id string, made bool) { c.open[id] = made }); err != nil {
			return err
		}
		c.leaf = added[i]
	}
	return nil
}

// calls tells which calls the entry at a place makes, and which it answers.
func (t *tree) calls(at int32, yield func(id string, made bool)) error {
	k := t.nodes[at].kind
	if k != kindAssistant && k != kindTool {
		return nil
	}
	e, err := t.load(at)
	if err != nil {
		return err
	}
	m := e.Message()
	if k == kindTool {
		yield(m.ToolCallID, false)
	}
	if k == kindAssistant {
		for _, c := range m.ToolCalls {
			yield(c.ID, true)
		}
	}
	return nil
}
