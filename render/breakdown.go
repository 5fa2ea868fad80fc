package render

import (
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

// addMessage adds a message of a category with what its pieces take, each counted by itself. What it takes besides, or
// fewer if pieces merge, counts to what has the most. No category gets fewer than 0 tokens.
func (b *Breakdown) addMessage(pieces *Breakdown, in elements.Category, total int) {
	for missing := total - pieces.Total(); missing != 0; missing = total - pieces.Total() {
		most := pieces.of(in)
		for c := elements.CategoryInstructions; c <= elements.CategoryOther; c++ {
			if field := pieces.of(c); *field > *most {
				most = field
			}
		}
		*most = max(0, *most+missing)
	}
	for c := elements.CategoryInstructions; c <= elements.CategoryOther; c++ {
		b.add(c, *pieces.of(c))
	}
}

// within returns the category of a node's content, in an element of a category.
func within(in elements.Category, n *tree.Node) elements.Category {
	if n.Category == elements.CategoryUnset {
		return in
	}
	return n.Category
}
