package render_test

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// The numbers are those of the rules on the package's page. Each want is the order in which letters are removed as the
// budget shrinks: see prunes.
func TestPruneOrderFollowsTheRules(t *testing.T) {
	group, other := &elements.Group{Name: "group"}, &elements.Group{Name: "other"}
	keep := func(g *elements.Group, priority int, children ...elements.Node) elements.KeepWith {
		return elements.KeepWith{Props: at(priority), Group: g, Children: children}
	}
	tests := []struct {
		name string
		root elements.Node
		want string
	}{
		{
			"1: the lowest priority is removed first",
			user(chunk(2, "a"), chunk(1, "b"), chunk(3, "c")),
			"b; a; c",
		},
		{
			"1: a priority may be negative",
			user(chunk(0, "a"), chunk(-1, "b")),
			"b; a",
		},
		{
			"1: priorities are compared among siblings, from the root down",
			elements.Nodes{userAt(2, chunk(0, "a")), userAt(1, chunk(100, "b"), chunk(50, "c"))},
			"c; b; a",
		},
		{
			"1: a text of several characters is one piece",
			user(chunk(1, "abc"), chunk(2, "def")),
			"abc; def",
		},
		{
			"1: a part is one piece",
			user(elements.Image{Props: at(1), Source: "a"}, chunk(2, "b")),
			"a; b",
		},
		{
			"1: a Chunk is removed whole",
			user(elements.Chunk{Props: at(1), Children: elements.Nodes{chunk(9, "a"), chunk(5, "b")}}, chunk(2, "c")),
			"ab; c",
		},
		{
			"1: without the Chunk the same is removed piece by piece",
			user(wrap(at(1), chunk(9, "a"), chunk(5, "b")), chunk(2, "c")),
			"b; a; c",
		},
		{
			"1: a Chunk in a Chunk is removed with it",
			user(elements.Chunk{Props: at(1), Children: elements.Nodes{elements.Chunk{Props: at(0), Children: elements.Nodes{chunk(0, "a")}}, chunk(5, "b")}}, chunk(2, "c")),
			"ab; c",
		},
		{
			"1: a message without children counts, and can be removed",
			elements.Nodes{userAt(1), userAt(2, chunk(1, "a"))},
			"-; a",
		},
		{
			"1: an element without children is removed although it frees nothing",
			user(wrap(at(0)), chunk(1, "a"), chunk(2, "b")),
			"a; b",
		},
		{
			"1: a list is not a level of its own",
			elements.Nodes{elements.Nodes{userAt(3, line("a")), userAt(1, line("b"))}, userAt(2, line("c"))},
			"b; c; a",
		},
		{
			"2: a priority that is not set is the highest",
			user(line("a"), chunk(1_000_000, "b")),
			"b; a",
		},
		{
			"2: no priority is higher than an unset one",
			user(line("a"), chunk(math.MaxInt, "b")),
			"a; b",
		},
		{
			"2: text has the priority of the element around it, which may be lower",
			user(wrap(at(5), elements.Text("a"), chunk(6, "b"))),
			"a; b",
		},
		{
			"2: text has the priority of the element around it, which may be higher",
			user(wrap(at(5), elements.Text("a"), chunk(4, "b"))),
			"b; a",
		},
		{
			"2: a line break has the priority of the element around it",
			user(wrap(at(5), elements.LineBreak{}, chunk(6, "b"))),
			"-; b",
		},
		{
			"2: an opaque value has the priority of the element around it, which may be lower",
			user(wrap(at(5), elements.Opaque{Value: []byte(`"a"`), Tokens: 2}, chunk(6, "b"))),
			"a; b",
		},
		{
			"2: an opaque value has the priority of the element around it, which may be higher",
			user(wrap(at(5), elements.Opaque{Value: []byte(`"a"`), Tokens: 2}, chunk(4, "b"))),
			"b; a",
		},
		{
			"2: an opaque value may have a priority of its own",
			user(wrap(at(5), elements.Opaque{Priority: new(7), Value: []byte(`"a"`), Tokens: 2}, chunk(6, "b"))),
			"b; a",
		},
		{
			"2: in a text chunk an opaque value without a priority has the highest",
			user(elements.TextChunk{Props: at(1), Children: elements.Nodes{elements.Text("a"), elements.Opaque{Value: []byte(`"b"`), Tokens: 2}}}),
			"a; b",
		},
		{
			"2: a priority from outside replaces the element's own",
			user(elements.WithPriority{Priority: 3, Node: chunk(1, "a")}, chunk(2, "b")),
			"b; a",
		},
		{
			"2: an element with PassPriority has 0 among its siblings' children",
			user(wrap(at(1), chunk(1, "a")), wrap(at(1), wrap(passing, chunk(5, "b")))),
			"b; a",
		},
		{
			"3: among equals text is removed before an element",
			user(wrap(at(1), wrap(at(1), chunk(-1, "a")), elements.Text("b"))),
			"a; b",
		},
		{
			"3: text counts -1, which is below 0",
			user(wrap(at(1), wrap(at(1), chunk(0, "a")), elements.Text("b"))),
			"b; a",
		},
		{
			"3: among equals the one with the lowest child is removed",
			user(wrap(at(1), chunk(5, "a")), wrap(at(1), chunk(3, "b"), chunk(9, "c"))),
			"b; a; c",
		},
		{
			"3: only direct children count",
			user(wrap(at(1), wrap(at(5), chunk(0, "a"))), wrap(at(1), chunk(3, "b"))),
			"b; a",
		},
		{
			"3: an element without children counts as the highest",
			elements.Nodes{userAt(1), userAt(1, chunk(1_000, "a"))},
			"a; -",
		},
		{
			"3: the lowest priority counts until its child is removed",
			user(wrap(at(1), chunk(math.MinInt, "a"), chunk(5, "b")), wrap(at(1), chunk(1, "c"), chunk(6, "d"))),
			"a; c; b; d",
		},
		{
			"3: if the lowest children are equal too, the earlier is removed",
			user(chunk(1, "a"), chunk(1, "b"), chunk(1, "c")),
			"a; b; c",
		},
		{
			"4: the children of an element with PassPriority compete in its place",
			user(wrap(passing, chunk(1, "a"), chunk(3, "b")), chunk(2, "c")),
			"a; c; b",
		},
		{
			"4: without PassPriority they do not",
			user(wrap(elements.Props{}, chunk(1, "a"), chunk(3, "b")), chunk(2, "c")),
			"c; a; b",
		},
		{
			"4: they compete at every depth",
			user(wrap(passing, wrap(passing, chunk(1, "a"), chunk(4, "b"))), chunk(2, "c"), wrap(passing, chunk(3, "d"))),
			"a; c; d; b",
		},
		{
			"4: the priority of an element with PassPriority does not matter",
			user(wrap(elements.Props{Priority: new(0), PassPriority: true}, chunk(3, "a")), chunk(2, "b")),
			"b; a",
		},
		{
			"4: a LegacyPrioritization with PassPriority loses its own rule",
			user(elements.LegacyPrioritization{Props: passing, Children: elements.Nodes{wrap(at(9), chunk(1, "a")), chunk(3, "b")}}, chunk(2, "c")),
			"c; b; a",
		},
		{
			"4: a message does not pass its priority on",
			elements.Nodes{
				elements.UserMessage{Props: elements.Props{Priority: new(5), PassPriority: true}, Children: elements.Nodes{chunk(1, "a")}},
				userAt(4, chunk(2, "b")),
			},
			"b; a",
		},
		{
			"5: in a LegacyPrioritization pieces are removed by their own priority at any depth",
			user(elements.LegacyPrioritization{Children: elements.Nodes{wrap(at(9), chunk(1, "a")), chunk(3, "b"), wrap(at(0), chunk(2, "c"), chunk(5, "d"))}}),
			"a; c; b; d",
		},
		{
			"5: without it the same is removed from the root down",
			user(wrap(elements.Props{}, wrap(at(9), chunk(1, "a")), chunk(3, "b"), wrap(at(0), chunk(2, "c"), chunk(5, "d")))),
			"c; d; b; a",
		},
		{
			"5: the first among equals is removed",
			elements.LegacyPrioritization{Children: elements.Nodes{user(chunk(2, "a"), chunk(1, "b")), user(chunk(1, "c"))}},
			"b; c; a",
		},
		{
			"5: a message without pieces is never chosen in it",
			elements.LegacyPrioritization{Children: elements.Nodes{user(chunk(1, "a")), elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", nil)}}}},
			"a; stuck",
		},
		{
			"8: a message that still calls a tool stays without its text",
			elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", nil)}, Children: elements.Nodes{chunk(1, "a")}},
			"a; x",
		},
		{
			"9: all elements of a group are removed with the first, wherever they are",
			elements.Nodes{user(keep(group, 1, line("a")), chunk(2, "b")), userAt(1_000, chunk(5, "c"), wrap(elements.Props{}, keep(group, 9, line("d"))))},
			"c; ad; b",
		},
		{
			"9: an element of a group is removed piece by piece, the others with the first that is empty",
			elements.Nodes{user(keep(group, 1, chunk(1, "a"), chunk(2, "b")), chunk(2, "c")), user(keep(group, 9, line("d")))},
			"a; bd; c",
		},
		{
			"9: groups at any depth in a removed element are removed",
			user(elements.Chunk{Props: at(1), Children: elements.Nodes{wrap(elements.Props{}, keep(group, 9, line("a"))), line("b")}}, chunk(2, "c"), keep(group, 9, line("d"))),
			"abd; c",
		},
		{
			"9: what a group leaves empty is removed, and the groups in that in turn",
			elements.Nodes{
				user(chunk(5, "x"), keep(other, 9, keep(group, 9, line("a")))),
				user(chunk(6, "y"), keep(other, 9, line("b"))),
				userAt(1, keep(group, 9, line("c"))),
			},
			"abc; x; y",
		},
		{
			"9: an element with a nil group is on its own",
			user(keep(nil, 1, line("a")), keep(nil, 2, line("b"))),
			"a; b",
		},
		{
			"9: two groups with the same name are two groups",
			user(keep(&elements.Group{Name: "g"}, 1, line("a")), keep(&elements.Group{Name: "g"}, 2, line("b"))),
			"a; b",
		},
		{
			"9: the tool calls linked to a group are removed with it, other calls stay",
			elements.Nodes{
				elements.AssistantMessage{Props: at(5), ToolCalls: []elements.ToolCall{call("x", group), call("y", nil)}},
				keep(group, 1, result("x", "a")),
				elements.ToolMessage{Props: at(6), ToolCallID: "y", Children: elements.Nodes{elements.Text("b")}},
			},
			"xa; y; b",
		},
		{
			"9: a message without text is removed with its last call",
			elements.Nodes{
				elements.AssistantMessage{Props: at(5), ToolCalls: []elements.ToolCall{call("x", group), call("y", other)}},
				keep(group, 1, result("x", "a")),
				keep(other, 2, result("y", "b")),
				userAt(9, line("c")),
			},
			"xa; yb; c",
		},
		{
			"9: a message with text stays without its calls",
			elements.Nodes{
				elements.AssistantMessage{Props: at(5), ToolCalls: []elements.ToolCall{call("x", group)}, Children: elements.Nodes{elements.Text("t")}},
				keep(group, 1, result("x", "a")),
			},
			"xa; t",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, prunes(t, test.root))
			require.Equal(t, test.want, prunesWith(t, test.root, render.Options{Compatible: true}))
		})
	}
}

