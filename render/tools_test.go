package render_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// tool returns the definition of a tool with a one-word description.
func tool(props elements.Props, name string) elements.Tool {
	return elements.Tool{Props: props, Tool: chat.Tool{Name: name, Description: "says " + name, Parameters: []byte(`{"type":"object"}`)}}
}

// calling returns a round in which a tool is called, and an answer to it.
func calling(name string) elements.Nodes {
	return elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "1", Name: name, Arguments: "{}"}}}},
		result("1", "done"),
	}
}

func TestToolsAreRemovedByPriority(t *testing.T) {
	group := &elements.Group{Name: "files"}
	ask := user(line("ask"))
	tests := []struct {
		rule string
		root elements.Node
		want [][]string // tools left after each removal
	}{
		{"the lowest priority is removed first", elements.Nodes{tool(at(2), "b"), ask, tool(at(1), "a"), tool(at(3), "c")}, [][]string{{"b", "c"}, {"c"}, nil}},
		{"tools of one priority are removed in the order of the tree", elements.Nodes{tool(at(1), "b"), tool(at(1), "a"), ask}, [][]string{{"a"}, nil}},
		{"tools in wrappers and in rendered elements compete", elements.Nodes{ask, wrap(passing, own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
			return elements.Nodes{tool(at(2), "b")}, nil
		}}), wrap(at(1), tool(at(5), "a"))}, [][]string{{"b"}, nil}},
		{"a chunk is removed whole", elements.Nodes{ask, elements.Chunk{Props: at(1), Children: elements.Nodes{tool(at(9), "a"), tool(at(9), "b")}}, tool(at(2), "c")}, [][]string{{"c"}, nil}},
		{"a group is removed whole", elements.Nodes{
			ask, elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{tool(at(1), "a")}}, tool(at(2), "c"),
			elements.KeepWith{Props: at(5), Group: group, Children: elements.Nodes{tool(elements.Props{}, "b")}},
		}, [][]string{{"c"}, nil}},
		{"a required tool stays", elements.Nodes{ask, tool(must(1), "a"), tool(at(2), "b")}, [][]string{{"a"}}},
		{"a called tool stays", elements.Nodes{ask, tool(at(1), "a"), tool(at(2), "b"), calling("a")}, [][]string{{"a"}}},
		{"a tool that finished messages call stays", elements.Nodes{ask, tool(at(1), "a"), tool(at(2), "b"), &elements.Finished{Props: elements.Props{Required: true}, Messages: []chat.Message{chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "a"}}}, chat.ToolResult("1", "done")}}}, [][]string{{"a"}}},
		{"a tool that a removed message calls stays", elements.Nodes{
			ask, tool(at(1), "a"), tool(at(2), "b"), elements.Chunk{Props: at(3), Children: calling("a")},
		}, [][]string{{"a"}}},
		{"if nothing but tools may go, a breakpoint holds none", elements.Nodes{tool(at(1), "a"), user(line("ask"), elements.CacheBreakpoint{}), tool(at(2), "b")}, [][]string{{"b"}}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			whole := rendered(t, test.root, plenty)
			for _, want := range test.want {
				left := rendered(t, test.root, whole.Tokens-1)
				require.Equal(t, want, sessiontest.ToolNames(left.Tools))
				require.Equal(t, whole.Messages, left.Messages)
				tokens := runes.CountTools(left.Tools)
				for _, m := range left.Messages {
					tokens += runes.CountMessage(m)
				}
				require.Equal(t, tokens, left.Tokens)
				whole = left
			}
		})
	}
}

func TestToolsAreNilIfNoneAreLeft(t *testing.T) {
	require.Nil(t, rendered(t, user(line("ask")), plenty).Tools)
	require.Nil(t, rendered(t, elements.Nodes{user(line("ask")), tool(at(1), "a")}, 10).Tools)
}

func TestALimitIsKeptByTheCountOfItsTools(t *testing.T) {
	one := []chat.Tool{tool(at(1), "b").Tool}
	root := elements.Nodes{
		tool(at(0), "a"), elements.TokenLimit{Max: runes.CountTools(one), Children: elements.Nodes{tool(at(2), "b"), tool(at(1), "c")}}, user(line("ask")),
	}
	require.Equal(t, []string{"a", "b"}, sessiontest.ToolNames(rendered(t, root, plenty).Tools))
}

func TestAChunkIsRemovedWithAToolThatIsRemovedForALimitInIt(t *testing.T) {
	limited := elements.TokenLimit{Max: 30, Children: elements.Nodes{tool(at(1), "a"), tool(at(2), "b")}}
	root := elements.Nodes{elements.Chunk{Children: elements.Nodes{limited, tool(at(3), "c")}}, user(line("ask"))}
	require.Nil(t, rendered(t, root, plenty).Tools)
}

// framed is a tokenizer by which a list of tools has a frame of 100 tokens.
type framed struct{ summing }

func (f framed) CountTools(tools []chat.Tool) int {
	if len(tools) == 0 {
		return 0
	}
	return 100 + f.summing.CountTools(tools)
}

func TestNothingElseIsRemovedForTheFrameOfAnEmptyToolList(t *testing.T) {
	root := elements.Nodes{tool(at(0), "a"), user(chunk(1, "one"), chunk(2, "two"), line("ask"))}
	whole := renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: framed{summing{runes}}})
	left := renderedWith(t, root, render.Options{Budget: whole.Tokens - 90, Tokenizer: framed{summing{runes}}})
	require.Nil(t, left.Tools)
	require.Equal(t, whole.Messages, left.Messages)
}

