package render_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/tree"
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
			"a text with a break and a flex of its own asks, another text does not",
			func(e echo) elements.Node {
				return user(e("own", elements.Props{}, 0), line(said), elements.TextChunk{Props: elements.Props{FlexBasis: 1}, BreakOnWhitespace: true, Children: elements.Nodes{elements.Text("a b")}})
			},
			map[string]int{"own": (1000 - frame - 11 - 2) / 2}, // a line break before each
		},
		{
			"a text with a break and without a flex of its own does not ask",
			func(e echo) elements.Node {
				return user(e("own", elements.Props{}, 0), elements.Tag{Props: elements.Props{FlexBasis: 3}, Name: "t", Children: elements.Nodes{elements.TextChunk{BreakOnWhitespace: true, Children: elements.Nodes{elements.Text(said)}}}})
			},
			map[string]int{"own": 1000 - frame - len("<t>\n\n</t>") - len(said) - 3}, // a line break before each
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
				laid(t, test.tree(o.echo), render.Options{Budget: 1000, Tokenizer: tokenizer})
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
	require.ErrorIs(t, failed[*render.ElementError](t, elements.Nodes{user(list), user(line("b"))}, plenty), tree.ErrEndless)

	wide := make(elements.Nodes, 3) // each member is the list itself
	for i := range wide {
		wide[i] = elements.Wrap{Children: wide}
	}
	require.ErrorIs(t, failed[*render.ElementError](t, elements.Nodes{user(line("a")), user(elements.Wrap{Children: wide})}, plenty), tree.ErrEndless)
}

// The reference finds the level up to which the texts fill, token by token.
func TestTextsThatAskAreFilledFairly(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		basis, size := make([]float64, 1+r.IntN(6)), make([]int, 6)
		children := elements.Nodes{line("beside")}
		for i := range basis {
			basis[i], size[i] = float64(1+r.IntN(4)), 1+r.IntN(80)
			children = append(children, elements.TextChunk{
				Props: elements.Props{FlexBasis: basis[i], ReportName: fmt.Sprint(i)}, BreakOnPattern: regexp.MustCompile("x"),
				Children: elements.Nodes{elements.Text(strings.Repeat("x", size[i]))},
			})
		}
		budget := frame + len("beside") + len(basis) + 1 + r.IntN(250)
		result := rendered(t, user(children...), budget)
		left := budget - frame - len("beside") - 1 - len(basis)
		if len(basis) == 1 {
			left = budget - frame - len("beside") - 2
		}
		want, level := make([]int, len(basis)), 0.0
		for used := 0; used <= left && level < 81; level += 1.0 / 64 {
			used = 0
			for i, b := range basis {
				used += min(size[i], int(b*level))
			}
			if used <= left {
				for i, b := range basis {
					want[i] = min(size[i], int(b*level))
				}
			}
		}
		for i, p := range result.Report().Pieces[1:] {
			got := p.Tokens
			if p.Dropped != render.Kept {
				got = 0
			}
			require.InDelta(t, want[i], got, 1, "seed %d: text %d of %v, bases %v, in %d", seed, i, size, basis, left)
			require.LessOrEqual(t, got, want[i]+1)
		}
		require.LessOrEqual(t, result.Tokens, budget)
	}
}

func TestEveryTextIsWholeIfThereIsRoomWhateverTheBases(t *testing.T) {
	for _, bases := range [][]float64{{1e17, 1, 2}, {1, 1e300, 1e-300}, {math.MaxFloat64, math.SmallestNonzeroFloat64, 1}} {
		var children elements.Nodes
		for _, b := range bases {
			children = append(children, elements.TextChunk{Props: elements.Props{FlexBasis: b}, BreakOn: "\n", Children: elements.Nodes{elements.Text("one\ntwo")}})
		}
		require.Empty(t, rendered(t, user(children...), plenty).Report().Dropped(), "%v", bases)
	}
}

func TestATextThatIsCutToNothingTakesItsGroupAlong(t *testing.T) {
	group := &elements.Group{Name: "notes"}
	asks := elements.TextChunk{Props: elements.Props{FlexGrow: 1}, BreakOn: "\n", Children: elements.Nodes{elements.Text("a line\nanother")}}
	with := func(n elements.Node) elements.Node {
		return elements.KeepWith{Group: group, Children: elements.Nodes{n}}
	}
	root := user(with(asks), with(line("with it")), line("stay"))
	layout := laid(t, root, render.Options{Budget: 20, Tokenizer: runes})
	r := fitted(t, layout, plenty)
	require.Equal(t, []string{"stay"}, texts(r.Messages))
	report := r.Report()
	require.Equal(t, []render.Reason{render.Reason("share"), render.Reason("share"), render.Kept}, []render.Reason{report.Pieces[0].Dropped, report.Pieces[1].Dropped, report.Pieces[2].Dropped})
	require.Equal(t, 14, report.Pieces[0].Tokens)
	require.Contains(t, report.String(), "dropped: no share of the budget was left for "+report.Pieces[0].Path)
	require.Equal(t, 21, r.Outline().Tokens.Dropped)

	layout = laid(t, root, render.Options{Budget: 20, Tokenizer: runes, Compatible: true})
	r = fitted(t, layout, plenty)
	require.Equal(t, []render.Reason{render.Reason("share"), render.Kept, render.Kept}, []render.Reason{r.Report().Pieces[0].Dropped, r.Report().Pieces[1].Dropped, r.Report().Pieces[2].Dropped})
}

// The search for elements that ask ends with an error after four visits of a million nodes. If each of these levels
// searched all those in it, there would be five million visits.
func TestALevelDoesNotSearchAgainForWhoAsks(t *testing.T) {
	texts := make(elements.Nodes, 20_000)
	for i := range texts {
		texts[i] = line("x")
	}
	asks := own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return line("z"), nil }}
	for name, within := range map[string]elements.Nodes{
		"the last node asks": append(slices.Clone(texts), asks), "no node asks": texts, "a node asks that ignores its budget": append(slices.Clone(texts), ignoring{asks}),
	} {
		for literal, text := range map[string]elements.Node{"elements": line("y"), "literals": elements.Text("y")} {
			n := elements.Node(elements.Wrap{Children: within})
			for range 250 {
				n = elements.Wrap{Children: elements.Nodes{n, text, line("v")}}
			}
			_, err := render.Render(t.Context(), user(n), render.Options{Budget: plenty, Tokenizer: summing{runes}})
			require.NoError(t, err, "%s, beside %s", name, literal)
		}
	}
}