// In prompt-tsx this prompt is an error, because pruning continues in the removed limit and finds nothing.
func TestALimitThatIsRemovedWithItsChunkIsKept(t *testing.T) {
	root := elements.Nodes{
		elements.Chunk{Children: elements.Nodes{elements.TokenLimit{Max: 2, Children: elements.Nodes{
			userAt(2, line("bbb"), elements.CacheBreakpoint{}), userAt(1, line("c")),
		}}}},
		userAt(3, line("d")),
	}
	require.Equal(t, "d", prunes(t, root))
	_, err := render.Render(t.Context(), root, render.Options{Budget: plenty, Tokenizer: runes, Compatible: true})
	require.IsType(t, &render.BudgetExceededError{}, err)
}

// The chunk is removed whole in a LegacyPrioritization too.
func TestAChunkInAGrownExpandableIsRemovedWhole(t *testing.T) {
	grown := elements.Expandable{Value: growsTo(elements.Chunk{Children: elements.Nodes{chunk(1, "aa"), chunk(3, "bb")}})}
	root := userAt(9, elements.LegacyPrioritization{Children: elements.Nodes{grown, chunk(2, "c")}}, line("d"))
	require.Equal(t, []string{"c", "d"}, marks(rendered(t, root, 9).Messages))
}

// In prompt-tsx these chunks and groups do not stay together.
func TestChunksAndGroupsStayTogetherWhateverTheirProperties(t *testing.T) {
	group := &elements.Group{}
	keep := func(priority int, children ...elements.Node) elements.KeepWith {
		return elements.KeepWith{Props: at(priority), Group: group, Children: children}
	}
	calling := func(priority int, id string) elements.AssistantMessage {
		return elements.AssistantMessage{Props: at(priority), ToolCalls: []elements.ToolCall{call(id, nil)}}
	}
	linked := elements.AssistantMessage{Props: at(0), ToolCalls: []elements.ToolCall{call("x", group)}}
	ab := elements.Nodes{chunk(1, "a"), chunk(3, "b")}
	tests := []struct {
		name             string
		root             elements.Node
		want, compatible string
	}{
		{
			"a chunk with PassPriority is removed whole, and keeps its own priority",
			user(elements.Chunk{Props: elements.Props{PassPriority: true, Priority: new(4)}, Children: ab}, chunk(2, "c"), chunk(5, "d")),
			"c; ab; d", "a; c; b; d",
		},
		{
			"a chunk with PassPriority and no priority has the highest",
			user(elements.Chunk{Props: passing, Children: ab}, chunk(2, "c")),
			"c; ab", "a; c; b",
		},
		{
			"a chunk in a LegacyPrioritization is removed whole, when its lowest piece would be",
			user(elements.LegacyPrioritization{Children: elements.Nodes{elements.Chunk{Children: ab}, chunk(2, "c")}}),
			"ab; c", "a; c; b",
		},
		{
			"a chunk in a chunk in a LegacyPrioritization is removed with the outer one",
			user(elements.LegacyPrioritization{Children: elements.Nodes{
				elements.Chunk{Children: elements.Nodes{chunk(9, "d"), elements.Chunk{Children: ab}}}, chunk(2, "c"),
			}}),
			"dab; c", "a; c; b; d",
		},
		{
			"a chunk in a LegacyPrioritization with something required in it stays",
			user(elements.LegacyPrioritization{Children: elements.Nodes{
				elements.Chunk{Children: elements.Nodes{chunk(1, "a"), need(3, "r")}}, chunk(2, "c"),
			}}),
			"c; stuck", "c; stuck",
		},
		{
			"finished messages are removed whole",
			elements.Nodes{
				&elements.Finished{Props: elements.Props{PassPriority: true, Priority: new(2)}, Messages: []chat.Message{
					{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "x", Name: "x", Arguments: "x"}}}, {Role: chat.RoleTool, ToolCallID: "x", Content: chat.Parts{chat.Text("a")}},
				}},
				userAt(1, line("b")), userAt(3, line("c")),
			},
			"b; xa; c", "b; c; x; a",
		},
		{
			"with a message that makes a call, the result is removed",
			elements.Nodes{linked, keep(1, result("x", "a")), userAt(2, line("b"))},
			"xa; b", "x; a; b",
		},
		{
			"with a result, the other result of its group is removed, wherever it is",
			elements.Nodes{linked, keep(5, result("x", "a")), userAt(2, line("b")), keep(4, user(line("c")))},
			"xac; b", "x; b; ac",
		},
		{
			"if a result in a chunk is emptied for a limit, the chunk is removed",
			elements.Nodes{
				elements.Chunk{Children: elements.Nodes{
					calling(1, "x"), elements.TokenLimit{Max: 1, Children: elements.Nodes{result("x", "aaa")}},
				}},
				userAt(2, line("b")),
			},
			"b", "b; x",
		},
		{
			"if an element without a message is removed with its group, the chunk around it stays",
			elements.Nodes{
				elements.Chunk{Children: elements.Nodes{keep(9, elements.Meta[int]{}), userAt(9, line("a"))}},
				keep(1, userAt(1, line("b"))), userAt(5, line("c")),
			},
			"b; c; a", "b; c; a",
		},
		{
			"if text in a chunk is removed for a limit, the chunk stays",
			elements.Nodes{
				elements.Chunk{Children: elements.Nodes{
					userAt(1, elements.TokenLimit{Max: 3, Children: elements.Nodes{chunk(1, "a"), chunk(3, "bb")}}), calling(1, "x"),
				}},
				userAt(2, line("c")),
			},
			"c; bbx", "c; bbx",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, prunes(t, test.root))
			require.Equal(t, test.compatible, prunesWith(t, test.root, render.Options{Compatible: true}))
		})
	}
}

