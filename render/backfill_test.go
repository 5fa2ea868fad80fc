package render_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
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
			require.Equal(t, test.without, lettersOf(rendered(t, test.root, test.budget)))
			filled := renderedWith(t, test.root, render.Options{Budget: test.budget, Tokenizer: runes, Backfill: true})
			require.Equal(t, test.with, lettersOf(filled))
			require.LessOrEqual(t, filled.Tokens, test.budget)
			restored := 0
			for _, p := range filled.Report().Pieces {
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
			for i, p := range plain.Report().Pieces {
				if p.Dropped == render.Kept {
					require.Equal(t, render.Kept, filled.Report().Pieces[i].Dropped)
				}
			}
		}
	}
}

// Pieces are counted in batches; what comes back is the same as if each was tried by itself.
func TestBackfillTriesEachPieceFromTheHighestPriorityDown(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var pieces elements.Nodes
		for i := range 3 + r.IntN(40) {
			pieces = append(pieces, chunk(i, strings.Repeat("n", 1+r.IntN(40))))
		}
		tokenizer := []chat.Tokenizer{runes, summing{runes}}[seed%2]
		count := func(kept []bool) int {
			var left elements.Nodes
			for i, piece := range pieces {
				if kept[i] {
					left = append(left, piece)
				}
			}
			return renderedWith(t, user(left...), render.Options{Budget: plenty, Tokenizer: tokenizer}).Tokens
		}
		budget := 10 + r.IntN(300)
		outcomes := func(backfill bool) (kept []bool) {
			result, err := orEmpty(render.Render(t.Context(), user(pieces...), render.Options{Budget: budget, Tokenizer: tokenizer, Backfill: backfill}))
			require.NoError(t, err)
			for _, p := range result.Report().Pieces {
				kept = append(kept, p.Dropped == render.Kept)
			}
			return kept
		}
		want := outcomes(false)
		for i := len(want) - 1; i >= 0; i-- {
			if !want[i] {
				want[i] = true
				want[i] = count(want) <= budget
			}
		}
		require.Equal(t, want, outcomes(true), "seed %d, budget %d", seed, budget)
	}
}

// growing renders a droppable conversation that grows by a round of 500 tokens a step. steps counts the renders over
// the budget, same those of them that repeat the whole previous prompt up to the end of its conversation.
func growing(t *testing.T, lowWater float64) (steps, same int) {
	t.Helper()
	const window, round, total = 32_000, 500, 200
	session := numbered.Session()
	prompt := elements.Nodes{
		elements.SystemMessage{Props: must(1), Children: elements.Nodes{elements.Text("instructions")}},
		history.Conversation{Session: session, Droppable: true},
		history.TurnStart{Session: session},
	}
	var previous []chat.Message
	for step := range total {
		require.NoError(t, session.Append(t.Context(), chat.UserMessage("next")))
		r := renderedWith(t, prompt, render.Options{Budget: window, Tokenizer: words, LowWater: lowWater})
		require.LessOrEqual(t, r.Tokens, window)
		conversation := r.Messages[:len(r.Messages)-1]
		if len(r.Report().Dropped()) > 0 {
			steps++
			if len(previous) <= len(conversation) && reflect.DeepEqual(previous, conversation[:len(previous)]) {
				same++
			}
		}
		previous = conversation
		// The user's message and the answer take 500 tokens together, 3 a message and one a word.
		answer := fmt.Sprintf("%d%s", step, strings.Repeat(" word", round-3-1-3-1))
		require.NoError(t, session.Append(t.Context(), chat.AssistantMessage(answer)))
	}
	return steps, same
}

func TestLowWaterKeepsThePrefix(t *testing.T) {
	steps, same := growing(t, 0.7)
	require.Greater(t, steps, 100)
	t.Logf("low water 70%%: %d of %d steps repeat the previous prompt", same, steps)
	require.GreaterOrEqual(t, 100*same, 90*steps)

	steps, same = growing(t, 0)
	t.Logf("no low water: %d of %d steps repeat the previous prompt", same, steps)
	require.LessOrEqual(t, 100*same, 5*steps)
}