func TestAReportListsToolsByTheirNames(t *testing.T) {
	root := elements.Nodes{
		tool(at(1), "search"), tool(elements.Props{ReportName: "files"}, "read"), user(line("ask")),
	}
	whole := rendered(t, root, plenty)
	left := rendered(t, root, whole.Tokens-1)
	report := left.Report()
	require.Equal(t, "search", report.Pieces[0].Path)
	require.EqualValues(t, "tool", report.Pieces[0].Kind)
	require.Equal(t, render.Reason("priority"), report.Pieces[0].Dropped)
	require.Equal(t, whole.Tokens-left.Tokens, report.Pieces[0].Tokens, "what its removal freed")
	require.Equal(t, "files", report.Pieces[1].Path)
	require.Equal(t, render.Kept, report.Pieces[1].Dropped)
}

func TestToolsReduceTheBudgetThatElementsAreTold(t *testing.T) {
	told := 0
	asking := own{render: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		told = s.TokenBudget
		return elements.Text("x"), nil
	}}
	list := []chat.Tool{tool(at(1), "a").Tool, tool(at(1), "b").Tool}
	for _, root := range []elements.Nodes{{user(asking)}, {tool(at(1), "a"), tool(at(1), "b"), user(asking)}} {
		before := told
		rendered(t, root, 1000)
		if before > 0 {
			require.Equal(t, before-(runes.CountTools(list)-4), told, "without the frame of the list")
		}
	}
}

func TestToolsMayBeOfferedToPruning(t *testing.T) {
	root := elements.Nodes{tool(at(1), "a"), tool(elements.Props{}, "b"), user(line("ask"))}
	layout := laid(t, root, render.Options{})
	floor, tools, err := layout.Floor(t.Context(), render.FitOptions{Budget: 1, KeepUnranked: true})
	require.NoError(t, err)
	require.Equal(t, runes.CountTools([]chat.Tool{tool(at(1), "b").Tool})+runes.CountMessage(chat.UserMessage("ask")), floor)
	_, err = layout.FitWith(t.Context(), render.FitOptions{Budget: floor - 1, KeepUnranked: true})
	var over *render.BudgetExceededError
	require.ErrorAs(t, err, &over)
	require.Equal(t, floor, over.Needed)
	require.Equal(t, []chat.Tool{tool(at(1), "b").Tool}, tools)
	require.Equal(t, tools, over.Tools)
	require.Len(t, layout.Tools(), 2)
	require.Equal(t, "b", over.Largest[0].Path)
}

func TestLowWaterAndBackfillKnowTools(t *testing.T) {
	changes := func(lowWater float64) (n int) {
		var last []string
		for words := range 100 {
			root := elements.Nodes{user(line(strings.Repeat("word ", words)))}
			for i := range 20 {
				root = append(root, tool(at(i), fmt.Sprintf("tool%02d", i)))
			}
			r := renderedWith(t, root, render.Options{Budget: 700, Tokenizer: runes, LowWater: lowWater})
			require.LessOrEqual(t, r.Tokens, 700)
			if names := sessiontest.ToolNames(r.Tools); !slices.Equal(names, last) {
				last = names
				n++
			}
		}
		return n
	}
	require.Greater(t, changes(0), 10)
	require.Less(t, changes(0.6), 5, "the tools stay the same for many renders")

	large := tool(at(2), "large")
	large.Description = fmt.Sprintf("%0200d", 0)
	root := elements.Nodes{user(line("ask")), tool(at(1), "small"), large}
	r := renderedWith(t, root, render.Options{Budget: 100, Tokenizer: runes, Backfill: true})
	require.Equal(t, []string{"small"}, sessiontest.ToolNames(r.Tools))
}

func TestAnExpandableMayGrowByTools(t *testing.T) {
	grow := func(names ...string) elements.Node {
		return elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			var tools elements.Nodes
			for i, name := range names {
				if s.TokenBudget > 100*(i+1) {
					tools = append(tools, tool(at(i), name))
				}
			}
			return tools, nil
		}}
	}
	opts := render.Options{Budget: 500, Tokenizer: runes}
	root := elements.Nodes{tool(at(9), "a"), elements.Wrap{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{grow("b", "c")}}, elements.UserMessage{Props: elements.Props{FlexGrow: 2}, Children: elements.Nodes{line("ask")}}}
	require.Equal(t, []string{"a", "b", "c"}, sessiontest.ToolNames(renderedWith(t, root, opts).Tools))

	root = elements.Nodes{elements.Wrap{Children: elements.Nodes{grow("b", "c", "a")}}, tool(at(9), "a"), user(line("ask"))}
	_, err := render.Render(t.Context(), root, opts)
	require.ErrorIs(t, err, tree.ErrDuplicateTool)
}

func TestOnlyOneSideOfAnIfEmptyHasItsTools(t *testing.T) {
	r := rendered(t, elements.Nodes{elements.IfEmpty{Alt: tool(at(1), "a"), Children: elements.Nodes{tool(at(2), "a")}}, user(line("ask"))}, plenty)
	require.Equal(t, []string{"a"}, sessiontest.ToolNames(r.Tools))
	require.Equal(t, 2, *r.Report().Pieces[0].Priority)
}

func TestAToolIsNotTransferred(t *testing.T) {
	_, err := render.Transfer(t.Context(), elements.Nodes{line("a"), tool(at(1), "a")}, render.Options{Budget: plenty, Tokenizer: runes})
	require.EqualError(t, err, "render: a: a Tool cannot be transferred, only content of messages")
}