// This is rule 8 of the package's page.
func TestPruningRemovesEmptiedElements(t *testing.T) {
	tests := []struct {
		name   string
		root   elements.Node
		budget int
		want   []string
		tokens int
	}{
		{
			"white space is removed with the last text beside it",
			elements.Nodes{user(chunk(1, "a"), line(" \n")), user(line("bb"))},
			10,
			[]string{"bb"}, 5,
		},
		{
			"white space stays beside other text",
			elements.Nodes{user(chunk(1, "a"), line(" "), line("c")), user(line("bb"))},
			11,
			[]string{" \nc", "bb"}, 11,
		},
		{
			"emptied elements are removed at every level",
			elements.Nodes{wrap(elements.Props{}, wrap(at(1), user(wrap(elements.Props{}, chunk(1, "a"), line(" ")))), wrap(at(0))), user(line("bb"))},
			9,
			[]string{"bb"}, 5,
		},
		{
			"with a group in removed white space, its other elements are removed",
			func() elements.Node {
				group := &elements.Group{}
				return elements.Nodes{
					user(chunk(1, "a"), elements.KeepWith{Group: group, Children: elements.Nodes{line(" ")}}),
					user(line("bb"), elements.KeepWith{Group: group, Children: elements.Nodes{line("cc")}}),
				}
			}(),
			12,
			[]string{"bb"}, 5,
		},
		{
			"an image is not white space",
			elements.Nodes{user(chunk(1, "a"), elements.Image{Source: "i"}), user(line("bb"))},
			13,
			[]string{"", "bb"}, 13,
		},
		{
			"a blank message counts until it is removed, and is not sent",
			elements.Nodes{user(line("  ")), user(line("bb"))},
			plenty,
			[]string{"bb"}, 10,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := rendered(t, test.root, test.budget)
			require.Equal(t, test.want, texts(r.Messages))
			require.Equal(t, test.tokens, r.Tokens)
		})
	}
}

