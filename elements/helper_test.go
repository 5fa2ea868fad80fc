package elements_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// words is a tokenizer of one token a word. A message takes 3 more, and every part other than text takes 1.
type words struct{}

func (words) CountText(text string) int { return len(strings.Fields(text)) }

func (w words) CountPart(part chat.Part) int {
	switch p := part.(type) {
	case chat.Text:
		return w.CountText(string(p))
	case chat.Opaque:
		return p.Tokens
	case chat.CacheBreakpoint:
		return 0
	}
	return 1
}

func (w words) CountMessage(m chat.Message) int {
	n := 3 + w.CountText(m.Name)
	for _, p := range m.Content {
		n += w.CountPart(p)
	}
	for _, c := range m.ToolCalls {
		n += w.CountText(c.Name + " " + c.Arguments)
	}
	return n
}

func (words) CountTools(tools []chat.Tool) int { return len(tools) }

// rendered renders a prompt within a budget of words.
func rendered(t *testing.T, root elements.Node, budget int) *render.Result {
	t.Helper()
	r, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: words{}})
	require.NoError(t, err)
	return r
}

// text returns the text of a user message with these children.
func text(t *testing.T, budget int, children ...elements.Node) string {
	t.Helper()
	r := rendered(t, elements.UserMessage{Children: children}, budget)
	require.Len(t, r.Messages, 1)
	return r.Messages[0].Text()
}

// renderNode returns the node that a node renders to.
func renderNode(t *testing.T, n elements.Node) elements.Node {
	t.Helper()
	content, err := n.Render(context.Background(), elements.Sizing{})
	require.NoError(t, err)
	return content
}
