package render_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/render"
)

// need returns a required text chunk with a priority.
func need(priority int, text string) elements.TextChunk {
	return elements.TextChunk{Props: must(priority), Children: elements.Nodes{elements.Text(text)}}
}

// Each want is the order in which letters are removed until nothing more may be: see prunes.
func TestRequiredPiecesAreNeverRemoved(t *testing.T) {
	group, other := &elements.Group{}, &elements.Group{}
	keep := func(g *elements.Group, priority int, children ...elements.Node) elements.KeepWith {
		return elements.KeepWith{Props: at(priority), Group: g, Children: children}
	}
	caller := func(calls ...elements.ToolCall) elements.AssistantMessage {
		return elements.AssistantMessage{Props: at(0), ToolCalls: calls, Children: elements.Nodes{chunk(0, "t")}}
	}
	tests := []struct {
		name string
		root elements.Node
		want string
	}{
		{
			"a required piece is passed over, whatever its priority",
			user(chunk(2, "a"), need(-100, "r"), chunk(1, "b")),
			"b; a; stuck",
		},
		{
			"everything in a required element is passed over",
			elements.Nodes{elements.UserMessage{Props: must(0), Children: elements.Nodes{chunk(0, "r"), wrap(at(0), chunk(0, "s"))}}, userAt(1, line("a"))},
			"a; stuck",
		},
		{
			"a required element without children is passed over",
			elements.Nodes{elements.UserMessage{Props: must(0)}, userAt(1, line("a"))},
			"a; stuck",
		},
		{
			"a required image is passed over",
			user(chunk(1, "a"), elements.Image{Props: must(0), Source: "i"}),
			"a; stuck",
		},
		{
			"a required tag without children is passed over",
			user(chunk(1, "a"), elements.Tag{Name: "x", Props: must(0)}),
			"a; stuck",
		},
		{
			"an element with a required piece loses the rest",
			elements.Nodes{userAt(0, need(0, "r"), chunk(5, "a")), userAt(1, line("b"))},
			"a; b; stuck",
		},
		{
			"an element with only required pieces is passed over",
			elements.Nodes{userAt(0, wrap(at(0), need(0, "r"))), userAt(1, line("b"))},
			"b; stuck",
		},
		{
			"a required piece in an element with PassPriority does not compete",
			user(wrap(passing, need(0, "r"), chunk(1, "a")), chunk(2, "b")),
			"a; b; stuck",
		},
		{
			"a tie is decided among the pieces that may be removed",
			user(wrap(at(1), need(0, "r"), chunk(5, "a")), wrap(at(1), chunk(3, "b"))),
			"a; b; stuck",
		},
		{
			"white space beside a required piece stays with it",
			elements.Nodes{user(line(" "), need(1, "r"), chunk(0, "a"))},
			"a; -; stuck",
		},
		{
			"required white space stays when all else is removed",
			elements.Nodes{user(need(1, " "), chunk(0, "a")), userAt(9, line("b"))},
			"b; a; stuck",
		},
		{
			"a chunk with a required piece stays whole",
			user(elements.Chunk{Props: at(0), Children: elements.Nodes{chunk(0, "a"), wrap(at(0), need(0, "r"))}}, chunk(1, "b")),
			"b; stuck",
		},
		{
			"chunks around a chunk with a required piece stay whole",
			user(elements.Chunk{Props: at(0), Children: elements.Nodes{chunk(0, "a"), elements.Chunk{Children: elements.Nodes{chunk(0, "c"), need(0, "r")}}}}, chunk(1, "b")),
			"b; stuck",
		},
		{
			"a chunk with PassPriority and a required piece stays whole",
			user(elements.Chunk{Props: passing, Children: elements.Nodes{chunk(0, "a"), need(0, "r")}}, chunk(1, "b")),
			"b; stuck",
		},
		{
			"a required chunk stays",
			user(elements.Chunk{Props: must(0), Children: elements.Nodes{chunk(0, "a")}}, chunk(1, "b")),
			"b; stuck",
		},
		{
			"a group with a required piece stays whole, wherever its elements are",
			elements.Nodes{user(keep(group, 0, chunk(0, "a"), need(0, "r")), chunk(2, "b")), userAt(1, keep(group, 0, line("c")), chunk(0, "d"))},
			"d; b; stuck",
		},
		{
			"a chunk with an element of a required group stays whole",
			elements.Nodes{user(keep(group, 0, need(0, "r")), chunk(2, "b")), userAt(1, elements.Chunk{Props: at(0), Children: elements.Nodes{line("a"), keep(group, 0, line("c"))}}, chunk(3, "d"))},
			"d; b; stuck",
		},
		{
			"a group that holds a required chunk stays whole",
			elements.Nodes{
				user(keep(other, 0, elements.Chunk{Children: elements.Nodes{keep(group, 0, line("a")), line("b")}}), chunk(1, "c")),
				user(keep(group, 0, need(0, "r"))),
				user(keep(other, 0, line("d"))),
			},
			"c; stuck",
		},
		{
			"the message that makes a call linked to a required group stays, its text does not",
			elements.Nodes{caller(call("x", group)), keep(group, 0, elements.ToolMessage{Props: elements.Props{Required: true}, ToolCallID: "x", Children: elements.Nodes{elements.Text("r")}}), userAt(1, line("a"))},
			"t; a; stuck",
		},
		{
			"other calls of that message are removed with their groups",
			elements.Nodes{
				caller(call("x", group), call("y", other), call("z", nil)),
				keep(group, 0, elements.ToolMessage{Props: elements.Props{Required: true}, ToolCallID: "x", Children: elements.Nodes{elements.Text("r")}}),
				keep(other, 1, result("y", "s")),
			},
			"t; ys; stuck",
		},
		{
			"a required message keeps the groups that its calls are linked to",
			elements.Nodes{
				elements.AssistantMessage{Props: must(0), ToolCalls: []elements.ToolCall{call("x", group)}},
				keep(group, 0, result("x", "r"), result("x", "s")),
				userAt(1, line("a")),
			},
			"a; stuck",
		},
		{
			"a chunk with the message that makes the call stays whole",
			elements.Nodes{
				elements.Chunk{Props: at(0), Children: elements.Nodes{caller(call("x", group)), user(line("b"))}},
				keep(group, 0, elements.ToolMessage{Props: elements.Props{Required: true}, ToolCallID: "x", Children: elements.Nodes{elements.Text("r")}}),
				userAt(1, line("a")),
			},
			"a; stuck",
		},
		{
			"in a LegacyPrioritization required pieces are passed over",
			user(elements.LegacyPrioritization{Children: elements.Nodes{need(0, "r"), wrap(at(9), chunk(1, "a")), elements.Chunk{Children: elements.Nodes{need(0, "s"), chunk(2, "b")}}}}),
			"a; stuck",
		},
		{
			"before and after a breakpoint required pieces are passed over",
			elements.Nodes{user(chunk(0, "a"), elements.CacheBreakpoint{}, need(0, "r"), chunk(1, "b")), user(need(0, "q"))},
			"b; a; stuck",
		},
		{
			"a required piece before a breakpoint changes nothing",
			user(need(0, "r"), elements.CacheBreakpoint{}, chunk(1, "b")),
			"b; stuck",
		},
		{
			"a breakpoint among required pieces holds what may go before them, until it is given up",
			elements.Nodes{userAt(1, line("a")), userAt(2, need(0, "q"), elements.CacheBreakpoint{}, need(0, "r")), userAt(3, line("c")), user(need(0, "s"))},
			"c; a; stuck",
		},
		{
			"in a limit required pieces are passed over",
			user(elements.TokenLimit{Max: 100, Children: elements.Nodes{need(0, "r"), chunk(1, "a")}}, chunk(0, "b")),
			"b; a; stuck",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, prunes(t, test.root))
		})
	}
}