func TestBlankMessagesAreRemovedBeforeTheUsers(t *testing.T) {
	group := &elements.Group{}
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("b", group)}, Children: elements.Nodes{elements.Text("  "), line("\n")}},
		elements.KeepWith{Group: group, Children: elements.Nodes{elements.ToolMessage{ToolCallID: "b"}}},
		elements.AssistantMessage{Children: elements.Nodes{elements.Text(" ")}},
		user(elements.Text("next")),
	}
	for _, lenient := range []bool{true, false} {
		r := renderedWith(t, root, render.Options{Budget: 5, Tokenizer: joiners(t)[0], Compatible: lenient})
		require.Equal(t, []string{"next"}, texts(r.Messages))
	}
}

func TestWhiteSpaceIsThatOfJavaScript(t *testing.T) {
	for _, blank := range []string{"", " ", "\t\n\v\f\r", "\u00a0", "\u1680", "\u2000\u200a", "\u2028\u2029", "\u202f\u205f\u3000", "\ufeff"} {
		require.Empty(t, rendered(t, user(line(blank)), plenty).Messages, "%q is blank", blank)
	}
	for _, dark := range []string{"\u0085", "\u180e", "\u200b", "\u2060", "\x00", "\xff"} {
		require.Len(t, rendered(t, user(line(dark)), plenty).Messages, 1, "%q is not blank", dark)
	}
}

