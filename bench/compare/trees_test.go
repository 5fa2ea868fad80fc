package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

var treeKinds = []treeKind{flatTree, nestedTree, equalTree, keepWithTree, legacyTree}

func TestTreesHaveTheirPiecesAndFitTheirBudget(t *testing.T) {
	for _, kind := range treeKinds {
		for _, n := range []int{1, 7, 10, 95, 1000} {
			t.Run(fmt.Sprintf("%s of %d", kind.name, n), func(t *testing.T) {
				root := kind.make(n)
				c := tiktoken.O200k()
				whole, err := render.Render(t.Context(), root, render.Options{Budget: unlimited, Tokenizer: c})
				require.NoError(t, err)
				require.Len(t, whole.Report(), n)
				require.Len(t, whole.Report().Kept(), n)
				if n < 95 {
					return
				}
				budget := whole.Tokens / 10
				pruned, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: c})
				require.NoError(t, err)
				require.LessOrEqual(t, pruned.Tokens, budget)
				require.Greater(t, pruned.Tokens, budget-60, "no more is pruned than necessary: the largest piece is a group")
				require.Equal(t, pruned.Tokens, c.CountMessage(pruned.Messages[0]))
			})
		}
	}
}

func TestTheNestedTreeIsDeep(t *testing.T) {
	c := tiktoken.O200k()
	r, err := render.Render(t.Context(), nestedTree.make(1000), render.Options{Budget: unlimited, Tokenizer: c})
	require.NoError(t, err)
	require.Equal(t, "User > Wrap#1 > Wrap#1 > TextChunk#1", r.Report()[0].Path)
}

func TestGroupsGoWhole(t *testing.T) {
	c := tiktoken.O200k()
	r, err := render.Render(t.Context(), keepWithTree.make(1000), render.Options{Budget: 2000, Tokenizer: c})
	require.NoError(t, err)
	kept := map[int]int{} // members by group
	for i, piece := range r.Report() {
		if piece.Dropped == render.Kept {
			kept[i%250]++
		}
	}
	require.NotEmpty(t, kept)
	for group, n := range kept {
		require.Equal(t, 4, n, "group %d", group)
	}
}

func TestAConversationHasItsRounds(t *testing.T) {
	a := agentStep{rounds: 45, tokens: 200}
	begun, err := a.begin(t.Context())
	require.NoError(t, err)
	require.InEpsilon(t, 45*200, begun.tokens, 0.1)
	turns := func(r *running) []history.Turn {
		view, err := r.session.View(t.Context())
		require.NoError(t, err)
		return view.Turns
	}
	rounds := func(r *running) (n int) {
		for _, turn := range turns(r) {
			n += len(turn.Rounds)
		}
		return n
	}
	require.Equal(t, 45, rounds(begun))
	stepped, err := a.stepped(t.Context())
	require.NoError(t, err)
	require.Equal(t, 47, rounds(stepped))
	require.Len(t, turns(stepped), len(turns(begun)), "the last turn continues")
}

func TestTurnedTextsAreTheSameTextRotatedByLines(t *testing.T) {
	turned := newTurned("one\ntwo\nthree\n")
	require.Equal(t, []string{"two\nthree\none\n", "three\none\ntwo\n", "one\ntwo\nthree\n", "two\nthree\none\n"},
		[]string{turned.next(), turned.next(), turned.next(), turned.next()})
}
