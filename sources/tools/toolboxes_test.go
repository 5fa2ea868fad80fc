package tools_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sources/tools"
)

// changing is a toolbox whose tools change with each prompt, and which knows tools that are gone.
type changing struct {
	lists [][]chat.Tool
	step  int
}

func (c *changing) Declared() []chat.Tool { return c.lists[min(c.step, len(c.lists)-1)] }

func (c *changing) DeclaredFor(context.Context, elements.Sizing) ([]chat.Tool, error) {
	c.step++
	return c.Declared(), nil
}

func (c *changing) CallRules(call chat.ToolCall) chat.CallRules {
	return chat.CallRules{Alone: call.Name == "first", Again: true}
}

func (c *changing) Answer(_ context.Context, call chat.ToolCall) (chat.Message, bool, error) {
	switch call.Name {
	case "first", "second":
		return chat.ToolResult("", "box "+call.Name+call.Arguments), true, nil
	case "gone":
		return chat.FailedResult("", "it is gone"), true, nil
	}
	return chat.Message{}, false, nil
}

func TestToolsOfAToolboxMayChangeWhileWhatIsDeclaredStays(t *testing.T) {
	box := &changing{lists: [][]chat.Tool{nil, {tool("first", "Reads.")}, {tool("first", "Reads."), tool("second", "Writes.")}, {tool("second", "Writes.")}}}
	a := newAgent(t, nil, tool("own", "Owns."))
	a.more.Toolboxes = []chat.Toolbox{box}
	before := a.render(4000).Tools
	require.Contains(t, before[1].Description, "There are: own, first.")

	after := a.render(4000).Tools
	require.Equal(t, before, after, "what is declared stays, although a tool was added")
	found, _, err := a.more.Answer(t.Context(), chat.ToolCall{ID: "s", Name: tools.SearchTool, Arguments: `{"query":"writes"}`})
	require.NoError(t, err)
	require.Contains(t, found.Text(), `<tool-definition name="second">`)

	for name, c := range map[string]struct{ tool, arguments, want string }{
		"a tool of the caller's is run":        {tools.CallTool, `{"name":"own","arguments":{"path":"x"}}`, `own{"path":"x"}`},
		"a tool of a toolbox answers":          {tools.CallTool, `{"name":"second","arguments":{"path":"x"}}`, `box second{"path":"x"}`},
		"its own name is a call, too":          {"first", `{"path":"x"}`, `box first{"path":"x"}`},
		"a toolbox says what became of a tool": {tools.CallTool, `{"name":"gone","arguments":{}}`, `it is gone`},
		"also by its own name":                 {"gone", `{}`, `it is gone`},
	} {
		result, ok, err := a.more.Answer(t.Context(), chat.ToolCall{ID: "c", Name: c.tool, Arguments: c.arguments})
		require.NoError(t, err, name)
		require.True(t, ok, name)
		require.Equal(t, c.want, result.Text(), name)
		require.Equal(t, "c", result.ToolCallID, name)
	}
	_, ok, err := a.more.Answer(t.Context(), chat.ToolCall{ID: "c", Name: "other", Arguments: `{}`})
	require.NoError(t, err)
	require.False(t, ok)
	_, _, err = a.more.Answer(t.Context(), chat.ToolCall{ID: "c", Name: tools.CallTool, Arguments: `{"name":"other","arguments":{}}`})
	require.ErrorContains(t, err, `there is no tool "other" here`)
	_, _, err = a.more.Answer(t.Context(), chat.ToolCall{ID: "c", Name: tools.CallTool, Arguments: `{"name":"second","arguments":{}}`})
	require.ErrorContains(t, err, `the object lacks "path"`)

	require.Equal(t, chat.CallRules{Alone: true, Again: true}, a.more.CallRules(chat.ToolCall{Name: tools.CallTool, Arguments: `{"name":"first","arguments":{"path":"x"}}`}), "the toolbox's")
	require.Equal(t, chat.CallRules{}, a.more.CallRules(chat.ToolCall{Name: tools.CallTool, Arguments: `{"name":"own","arguments":{"path":"x"}}`}))
	a.render(4000)
	require.NotContains(t, text(a.render(4000).Messages), `name="first"`, "a tool that is gone is not shown")
}