// A message that loses its last call is emptied, unless something required is left, even if it is white space.
func TestRequiredWhiteSpaceOutlivesItsCalls(t *testing.T) {
	group := &elements.Group{}
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", group)}, Children: elements.Nodes{need(0, " ")}},
		elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{result("x", "r")}},
	}
	r := failed[*render.EmptyPromptError](t, root, 5).Result
	require.Equal(t, render.Kept, r.Report().Pieces[1].Dropped)
	require.Equal(t, 4, r.Tokens, "it is counted, but not sent")
}

func TestARequiredExpandableStaysRequiredWhenItGrows(t *testing.T) {
	asked := 0
	root := user(elements.Expandable{Props: must(0), Value: func(context.Context, elements.Sizing) (elements.Node, error) {
		asked++
		return chunk(-1, strings.Repeat("r", 4*asked)), nil
	}}, chunk(1, "a"))
	r := rendered(t, root, 12)
	require.Equal(t, []string{"rrrrrrrr"}, texts(r.Messages))
	require.True(t, r.Report().Pieces[0].Required)
}

func TestBudgetExceededErrorSaysWhatIsNeeded(t *testing.T) {
	root := elements.Nodes{
		elements.Meta[string]{Value: "global"},
		elements.SystemMessage{Props: must(0), Children: elements.Nodes{elements.Text("123456789"), line("1234")}},
		elements.UserMessage{Children: elements.Nodes{
			chunk(1, "dropped"), elements.Meta[int]{Value: 1, Local: true},
			elements.TextChunk{Props: at(2), Children: elements.Nodes{elements.Text("dropped too"), elements.Meta[int]{Value: 2, Local: true}}},
			need(3, "12"), need(4, "12345"), need(5, "1"), need(6, "123"),
			elements.TextChunk{Props: must(7), Children: elements.Nodes{elements.Text("1234"), elements.Meta[int]{Value: 3, Local: true}}},
		}},
	}
	err := failed[*render.BudgetExceededError](t, root, 30)
	const system, kept = 3 + 9 + 1 + 4, 3 + 2 + 1 + 5 + 1 + 1 + 1 + 3 + 1 + 4
	require.Equal(t, 30, err.Budget)
	require.Equal(t, system+kept, err.Needed)
	require.Empty(t, err.Limit)
	require.Equal(t, "Root", err.Path)
	require.Equal(t, []string{"global"}, elements.AllMeta[string](err.Metadata))
	require.Equal(t, []int{1, 3}, elements.AllMeta[int](err.Metadata), "the metadata of what was left")
	require.Empty(t, cmp.Diff(rendered(t, root, plenty).Messages, err.Messages))
	var largest []string
	for _, p := range err.Largest {
		require.True(t, p.Required)
		largest = append(largest, fmt.Sprintf("%s %d", p.Path, p.Tokens))
	}
	require.Equal(t, []string{
		"System 9", "User > Text#4 5", "System > Text 4",
		"User > Text#7 4", "User > Text#6 3",
	}, largest, "the five largest, and those of one size in order")
	require.EqualError(t, err, "render: the prompt needs 39 tokens and has 30; the largest pieces that cannot be removed: "+
		"System (9), User > Text#4 (5), System > Text (4)")

	// Needed tokens are enough, one less is not.
	require.Equal(t, err.Needed, failed[*render.BudgetExceededError](t, root, err.Needed-1).Needed)
	require.Equal(t, err.Needed, rendered(t, root, err.Needed).Tokens)
}

