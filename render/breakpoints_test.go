package render_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
)

// In prompt-tsx, candidates before the last breakpoint among siblings are passed over (the second of two orders).
func TestABreakpointIsHeldWhileWhatIsBehindItGivesEnough(t *testing.T) {
	group, breakpoint := &elements.Group{}, elements.CacheBreakpoint{}
	keep := func(priority int, child elements.Node) elements.KeepWith {
		return elements.KeepWith{Props: at(priority), Group: group, Children: elements.Nodes{child}}
	}
	tests := []struct {
		name             string
		root             elements.Node
		want, compatible string
	}{
		{
			"the last message gives nothing while a breakpoint is held, so all are given up: everything goes as without",
			user(chunk(1, "a"), breakpoint, chunk(2, "b")),
			"a; b", "b; stuck",
		},
		{
			"several are given up together",
			user(chunk(1, "a"), breakpoint, chunk(2, "b"), breakpoint, chunk(3, "c")),
			"a; b; c", "c; stuck",
		},
		{
			"a breakpoint is never chosen",
			user(breakpoint, chunk(2, "b"), breakpoint),
			"b", "stuck",
		},
		{
			"what is behind it goes first, then everything by priority",
			elements.Nodes{userAt(1, line("a")), userAt(5, line("b"), breakpoint, chunk(3, "d")), userAt(3, line("c"))},
			"d; a; c; d; b", "c; d; stuck",
		},
		{
			"it is no error that nothing behind it may go",
			elements.Nodes{userAt(1, line("b"), breakpoint), userAt(2, line("c"))},
			"b; c", "stuck",
		},
		{
			"all elements before it are held, whatever is around it",
			elements.Nodes{userAt(1, line("a")), wrap(at(2), userAt(1, line("b")), userAt(1, breakpoint, line("c"))), userAt(3, line("d"))},
			"c; ab; c; d", "c; stuck",
		},
		{
			"a breakpoint with nothing before it holds nothing",
			user(breakpoint, wrap(at(1), chunk(1, "a"), chunk(2, "b")), chunk(3, "c")),
			"a; b; c", "a; b; c; stuck",
		},
		{
			"a Chunk is removed with its breakpoint",
			elements.Nodes{userAt(0, line("a")), elements.Chunk{Props: at(1), Children: elements.Nodes{user(line("b"), breakpoint)}}, userAt(2, line("c"))},
			"a; b; c", "b; a; c",
		},
		{
			"a LegacyPrioritization is like any element; a breakpoint is no piece of it",
			elements.LegacyPrioritization{Children: elements.Nodes{user(chunk(1, "a"), breakpoint, chunk(2, "b"))}},
			"a; b", "a; b; -",
		},
		{
			"a breakpoint at the start of a message holds what is before the message",
			elements.Nodes{userAt(1, line("a")), wrap(passing, userAt(1, line("b")), userAt(9, breakpoint, line("c"))), userAt(3, line("d"))},
			"c; ab; d; c", "d; c; stuck",
		},
		{
			"all tools are held, because they are sent first",
			elements.Nodes{userAt(9, line("s"), breakpoint), userAt(5, line("b")), tool(at(1), "t"), user(line("q"))},
			"b; -; b; s; q", "-; b; stuck",
		},
		{
			"if all before it is required, there is nothing to hold",
			elements.Nodes{elements.SystemMessage{Children: elements.Nodes{need(1, "s"), breakpoint}}, user(chunk(1, "a"), chunk(3, "c")), user(chunk(2, "b"), chunk(4, "q"))},
			"a; b; c; q; stuck", "a; b; c; q; stuck",
		},
		{
			"a group is held with what stands before it",
			elements.Nodes{user(keep(9, line("s")), breakpoint), user(keep(1, line("g")), chunk(2, "b")), user(line("q"))},
			"b; sg; b; q", "sg; b; stuck",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, prunes(t, test.root))
			require.Equal(t, test.compatible, prunesWith(t, test.root, render.Options{Compatible: true}))
		})
	}
}

// rounds returns 20 rounds of a call and its result, with a breakpoint in every fifth result, and a question.
func rounds(around func(...elements.Node) elements.Node) elements.Node {
	var list elements.Nodes
	for i := range 20 {
		id := fmt.Sprintf("call%02d", i+1)
		group := &elements.Group{}
		answer := elements.ToolMessage{ToolCallID: id, Children: elements.Nodes{line(id + strings.Repeat(" word", 20))}}
		if (i+1)%5 == 0 {
			answer.Children = append(answer.Children, elements.CacheBreakpoint{})
		}
		list = append(list, around(
			elements.AssistantMessage{ToolCalls: []elements.ToolCall{call(id, group)}},
			elements.KeepWith{Group: group, Children: elements.Nodes{answer}},
		))
	}
	return elements.Nodes{list, user(line("question"))}
}

