package render_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// ignoring is an element that ignores its budget.
type ignoring struct{ own }

func (ignoring) IgnoresBudget() {}

func TestElementsThatAskShareWhatTheOthersLeave(t *testing.T) {
	said := strings.Repeat("s", 10)
	system := elements.SystemMessage{Children: elements.Nodes{elements.Text(said)}}
	type echo = func(name string, props elements.Props, takes int) elements.Node
	tests := []struct {
		name string
		tree func(e echo) elements.Node
		want map[string]int
	}{
		{
			"a short message beside one that is filled does not take half",
			func(e echo) elements.Node { return elements.Nodes{system, user(e("own", elements.Props{}, 0))} },
			map[string]int{"own": 1000 - costOf(system) - frame},
		},
		{
			"three short messages do not take three quarters",
			func(e echo) elements.Node {
				return elements.Nodes{system, user(e("own", elements.Props{}, 0)), system, system}
			},
			map[string]int{"own": 1000 - 3*costOf(system) - frame},
		},
		{
			"a text chunk that is cut asks, one that is not does not",
			func(e echo) elements.Node {
				return user(e("own", elements.Props{}, 0), line(said), elements.TextChunk{BreakOnWhitespace: true, Children: elements.Nodes{elements.Text("a b")}})
			},
			map[string]int{"own": (1000 - frame - 11 - 2) / 2}, // a line break before each
		},
		{
			"an element that holds one that asks asks",
			func(e echo) elements.Node {
				return user(wrap(elements.Props{}, elements.Nodes{elements.WithPriority{Priority: 1, Node: &elements.Chunk{Children: elements.Nodes{e("a", elements.Props{}, 0)}}}}),
					e("b", elements.Props{}, 0), line(said))
			},
			map[string]int{"a": (1000 - frame - 11 - 2) / 2, "b": (1000 - frame - 11 - 2) / 2},
		},
		{
			"an element that ignores its budget does not ask",
			func(e echo) elements.Node {
				return elements.Nodes{
					ignoring{own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return system, nil }}},
					user(e("own", elements.Props{}, 0)),
				}
			},
			map[string]int{"own": 1000 - costOf(system) - frame},
		},
		{
			"elements that ask share in proportion to their bases",
			func(e echo) elements.Node {
				return elements.Nodes{system, user(e("a", elements.Props{}, 0)), elements.UserMessage{Props: elements.Props{FlexBasis: 3}, Children: elements.Nodes{e("b", elements.Props{}, 0)}}}
			},
			map[string]int{"a": (1000-costOf(system))/4 - frame, "b": (1000-costOf(system))*3/4 - frame},
		},
		{
			"no element is told less than the equal share",
			func(e echo) elements.Node {
				return elements.Nodes{elements.SystemMessage{Children: elements.Nodes{elements.Text(strings.Repeat("s", 900))}}, user(e("own", elements.Props{}, 0))}
			},
			map[string]int{"own": 500 - frame},
		},
		{
			"a limit is told no more than its maximum",
			func(e echo) elements.Node {
				return elements.Nodes{system, elements.TokenLimit{Max: 700, Children: elements.Nodes{user(e("own", elements.Props{}, 0))}}}
			},
			map[string]int{"own": 700 - frame},
		},
		{
			"tokens that are not used are not shared again",
			func(e echo) elements.Node {
				return elements.Nodes{system, user(e("a", elements.Props{}, 1)), user(e("b", elements.Props{}, 1))}
			},
			map[string]int{"a": (1000-costOf(system))/2 - frame, "b": (1000-costOf(system))/2 - frame},
		},
		{
			"only the last flex group shares this way",
			func(e echo) elements.Node {
				return elements.Nodes{
					elements.SystemMessage{Props: elements.Props{FlexGrow: 2}, Children: elements.Nodes{elements.Text(said)}},
					elements.UserMessage{Props: elements.Props{FlexGrow: 2}, Children: elements.Nodes{e("early", elements.Props{}, 0)}},
					elements.SystemMessage{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{elements.Text(said)}},
					elements.UserMessage{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{e("late", elements.Props{}, 0)}},
				}
			},
			map[string]int{"early": 500 - frame, "late": 1000 - 2*costOf(system) - 2*frame},
		},
		{
			"images and tool messages count though prompt-tsx charges nothing for them",
			func(e echo) elements.Node {
				return elements.Nodes{
					result("c", said), user(elements.Opaque{Value: []byte(`{}`), Tokens: 50}), user(e("own", elements.Props{}, 0)),
				}
			},
			map[string]int{"own": 1000 - costOf(result("c", said)) - frame - 50 - frame},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, tokenizer := range map[string]chat.Tokenizer{"joining": runes, "other": struct{ chat.Tokenizer }{runes}} {
				var o offers
				_, err := render.Lay(t.Context(), test.tree(o.echo), render.Options{Budget: 1000, Tokenizer: tokenizer})
				require.NoError(t, err)
				require.Equal(t, test.want, o.budgets, "with the %s tokenizer", name)
			}
		})
	}
}

// frame is the number of tokens of a message without content.
var frame = runes.CountMessage(chat.Message{Role: chat.RoleUser})

// costOf returns the tokens of a message of one text.
func costOf(n elements.Node) int {
	switch m := n.(type) {
	case elements.SystemMessage:
		return runes.CountMessage(chat.Message{Role: chat.RoleSystem, Content: chat.Parts{chat.Text(m.Children[0].(elements.Text))}})
	case elements.ToolMessage:
		return runes.CountMessage(chat.Message{Role: chat.RoleTool, ToolCallID: m.ToolCallID, Content: chat.Parts{chat.Text(m.Children[0].(elements.Text))}})
	}
	panic(fmt.Sprintf("%T", n))
}

// It is not pruned for a line break.
func TestAnElementThatFillsItsShareFits(t *testing.T) {
	filling := own{render: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		return elements.Text(strings.Repeat("x", max(0, s.TokenBudget))), nil
	}}
	for budget := 40; budget < 140; budget++ {
		for name, root := range map[string]elements.Node{
			"beside lines":    user(line("one"), filling, line("two"), line("three")),
			"beside a tag":    user(elements.Tag{Name: "t", Children: elements.Nodes{line("a"), line("b")}}, filling),
			"beside messages": elements.Nodes{user(line("one"), line("two")), user(filling), result("c", "three")},
			"in a limit":      user(elements.TokenLimit{Max: 30, Children: elements.Nodes{filling, line("one"), line("two")}}, line("three")),
		} {
			require.Empty(t, rendered(t, root, budget).Report().Dropped(), "%s, %d", name, budget)
		}
	}
}

func TestTheSearchForElementsThatAskEndsInAnEndlessTree(t *testing.T) {
	list := make(elements.Nodes, 3)
	list[0], list[1], list[2] = list, list, elements.Text("a")
	require.ErrorIs(t, failed[*render.ElementError](t, elements.Nodes{user(list), user(line("b"))}, plenty), render.ErrEndless)

	wide := make(elements.Nodes, 3) // each member is the list itself
	for i := range wide {
		wide[i] = elements.Wrap{Children: wide}
	}
	require.ErrorIs(t, failed[*render.ElementError](t, elements.Nodes{user(line("a")), user(elements.Wrap{Children: wide})}, plenty), render.ErrEndless)
}
