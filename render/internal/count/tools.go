package count

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// Tool returns the tokens that a tool adds to a list of others.
func Tool(t chat.Tokenizer, tool chat.Tool) int {
	small := chat.Tool{Name: "a"}
	one, two := t.CountTools([]chat.Tool{small}), t.CountTools([]chat.Tool{small, small})
	return max(0, t.CountTools([]chat.Tool{tool})-max(0, 2*one-two)) // without the frame of a list
}

// toolList is the count of the list of tools in a container.
type toolList struct {
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
	if !c.toolList.matches(container, left) {
		c.toolList = toolList{container, left, c.pieces.tokenizer.CountTools(c.state.Tree.ToolsOf(left))}
	}
	return c.toolList.tokens
}

// toolsKnown reports whether toolTokens is known without counting.
func (c *Counter) toolsKnown(container tree.ID) bool {
	if len(c.state.Tree.Tools) == 0 {
		return true
	}
	left := c.state.At(tree.Latest).Tools(container)
	return len(left) == 0 || c.toolList.matches(container, left)
}

// matches reports whether the list is that of a container and these tools.
func (l *toolList) matches(container tree.ID, tools []tree.ID) bool {
	return l.container == container && slices.Equal(l.tools, tools)
}

// addTool returns the tokens that a removed tool may have freed. With the last tool of a container, that includes the
// frame of the list.
func (b *bound) addTool(c *Counter, n tree.ID) int {
	if len(c.state.At(tree.Latest).Tools(b.container)) > 0 {
		return c.PieceWithBreak(n)
	}
	return c.pieces.tokenizer.CountTools([]chat.Tool{*c.state.Tree.Extra(n).Tool})
}

// LowerBoundWithTools returns the fewest tokens that a container can count now, tools included.
func (c *Counter) LowerBoundWithTools(container tree.ID) int {
	return c.LowerBound(container, tree.Latest) + c.toolTokens(container)
}
