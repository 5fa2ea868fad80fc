package render_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// sizeAt returns the tokens of a surveyed piece at a budget, 0 if it is dropped.
func sizeAt(p render.Piece, budget int) (tokens int, kept bool) {
	if p.KeptFrom == 0 || budget < p.KeptFrom {
		return 0, false
	}
	tokens = p.Tokens
	for _, s := range p.Sizes {
		if s.Budget <= budget {
			tokens = s.Tokens
		}
	}
	return tokens, true
}

func TestASurveySaysWhatEveryBudgetKeeps(t *testing.T) {
	t.Parallel()
	trimmed, checked := 0, 0
	for seed := range trees() {
		r := rand.New(rand.NewPCG(seed, 8))
		tokenizer := append(joiners(t), framing{summing{runes}}, summing{runes}, summing{runes})[r.IntN(5)]
		v := vocabulary{required: r.IntN(3) == 0, blank: r.IntN(4) == 0, trims: true, sized: true, breaks: true, tools: r.IntN(3) == 0, parts: r.IntN(3) == 0, lines: r.IntN(3) == 0}
		opts := render.Options{Budget: plenty, Tokenizer: tokenizer, KeepUnranked: r.IntN(5) == 0, Compatible: r.IntN(8) == 0}
		layout := laid(t, newGrower(seed, v).prompt(), opts)
		whole, err := layout.Fit(t.Context(), plenty)
		if err != nil {
			continue // a limit cannot be kept
		}
		survey, err := whole.Survey(t.Context())
		require.NoError(t, err)
		for range 12 {
			budget := 1 + r.IntN(whole.Tokens+1)
			result, err := orEmpty(layout.Fit(t.Context(), budget))
			if _, is := errors.AsType[*render.BudgetExceededError](err); is {
				require.True(t, budget < survey.From || budget < survey.Least)
				for i, p := range survey.Report.Pieces {
					require.True(t, budget < survey.From || p.KeptFrom == 0 || p.KeptFrom > budget, "seed %d, budget %d, piece %d", seed, budget, i)
				}
				continue
			}
			require.NoError(t, err)
			said := survey
			if budget < survey.From { // other limits are kept
				said, err = result.Survey(t.Context())
				require.NoError(t, err)
				require.LessOrEqual(t, said.Below, survey.From)
			}
			require.LessOrEqual(t, said.From, budget)
			require.LessOrEqual(t, said.Least, budget)
			require.True(t, said.Below == 0 || budget < said.Below)
			for i, p := range result.Report().Pieces {
				at := fmt.Sprintf("seed %d, budget %d, piece %d, %+v, %+v", seed, budget, i, said.Report.Pieces[i], p)
				tokens, kept := sizeAt(said.Report.Pieces[i], budget)
				require.Equal(t, kept, p.Dropped == render.Kept, at)
				if kept {
					require.Equal(t, tokens, p.Tokens, at)
					checked++
				}
				if p.TrimmedFrom > 0 {
					trimmed++
				}
				require.True(t, slices.IsSortedFunc(said.Report.Pieces[i].Sizes, func(a, b render.SizeAt) int { return a.Tokens - b.Tokens }), at)
			}
		}
	}
	require.Greater(t, checked, 1000)
	require.Greater(t, trimmed, 10)
}

func TestASurveyIsRefusedIfOneResultSaysNothingOfOtherBudgets(t *testing.T) {
	prompt := func(e elements.Node) elements.Node { return user(e, chunk(1, "one"), line("two")) }
	grows := elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, nil }}
	for name, tt := range map[string]struct {
		root elements.Node
		opts render.Options
	}{
		"low water":                      {prompt(nil), render.Options{LowWater: 0.5, Tokenizer: summing{runes}}},
		"backfill":                       {prompt(nil), render.Options{Backfill: true, Tokenizer: summing{runes}}},
		"counts that do not add up":      {prompt(nil), render.Options{Tokenizer: struct{ chat.Tokenizer }{runes}}},
		"an element that takes the rest": {prompt(grows), render.Options{Tokenizer: summing{runes}}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.opts.Budget = 100
			_, err := renderedWith(t, tt.root, tt.opts).Survey(t.Context())
			require.ErrorIs(t, err, render.ErrNoSurvey)
		})
	}
}

func TestASurveyHoldsFromALimitToTheNext(t *testing.T) {
	limited := func(limit int) elements.Node {
		return elements.TokenLimit{Max: limit, Children: elements.Nodes{user(chunk(1, "one"), chunk(2, "two"))}}
	}
	layout := laid(t, elements.Nodes{limited(9), limited(40), limited(60)}, render.Options{Budget: 100, Tokenizer: summing{runes}})
	for _, tt := range []struct{ budget, from, below int }{{30, 9, 40}, {40, 40, 60}, {59, 40, 60}, {100, 60, 0}} {
		survey, err := fitted(t, layout, tt.budget).Survey(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{tt.from, tt.below}, []int{survey.From, survey.Below}, tt.budget)
	}
}

// Required finished messages have a layout of their own, whose places say nothing of the prompt's.
func TestASurveyKeepsRequiredFinishedMessagesAtAnyBudget(t *testing.T) {
	said := make([]chat.Message, 9)
	for i := range said {
		said[i] = chat.UserMessage(fmt.Sprint("said ", i))
	}
	root := elements.Nodes{&elements.Finished{Props: must(1), Messages: said}, user(chunk(1, "one"), chunk(2, "two"), line("three"))}
	result := renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: summing{runes}})
	survey, err := result.Survey(t.Context())
	require.NoError(t, err)
	finished := 0
	for _, p := range survey.Report.Pieces {
		if p.Required {
			finished++
			require.Equal(t, survey.Least, p.KeptFrom, p.Path)
		} else {
			require.Greater(t, p.KeptFrom, survey.Least, p.Path)
		}
	}
	require.Equal(t, len(said), finished)
}

// What a part or a call adds to a message is counted by itself as long as others of its type are left.
func TestASurveyDoesNotCountAMessageAgainForEachPartOrCall(t *testing.T) {
	const n = 1000
	var images, thoughts, opaque elements.Nodes
	var calls elements.AssistantMessage
	for i := range n {
		group := &elements.Group{}
		images = append(images, elements.Wrap{Props: at(i % 7), Children: elements.Nodes{elements.Image{Source: "https://example.com"}}})
		thoughts = append(thoughts, elements.Thinking{Props: at(i % 7), Thought: chat.Thinking{Text: "a thought"}})
		opaque = append(opaque, elements.Opaque{Priority: new(i), Value: []byte(`{}`), Tokens: 7})
		calls.ToolCalls = append(calls.ToolCalls, call(fmt.Sprint(i), group))
		calls.Children = append(calls.Children, elements.KeepWith{Props: at(i % 7), Group: group, Children: elements.Nodes{line("text")}})
	}
	for name, root := range map[string]elements.Node{
		"images": user(append(images, line("stay"))...), "thoughts": elements.AssistantMessage{Children: append(thoughts, line("text"))},
		"opaque values": user(append(opaque, line("stay"))...), "calls": calls,
	} {
		t.Run(name, func(t *testing.T) {
			counter := frames{joiners(t)[1].(chat.Joiner), new(int)}
			result := renderedWith(t, root, render.Options{Budget: plenty, Tokenizer: counter})
			*counter.counted = 0
			survey, err := result.Survey(t.Context())
			require.NoError(t, err)
			require.Less(t, survey.Least, result.Tokens/10)
			require.Less(t, *counter.counted, 150*n)
		})
	}
}