func TestBudgetExceededIsFoundByItsType(t *testing.T) {
	_, err := render.Render(t.Context(), user(need(0, "text")), render.Options{Budget: 1, Tokenizer: runes})
	require.Equal(t, 7, errtest.As[*render.BudgetExceededError](t, fmt.Errorf("no answer: %w", err)).Needed)
}

func TestALimitThatCannotBeKeptIsAnErrorWithItsPath(t *testing.T) {
	root := elements.Nodes{
		user(line("free")),
		user(wrap(elements.Props{}, elements.TokenLimit{Max: 8, Children: elements.Nodes{need(0, "12345"), chunk(1, "dropped"), need(2, "123")}})),
	}
	err := failed[*render.BudgetExceededError](t, root, plenty)
	require.Equal(t, 8, err.Budget)
	require.Equal(t, 5+1+3+1, err.Needed)
	require.Equal(t, "User#2 > Wrap > Limit", err.Limit)
	require.Equal(t, err.Limit, err.Path)
	require.Equal(t, []int{5, 3}, []int{err.Largest[0].Tokens, err.Largest[1].Tokens})
	require.Len(t, err.Largest, 2, "only what stands in the limit")
	require.Equal(t, []string{"free", "12345\ndropped\n123"}, texts(err.Messages))
	require.EqualError(t, err, "render: User#2 > Wrap > Limit needs 10 tokens and has 8; the largest pieces that cannot be removed: "+
		"User#2 > Wrap > Limit > Text#1 (5), User#2 > Wrap > Limit > Text#3 (3)")

	around := elements.TokenLimit{Max: 9, Children: elements.Nodes{user(need(0, "1234567"))}}
	err = failed[*render.BudgetExceededError](t, around, plenty)
	require.Equal(t, 10, err.Needed)
	require.Equal(t, "Limit", err.Limit)

	around.Max = 20 // above the budget: skipped
	err = failed[*render.BudgetExceededError](t, around, 9)
	require.Empty(t, err.Limit)
	require.Equal(t, "Root", err.Path)
}

func TestBudgetExceededErrorHasThePathOfTheStuckElement(t *testing.T) {
	err := failed[*render.BudgetExceededError](t, elements.Nodes{
		userAt(1, wrap(at(1), need(1, "a"))), userAt(2, need(1, "c")),
	}, 5)
	require.Equal(t, "Root", err.Path)
	require.Equal(t, 8, err.Needed)
	compatible := failedWith[*render.BudgetExceededError](t, elements.Nodes{
		userAt(1, line("a"), elements.CacheBreakpoint{}), userAt(2, line("c")),
	}, render.Options{Budget: 5, Tokenizer: runes, Compatible: true})
	require.Equal(t, "User#1", compatible.Path)
}