// Many candidates are sorted by another algorithm than few. Some of these are in an element with PassPriority.
func TestManyPiecesAreRemovedInOrder(t *testing.T) {
	type ranked struct{ priority, within, place int }
	spread := make([]int, 1000)
	for i := range spread {
		spread[i] = (i - 300) * i * 104729
	}
	for name, priorities := range map[string][]int{
		"spread":    spread,
		"far apart": {math.MinInt, -1 << 40, -1, 0, 7, 1 << 12, 1<<53 - 2, 1 << 53, math.MaxInt},
		"few":       {0, 1},
		"one":       {3},
	} {
		r := rand.New(rand.NewPCG(uint64(len(priorities)), 0))
		some := func() int { return priorities[r.IntN(len(priorities))] }
		var order []ranked
		piece := func() elements.Node {
			n := ranked{some(), some(), len(order)}
			text := strconv.Itoa(n.place)
			var e elements.Node = wrap(at(n.priority), chunk(n.within, text))
			switch r.IntN(4) {
			case 0:
				n.priority, n.within, e = 1<<53-1, 1<<53-1, line(text) // the highest, if none is set
			case 1, 2:
				n.within, e = n.priority, chunk(n.priority, text)
			}
			n.priority, n.within = min(n.priority, 1<<53-1), min(n.within, 1<<53-1) // higher ones are equal to it
			order = append(order, n)
			return e
		}
		var m elements.UserMessage
		for i := range 5000 {
			if i%500 == 400 {
				m.Children = append(m.Children, wrap(passing, piece(), wrap(passing, piece()), piece()))
			}
			m.Children = append(m.Children, piece())
		}
		slices.SortFunc(order, func(a, b ranked) int {
			return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.within, b.within), cmp.Compare(a.place, b.place))
		})
		for _, tokenizer := range []chat.Tokenizer{runes, summing{runes}} {
			layout := laid(t, m, render.Options{Budget: plenty, Tokenizer: tokenizer})
			for _, budget := range []int{24_000, 6_000, 20_000, 12_000} {
				left := strings.Fields(fitted(t, layout, budget).Messages[0].Text())
				var want []string
				last := slices.Clone(order[len(order)-len(left):])
				slices.SortFunc(last, func(a, b ranked) int { return cmp.Compare(a.place, b.place) })
				for _, n := range last {
					want = append(want, strconv.Itoa(n.place))
				}
				require.Equal(t, want, left, "%s, budget %d", name, budget)
			}
		}
	}
}