func TestLowWaterPrunesInSteps(t *testing.T) {
	// Ten pieces of 10 tokens in a message of 3 more, each on a line of its own: 3 + 10*10 + 9 line breaks.
	pieces := el.Each(strings.Split("abcdefghij", ""), func(s string) elements.Node {
		return chunk(int(s[0]), strings.Repeat(s, 10))
	})
	tests := []struct {
		name     string
		budget   int
		lowWater float64
		tokens   int
	}{
		{"a prompt that fits is not pruned", 112, 0.5, 112},
		{"without a low water as little as possible is dropped", 100, 0, 90},
		{"the dropped tokens are rounded up to a multiple of the step", 100, 0.5, 57}, // step 50: at least 50 are dropped
		{"a prompt that is over by more than a step loses two", 80, 0.75, 68},         // over by 32, step 20: at least 40 are dropped
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := renderedWith(t, user(pieces), render.Options{Budget: test.budget, Tokenizer: runes, LowWater: test.lowWater})
			require.Equal(t, test.tokens, r.Tokens)
		})
	}
	t.Run("a prompt that fits but cannot reach its target is not an error", func(t *testing.T) {
		root := user(chunk(1, strings.Repeat("a", 20)), elements.TextChunk{Props: must(2), Children: elements.Nodes{elements.Text(strings.Repeat("b", 70))}})
		require.Equal(t, 73, renderedWith(t, root, render.Options{Budget: 80, Tokenizer: runes, LowWater: 0.1}).Tokens)
	})
}

// callCounter counts how often a tokenizer is asked.
type callCounter struct {
	chat.Joiner
	calls *int
}

func (c callCounter) CountText(s string) int {
	*c.calls++
	return c.Joiner.CountText(s)
}

func (c callCounter) CountFrame(m chat.Message) (int, bool) {
	*c.calls++
	return c.Joiner.CountFrame(m)
}

func (c callCounter) CountMessage(m chat.Message) int {
	*c.calls++
	return c.Joiner.CountMessage(m)
}

// None of the rooms that are left could hold another message, or only few.
func TestBackfillOfManyMessagesCountsLittleMoreThanAFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, size := range map[string]func() int{"equal": func() int { return 4 }, "of all sizes": func() int { return 1 + r.IntN(60) }} {
		var many elements.Nodes
		for i := range 3000 {
			many = append(many, userAt(i, line(strings.Repeat("x", size()))))
		}
		large := append(slices.Clone(many), userAt(5000, line(strings.Repeat("y", 9000))), userAt(6000, line("stay")))
		for _, budget := range []int{300, 3001, 9005} {
			for which, root := range map[string]elements.Node{"alone": many, "below a large one": large} {
				calls := func(fill bool) (n int) {
					renderedWith(t, root, render.Options{Budget: budget, Tokenizer: callCounter{summing{runes}, &n}, Backfill: fill})
					return n
				}
				without := len(many) * 3 // a fit that counts all
				require.LessOrEqual(t, calls(true), max(3*without, calls(false)), "messages %s, %s, budget %d", name, which, budget)
			}
		}
	}
}

// A text comes back only if a line break before it fits too.
func TestBackfillFillsToTheLastToken(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		var notes elements.Nodes
		for i := range 30 {
			notes = append(notes, chunk(i, strings.Repeat("n", 1+r.IntN(9))))
		}
		root := user(append(notes, chunk(99, strings.Repeat("y", 60)), chunk(100, "stay"))...)
		budget := 10 + r.IntN(50)
		filled := renderedWith(t, root, render.Options{Budget: budget, Tokenizer: summing{runes}, Backfill: true})
		require.LessOrEqual(t, filled.Tokens, budget)
		for _, p := range filled.Report().Dropped() {
			require.Greater(t, filled.Tokens+p.Tokens+1, budget, "seed %d: %s fits", seed, p.Path)
		}
	}
}
