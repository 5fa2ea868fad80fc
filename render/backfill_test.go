package render_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// lettersOf returns the letters of the pieces that are left, in order.
func lettersOf(r *render.Result) string {
	var b strings.Builder
	for _, m := range r.Messages {
		for _, c := range m.Text() {
			if c != '\n' && !strings.ContainsRune(b.String(), c) {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

func TestBackfillPutsBackSmallerPiecesThatFit(t *testing.T) {
	of := func(priority int, letter string, n int) elements.Node {
		return chunk(priority, strings.Repeat(letter, n))
	}
	group := &elements.Group{}
	tests := []struct {
		name              string
		root              elements.Node
		budget            int
		without, with     string
		restored, reports int
	}{
		{
			name:   "smaller pieces come back if a large one left room",
			root:   user(of(1, "a", 5), of(2, "b", 5), of(3, "c", 50), of(4, "d", 20)),
			budget: 40, without: "d", with: "abd", restored: 2,
		},
		{
			name:   "the piece of the highest priority comes back first",
			root:   user(of(1, "a", 9), of(2, "b", 9), of(3, "c", 50), of(4, "d", 20)),
			budget: 35, without: "d", with: "bd", restored: 1,
		},
		{
			name:   "a chunk comes back whole or not at all",
			root:   user(elements.Chunk{Props: at(1), Children: elements.Nodes{of(0, "a", 5), of(0, "b", 30)}}, of(2, "x", 5), of(3, "c", 50), of(4, "d", 20)),
			budget: 40, without: "d", with: "xd", restored: 1,
		},
		{
			name: "a group comes back whole",
			root: user(
				elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{of(0, "a", 4)}},
				of(3, "c", 50),
				elements.KeepWith{Props: at(2), Group: group, Children: elements.Nodes{of(0, "b", 4)}},
				of(4, "d", 20)),
			budget: 40, without: "d", with: "abd", restored: 2,
		},
		{
			name: "a tool result does not come back without its call",
			root: elements.Nodes{
				userAt(9, of(9, "u", 1)),
				elements.AssistantMessage{Props: at(1), ToolCalls: []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "1", Name: strings.Repeat("n", 40)}}}},
				elements.ToolMessage{Props: at(2), ToolCallID: "1", Children: elements.Nodes{elements.Text("r")}},
				userAt(3, of(3, "c", 50)), userAt(9, of(9, "d", 20)),
			},
			budget: 40, without: "ud", with: "ud",
		},
		{
			name: "a call comes back with its group",
			root: elements.Nodes{
				elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("1", group)}, Children: elements.Nodes{line("a")}},
				elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{result("1", "r")}},
				userAt(3, of(3, "c", 50)),
			},
			budget: 30, without: "a", with: "ar", restored: 2,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plain := rendered(t, test.root, test.budget)
			require.Equal(t, test.without, lettersOf(plain))
			filled, err := render.Render(t.Context(), test.root, render.Options{Budget: test.budget, Tokenizer: runes, Backfill: true})
			require.NoError(t, err)
			require.Equal(t, test.with, lettersOf(filled))
			require.LessOrEqual(t, filled.Tokens, test.budget)
			restored := 0
			for _, p := range filled.Report() {
				if p.Restored {
					restored++
					require.Equal(t, render.Kept, p.Dropped)
				}
			}
			require.Equal(t, test.restored, restored, filled.Report())
		})
	}
}

// The trees are random.
func TestBackfillOnlyAdds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var nodes elements.Nodes
		groups := []*elements.Group{{}, {}}
		for i := range 3 + random.IntN(8) {
			n := elements.Node(chunk(random.IntN(5), strings.Repeat(string(rune('a'+i)), 1+random.IntN(30))))
			switch random.IntN(4) {
			case 0:
				n = elements.KeepWith{Props: at(random.IntN(5)), Group: groups[random.IntN(2)], Children: elements.Nodes{n}}
			case 1:
				n = elements.Chunk{Props: at(random.IntN(5)), Children: elements.Nodes{n, chunk(1, strings.Repeat(string(rune('A'+i)), 3))}}
			}
			nodes = append(nodes, n)
		}
		root := elements.Nodes{user(nodes[:len(nodes)/2]...), userAt(3, nodes[len(nodes)/2:]...)}
		for _, budget := range []int{10, 25, 50, 80} {
			plain, err := orEmpty(render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: runes}))
			require.NoError(t, err)
			filled, err := orEmpty(render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: runes, Backfill: true}))
			require.NoError(t, err)
			require.LessOrEqual(t, filled.Tokens, budget)
			for i, p := range plain.Report() {
				if p.Dropped == render.Kept {
					require.Equal(t, render.Kept, filled.Report()[i].Dropped)
				}
			}
		}
	}
}