func TestPruneFitsExactly(t *testing.T) {
	// Three chunks of 4 characters and two line breaks between them, in a message of 3.
	root := user(chunk(1, "aaaa"), chunk(2, "bbbb"), chunk(3, "cccc"))
	require.Equal(t, 17, rendered(t, root, 17).Tokens)
	require.Equal(t, 12, rendered(t, root, 16).Tokens)
	require.Equal(t, 12, rendered(t, root, 12).Tokens)
	require.Equal(t, 7, rendered(t, root, 11).Tokens)
	require.Equal(t, 0, failed[*render.EmptyPromptError](t, root, 1).Result.Tokens)
}

func TestATokenLimitKeepsItsMaximum(t *testing.T) {
	limit := func(most int, children ...elements.Node) elements.TokenLimit {
		return elements.TokenLimit{Max: most, Children: children}
	}
	group := &elements.Group{}
	tests := []struct {
		name   string
		root   elements.Node
		budget int
		want   []string
	}{
		{
			"in a message a limit counts the sum of its pieces, plus 1 for each line break that may precede one",
			user(limit(6, chunk(1, "aa"), chunk(2, "bb"), chunk(3, "cc")), chunk(0, "dd")),
			plenty,
			[]string{"bb\ncc\ndd"},
		},
		{
			"one token less removes one piece more",
			user(limit(5, chunk(1, "aa"), chunk(2, "bb"), chunk(3, "cc"))),
			plenty,
			[]string{"cc"},
		},
		{
			"text that is not the first of its element counts as it is",
			user(limit(5, elements.Text("aa"), elements.Text("bb"))),
			plenty,
			[]string{"aabb"},
		},
		{
			"a tag counts its two ends, each with a line break",
			user(limit(14, elements.Tag{Name: "x", Children: elements.Nodes{chunk(2, "aa"), chunk(1, "b")}})),
			plenty,
			[]string{"<x>\naa\n</x>"},
		},
		{
			"outside messages a limit counts the sum of its messages",
			limit(10, userAt(1, line("aa")), userAt(2, line("bb")), userAt(3, line("cc"))),
			plenty,
			[]string{"bb", "cc"},
		},
		{
			"the innermost limit is kept first",
			user(limit(9, limit(5, chunk(9, "aaaa"), chunk(8, "bbbb")), chunk(1, "cc"))),
			plenty,
			[]string{"aaaa\ncc"},
		},
		{
			"of siblings the last limit is kept first, so the first loses no text besides its part of the group",
			elements.Nodes{
				user(limit(4, elements.KeepWith{Props: at(9), Group: group, Children: elements.Nodes{line("aa")}}, chunk(2, "bbb"))),
				user(limit(4, elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("cc")}}, chunk(2, "ddd"))),
			},
			plenty,
			[]string{"bbb", "ddd"},
		},
		{
			"with a piece in a limit, group members outside may be dropped",
			elements.Nodes{
				user(limit(4, elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("aa")}}, chunk(2, "bbb"))),
				user(elements.KeepWith{Group: group, Children: elements.Nodes{line("cc")}}, line("d")),
			},
			plenty,
			[]string{"bbb", "d"},
		},
		{
			"a limit above the whole budget is skipped",
			user(limit(13, chunk(2, "aaaa"), chunk(1, "bbbb"), chunk(3, "cccc")), chunk(0, "dd")),
			12,
			[]string{"aaaa\ncccc"},
		},
		{
			"an emptied limit is removed, with its message",
			elements.Nodes{user(limit(1, line("aa"))), user(line("b"))},
			plenty,
			[]string{"b"},
		},
		{
			"a limit inside a message ignores the message's breakpoints",
			user(limit(3, chunk(1, "aa"), chunk(2, "bb")), elements.CacheBreakpoint{}),
			plenty,
			[]string{"bb"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, texts(rendered(t, test.root, test.budget).Messages))
		})
	}
}

