package render

import (
	"encoding/json"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Breakdown says where the tokens of a prompt are, by the category of its elements ([elements.Props].Category). The sum
// of its fields is the exact count of the prompt.
//
// A message whose content has one category counts to that. In any other, each piece and the two ends of a tag count by
// themselves to their category; the rest of the message's count, for its frame and what joins its pieces, counts to the
// category that has the most.
type Breakdown struct {
	Instructions int `json:"instructions"`
	Skills       int `json:"skills"`
	Tools        int `json:"tools"`
	Files        int `json:"files"`
	History      int `json:"history"`
	Other        int `json:"other"`
}

// Total returns the tokens of the prompt.
func (b Breakdown) Total() int {
	return b.Instructions + b.Skills + b.Tools + b.Files + b.History + b.Other
}

// add adds tokens to a category.
func (b *Breakdown) add(c elements.Category, tokens int) { *b.of(c) += tokens }

// of returns the field of a category.
func (b *Breakdown) of(c elements.Category) *int {
	switch c {
	case elements.CategoryInstructions:
		return &b.Instructions
	case elements.CategorySkills:
		return &b.Skills
	case elements.CategoryTools:
		return &b.Tools
	case elements.CategoryFiles:
		return &b.Files
	case elements.CategoryHistory:
		return &b.History
	}
	return &b.Other
}

// UnmarshalJSON reads a breakdown. What has a name that is not a category's counts to Other, so that breakdowns of other
// versions, such as one of "system", "conversation" and "tools", keep their total.
func (b *Breakdown) UnmarshalJSON(data []byte) error {
	var fields map[string]int
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*b = Breakdown{}
	for name, tokens := range fields {
		var c elements.Category
		_ = c.UnmarshalText([]byte(name)) // never fails
		b.add(c, tokens)
	}
	return nil
}

// Breakdown returns where the tokens of the prompt are. It costs a pass over what is left of the tree, and counts texts
// only of messages with several categories. It is zero if the tokenizer fails, and for a result that no render made.
func (r *Result) Breakdown() Breakdown {
	if r == nil || r.breakdown == nil {
		return Breakdown{}
	}
	return r.breakdown()
}

// breakdown returns where the tokens of what is left in a node are.
func (f *fitting) breakdown(n tree.ID) (b Breakdown) {
	f.addBreakdown(&b, n, elements.CategoryOther)
	rest := f.count.Count(n) - b.Total()
	if len(f.state.At(tree.Latest).Tools(n)) > 0 { // which are counted as one list
		b.Tools += rest
	} else {
		b.Other += rest
	}
	return b
}

// addBreakdown adds the messages in a node, which is in an element of a category.
func (f *fitting) addBreakdown(to *Breakdown, n tree.ID, in elements.Category) {
	node := &f.state.Tree.Nodes[n]
	in = within(in, node)
	switch node.Kind {
	case tree.Tool:
	case tree.Container:
		for c := range f.state.At(tree.Latest).Children(n) {
			f.addBreakdown(to, c, in)
		}
	default:
		tokens, only := f.count.Count(n), true
		for c := n + 1; c < node.End; c++ {
			only = only && within(in, &f.state.Tree.Nodes[c]) == in
		}
		if only {
			to.add(in, tokens)
			return
		}
		var own Breakdown
		f.addPieces(&own, n, in)
		own.fill(tokens)
		for c := elements.CategoryInstructions; c <= elements.CategoryOther; c++ {
			to.add(c, *own.of(c))
		}
	}
}

// fill changes the category with the most tokens so that the total is a count, which is smaller only if pieces merge. No
// category gets fewer than 0 tokens.
func (b *Breakdown) fill(total int) {
	for missing := total - b.Total(); missing != 0; missing = total - b.Total() {
		most := &b.Other
		for c := elements.CategoryInstructions; c <= elements.CategoryOther; c++ {
			if field := b.of(c); *field > *most {
				most = field
			}
		}
		*most = max(0, *most+missing)
	}
}

// addPieces adds the pieces in a message, or in an element in one, each counted by itself.
func (f *fitting) addPieces(to *Breakdown, n tree.ID, in elements.Category) {
	node, extra, left := &f.state.Tree.Nodes[n], f.state.Tree.Extra(n), f.state.At(tree.Latest)
	in = within(in, node)
	if node.Leaf() {
		to.add(in, f.count.Piece(n))
		return
	}
	for _, c := range left.Calls(n) {
		to.add(in, f.count.Call(c))
	}
	if extra.Tag != nil && !left.Blank(n) {
		to.add(in, extra.Tag.Tokens())
	}
	for c := range left.Children(n) {
		f.addPieces(to, c, in)
	}
}

// within returns the category of a node's content, in an element of a category.
func within(in elements.Category, n *tree.Node) elements.Category {
	if n.Category == elements.CategoryUnset {
		return in
	}
	return n.Category
}
