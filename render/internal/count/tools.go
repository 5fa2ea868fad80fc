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
	left, known := c.toolsLeft(container)
	if len(left) == 0 {
		return 0
	}
	if !known {
		c.toolList = toolList{container, left, c.tokenizer.CountTools(c.state.Tree.ToolsOf(left))}
	}
	return c.toolList.tokens
}

// toolsLeft returns the tools that are left in a container, and whether toolTokens is known without counting.
func (c *Counter) toolsLeft(container tree.ID) (left []tree.ID, known bool) {
	left = c.state.At(tree.Latest).Tools(container)
	return left, len(left) == 0 || c.toolList.container == container && slices.Equal(c.toolList.tools, left)
}

// addTool returns the tokens that a removed tool may have freed. With the last tool of a container, that includes the
// frame of the list.
func (b *bound) addTool(c *Counter, n tree.ID) int {
	if len(c.state.At(tree.Latest).Tools(b.container)) > 0 {
		return c.PieceWithBreak(n)
	}
	return c.tokenizer.CountTools([]chat.Tool{*c.state.Tree.Extra(n).Tool})
}

// LowerBoundWithTools returns the fewest tokens that a container can count now, tools included.
func (c *Counter) LowerBoundWithTools(container tree.ID) int {
	return c.LowerBound(container, tree.Latest) + c.toolTokens(container)
}