func TestARequiredConversationIsWholeOrAnErrorAtAnyBudget(t *testing.T) {
	group := &elements.Group{Name: "last round"}
	root := elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("rules")}},
		userAt(1, line("an example")),
		elements.AssistantMessage{Props: at(2), ToolCalls: []elements.ToolCall{call("x", group)}, Children: elements.Nodes{elements.Text("thinking aloud")}},
		elements.KeepWith{Props: at(2), Group: group, Children: elements.Nodes{
			elements.ToolMessage{Props: elements.Props{Required: true}, ToolCallID: "x", Children: elements.Nodes{elements.Text("42")}},
		}},
		userAt(3, line("a question"), line("and what goes with it")),
	}
	fits := 0
	for budget := 1; budget < 100; budget++ {
		r, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: runes})
		if err != nil {
			require.Zero(t, fits, "what fits a budget fits a larger one")
			continue
		}
		fits++
		require.True(t, slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return m.Text() == "rules" }))
		require.True(t, slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return m.ToolCallID == "x" && m.Text() == "42" }))
		require.True(t, slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return len(m.ToolCalls) == 1 && m.ToolCalls[0].ID == "x" }))
	}
	require.Equal(t, 100-(3+5)-(3+2)-(3+2), fits)
}

// The piece was a candidate in a limit before. The cached choice must not be used.
func TestAGrownExpandableMayMakeALegacyPieceRequired(t *testing.T) {
	group := &elements.Group{}
	asked := 0
	root := user(
		elements.TokenLimit{Props: at(1), Max: 8, Children: elements.Nodes{elements.LegacyPrioritization{Children: elements.Nodes{
			chunk(1, "aaa"), elements.KeepWith{Group: group, Children: elements.Nodes{chunk(2, "bbb")}}, chunk(3, "ccc"),
		}}}},
		elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) {
			if asked++; asked == 1 {
				return nil, nil
			}
			return elements.KeepWith{Props: elements.Props{Required: true}, Group: group, Children: elements.Nodes{line(strings.Repeat("e", 20))}}, nil
		}},
	)
	require.Equal(t, []string{"bbb\n" + strings.Repeat("e", 20)}, texts(rendered(t, root, 28).Messages))
}

// The other pieces of its message are not required.
func TestReportSaysThatACallLinkedToARequiredPieceIsRequired(t *testing.T) {
	group := &elements.Group{}
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("a", group), call("b", nil)}, Children: elements.Nodes{line("t")}},
		elements.KeepWith{Props: must(1), Group: group, Children: elements.Nodes{result("a", "r")}},
	}
	required := map[render.PieceKind][]bool{}
	for _, p := range rendered(t, root, plenty).Report().Pieces {
		required[p.Kind] = append(required[p.Kind], p.Required)
	}
	require.Equal(t, map[render.PieceKind][]bool{"toolCall": {true, true}, "text": {false, true}}, required)
}

func TestTheUnusedSideOfAnIfEmptyRequiresNoCall(t *testing.T) {
	group := &elements.Group{}
	root := elements.Nodes{
		elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("a", group)}},
		elements.KeepWith{Props: must(1), Group: group, Children: elements.Nodes{result("a", "r")}},
		elements.IfEmpty{
			Alt:      elements.KeepWith{Group: group, Children: elements.Nodes{userAt(1, line("alternative"))}},
			Children: elements.Nodes{userAt(1, line("given"))},
		},
	}
	required := map[render.PieceKind][]bool{}
	for _, p := range rendered(t, root, plenty).Report().Pieces {
		required[p.Kind] = append(required[p.Kind], p.Required)
	}
	require.Equal(t, map[render.PieceKind][]bool{"toolCall": {true}, "text": {true, false}}, required)
}

func TestNothingStaysRequiredForTheFirstRenderingOfAnExpandable(t *testing.T) {
	for name, other := range map[string]elements.Node{"nothing else": nil, "something else": elements.TextChunk{Props: must(1), Children: elements.Nodes{elements.Text("e")}}} {
		t.Run(name, func(t *testing.T) {
			group, asked := &elements.Group{}, 0
			grows := elements.Expandable{Props: at(9), Value: func(context.Context, elements.Sizing) (elements.Node, error) {
				if asked++; asked == 1 {
					return elements.KeepWith{Group: group, Children: elements.Nodes{elements.TextChunk{Props: must(1), Children: elements.Nodes{elements.Text("a")}}}}, nil
				}
				return line("bbbbbbb"), nil
			}}
			root := elements.Nodes{
				elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("c", group)}},
				user(elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("dd")}}, grows, other),
			}
			r := rendered(t, root, 16)
			require.Len(t, r.Messages, 1)
			require.Contains(t, r.Messages[0].Text(), "bbbbbbb")
			require.NotContains(t, r.Messages[0].Text(), "d")
			for _, p := range r.Report().Kept() {
				require.Equal(t, p.Priority != nil, p.Required, p.Path)
			}
		})
	}
}