// A tag in which only required white space is left is not written, which frees its two ends at once.
func TestPruneFitsExactlyIfATagIsEmptied(t *testing.T) {
	root := user(
		elements.Tag{Name: strings.Repeat("x", 50), Props: at(1), Children: elements.Nodes{wrap(elements.Props{}, chunk(1, "a"), need(0, " "))}},
		chunk(2, "bbbb"),
	)
	whole := rendered(t, root, plenty)
	require.Equal(t, []string{"bbbb"}, texts(rendered(t, root, whole.Tokens-60).Messages))
}

// The calls that are removed with a group free tokens too.
func TestPruneFitsExactlyIfCallsAreRemoved(t *testing.T) {
	group := &elements.Group{}
	long := elements.ToolCall{ToolCall: chat.ToolCall{ID: "x", Name: "x", Arguments: strings.Repeat("x", 100)}, KeepWith: group}
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{long}, Children: elements.Nodes{elements.Text("t")}},
		userAt(1, elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("a")}}, chunk(2, "bbbb")),
	}
	require.Equal(t, []string{"t", "bbbb"}, texts(rendered(t, root, rendered(t, root, plenty).Tokens-100).Messages))
}

// A message of only text chunks is laid out by a shorter path.
func TestCallsKeepAMessageWhoseChunksAreRemoved(t *testing.T) {
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", nil)}, Children: elements.Nodes{chunk(1, "one two"), chunk(2, "three four")}},
		result("x", "found"),
	}
	for _, tokenizer := range joiners(t) {
		whole := renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: tokenizer})
		two := tokenizer.CountText("one two") + tokenizer.CountText("three four")
		less := renderedWith(t, root, render.Options{Budget: whole.Tokens - two, Tokenizer: tokenizer})
		require.Equal(t, []string{"", "found"}, texts(less.Messages))
		require.Len(t, less.Messages[0].ToolCalls, 1)
	}
}

// An opaque value may have any number of tokens.
func TestHugeCountsDoNotOverflow(t *testing.T) {
	for _, tokens := range []int{math.MaxInt32, math.MaxInt / 2, math.MaxInt} {
		huge := elements.Opaque{Value: json.RawMessage(`1`), Tokens: tokens}
		for _, tokenizer := range append(joiners(t), runes) {
			over := failedWith[*render.BudgetExceededError](t, user(wrap(must(1), huge, huge, elements.Text("x"))), render.Options{Budget: 100, Tokenizer: tokenizer})
			require.Greater(t, over.Needed, 2*math.MaxInt32)
			r := renderedWith(t, user(huge, huge, line("x")), render.Options{Budget: 100, Tokenizer: tokenizer})
			require.Equal(t, []string{"x"}, texts(r.Messages))
			require.Len(t, r.Messages[0].Content, 1)
			require.Positive(t, r.Tokens)
		}
	}
}