func TestTheQuestionAndTheNewestRoundsAreNeverSpentOnAPrefix(t *testing.T) {
	for name, root := range map[string]elements.Node{
		"flat":      rounds(func(round ...elements.Node) elements.Node { return elements.Nodes(round) }),
		"in chunks": rounds(func(round ...elements.Node) elements.Node { return elements.Chunk{Children: round} }),
		"in a list": elements.PrioritizedList{Children: elements.Nodes{rounds(func(round ...elements.Node) elements.Node { return elements.Chunk{Children: round} })}},
	} {
		t.Run(name, func(t *testing.T) {
			layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: summing{runes}})
			for budget := 150; budget < 2700; budget += 50 {
				r, err := layout.Fit(t.Context(), budget)
				require.NoError(t, err, budget)
				said := strings.Join(texts(r.Messages), "\n")
				require.Contains(t, said, "question", budget)
				require.Equal(t, len(r.Messages) < 41, r.Report().CacheLost, budget)
				for i := 1; i <= 20; i++ { // what is left are the newest
					require.Equal(t, len(r.Messages) > 2*(20-i)+1, strings.Contains(said, fmt.Sprintf("call%02d", i)), "budget %d, round %d", budget, i)
				}
				require.Greater(t, r.Tokens, min(budget-130, 2300), "a round fits")
			}
		})
	}
}

func TestALongTextBeforeABreakpointIsTrimmedIfNothingElseGives(t *testing.T) {
	breakpoint := elements.CacheBreakpoint{}
	rules := el.Lines(string(conventions(60)), el.Priority(5))
	for name, root := range map[string]elements.Node{
		"in the system message":   elements.Nodes{elements.SystemMessage{Children: elements.Nodes{rules, breakpoint}}, user(line("question"))},
		"in a message before it":  elements.Nodes{elements.SystemMessage{Children: elements.Nodes{rules}}, user(line("one"), breakpoint), user(line("question"))},
		"in the last message":     user(rules, breakpoint, line("question")),
		"in a message before all": elements.Nodes{elements.SystemMessage{Children: elements.Nodes{rules}}, user(line("question"), breakpoint)},
	} {
		t.Run(name, func(t *testing.T) {
			whole := rendered(t, root, plenty)
			require.False(t, whole.Report().CacheLost)
			for budget := 150; budget < whole.Tokens; budget += 50 {
				r, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: runes})
				require.NoError(t, err, budget)
				require.Contains(t, strings.Join(texts(r.Messages), "\n"), "question", budget)
				require.True(t, r.Report().CacheLost, budget)
				require.Contains(t, r.Report().String(), "a cached prefix was given up")
				require.Greater(t, r.Tokens, budget-100, "a line fits")
			}
		})
	}
}

func TestABreakpointThatIsHeldDoesNotLoseTheCache(t *testing.T) {
	root := elements.Nodes{
		elements.SystemMessage{Props: at(1), Children: elements.Nodes{line("all the rules"), elements.CacheBreakpoint{}}}, userAt(5, line("old")), userAt(6, line("newer")), user(line("question")),
	}
	r := rendered(t, root, 3*3+len("all the rules"+"newer"+"question"))
	require.Equal(t, []string{"all the rules", "newer", "question"}, texts(r.Messages))
	require.False(t, r.Report().CacheLost)
	r = rendered(t, root, 2*3+len("all the rules"+"question")-1)
	require.Equal(t, []string{"old", "newer", "question"}, texts(r.Messages), "once nothing else gives, it goes as if there were none")
	require.True(t, r.Report().CacheLost)
}

func TestAPromptThatFitsWithoutBreakpointsFitsWithThem(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range trees() {
		r := rand.New(rand.NewPCG(seed, 9))
		v := vocabulary{required: true, breaks: r.IntN(2) == 0, trims: r.IntN(2) == 0, tools: r.IntN(2) == 0, parts: true, blank: r.IntN(3) == 0}
		opts := render.Options{Budget: plenty, Tokenizer: summing{runes}, KeepUnranked: r.IntN(3) == 0}
		with, without := newGrower(seed, v), newGrower(seed, v)
		without.unmarked = true
		marked := laid(t, with.prompt(), opts)
		plain := laid(t, without.prompt(), opts)
		for range 8 {
			budget := 1 + r.IntN(400)
			if _, err := orEmpty(plain.Fit(t.Context(), budget)); err != nil {
				continue
			}
			_, err := orEmpty(marked.Fit(t.Context(), budget))
			require.NoError(t, err, "seed %d, budget %d, %+v", seed, budget, v)
			compared++
		}
	}
	require.Greater(t, compared, 200)
}
