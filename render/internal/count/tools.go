package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Tool returns what a tool adds to a list of others.
func Tool(t chat.Tokenizer, tool chat.Tool) int {
	small := chat.Tool{Name: "a"}
	one, two := t.CountTools([]chat.Tool{small}), t.CountTools([]chat.Tool{small, small})
	return max(0, t.CountTools([]chat.Tool{tool})-max(0, 2*one-two)) // without what is around a list
}

// listed is the count of the list of tools in a container.
type listed struct {
	container tree.ID
	tools     []tree.ID
	tokens    int
}

// toolTokens returns the count of the list of the tools that are left in a container.
func (c *Counter) toolTokens(container tree.ID) int {
	if len(c.state.Tree.Tools) == 0 {
		return 0
	}
	left := c.state.At(tree.Latest).Tools(container)
	if len(left) == 0 {
		return 0
	}
	if !c.listed.is(container, left) {
		c.listed = listed{container, left, c.pieces.tokenizer.CountTools(c.state.Tree.ToolsOf(left))}
	}
	return c.listed.tokens
}

// toolsKnown reports whether toolTokens is known.
func (c *Counter) toolsKnown(container tree.ID) bool {
	if len(c.state.Tree.Tools) == 0 {
		return true
	}
	left := c.state.At(tree.Latest).Tools(container)
	return len(left) == 0 || c.listed.is(container, left)
}

// is reports whether a list is that of these tools in a container.
func (l *listed) is(container tree.ID, tools []tree.ID) bool {
	return l.container == container && slices.Equal(l.tools, tools)
}

// addTool returns what a tool that went may have freed: with the last in a container also what is around a list.
func (b *bound) addTool(c *Counter, n tree.ID) int {
	if len(c.state.At(tree.Latest).Tools(b.container)) > 0 {
		return c.Own(n)
	}
	return c.pieces.tokenizer.CountTools([]chat.Tool{*c.state.Tree.Extra(n).Tool})
}

// Least returns what a container that is being pruned counts at least.
func (c *Counter) Least(container tree.ID) int {
	return c.LowerBound(container, tree.Latest) + c.toolTokens(container)
}
