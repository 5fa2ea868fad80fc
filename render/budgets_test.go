package render_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

func TestLayoutFitsAnyBudget(t *testing.T) {
	calls, grown := 0, 0
	root := elements.Nodes{
		userAt(1, own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
			calls++
			return elements.Nodes{chunk(1, "aaaaa"), chunk(2, "bbbbb")}, nil
		}}),
		userAt(2, elements.TokenLimit{Max: 12, Children: elements.Nodes{chunk(1, "cccccccc"), chunk(2, "dddddddd")}}),
		userAt(3, elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			grown++
			return elements.Text(strings.Repeat("e", max(1, s.TokenBudget/4))), nil
		}}),
	}
	layout := laid(t, root, render.Options{Budget: 200, Tokenizer: runes})
	for budget := 12; budget <= 400; budget += 7 {
		r, err := orEmpty(layout.Fit(t.Context(), budget))
		require.NoError(t, err, budget)
		require.LessOrEqual(t, r.Tokens, budget)
		require.Equal(t, budget, r.Budget)
	}
	require.Equal(t, 1, calls, "an element is rendered once")
	require.Greater(t, grown, 10, "an expandable is rendered again")

	_, err := layout.Fit(t.Context(), 0)
	require.ErrorIs(t, err, render.ErrBudget)
}

// No element here depends on its share.
func TestLayoutFitsAsRenderDoes(t *testing.T) {
	root := elements.Nodes{
		userAt(1, chunk(1, "one"), chunk(2, "two"), elements.Chunk{Props: at(0), Children: elements.Nodes{line("three"), line("four")}}),
		userAt(2, chunk(5, "five"), chunk(6, "six")),
	}
	layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: runes})
	for budget := 1; budget < 40; budget++ {
		want, wantErr := orEmpty(render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: runes}))
		got, err := orEmpty(layout.Fit(t.Context(), budget))
		require.NoError(t, wantErr)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreUnexported(render.Result{})))
		require.Empty(t, cmp.Diff(want.Report(), got.Report()))
	}
}

// fuse is a tokenizer that calls do when it counts a text with a mark in it.
type fuse struct {
	summing
	mark string
	do   func()
}

func (f fuse) CountText(s string) int {
	if strings.Contains(s, f.mark) {
		f.do()
	}
	return f.summing.CountText(s)
}

// The next fit does not notice the cancelled one.
func TestLayoutOutlivesACancelledFit(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var m elements.UserMessage
	for i := range 100 {
		m.Children = append(m.Children, chunk(i, strings.Repeat("a", 100)))
	}
	m.Children = append(m.Children, chunk(100, "the mark"))
	stop := errors.New("stop")
	layout := laid(t, m, render.Options{Budget: 100, Tokenizer: fuse{summing{es}, "mark", func() { cancel(stop) }}})
	r, err := layout.Fit(ctx, 10)
	require.ErrorIs(t, err, stop)
	require.Nil(t, r)
	r = fitted(t, layout, 10)
	require.Empty(t, r.Report().Dropped())
}

// bomb is a tokenizer that panics at its nth count.
type bomb struct {
	chat.Joiner
	left *int
}

func (b bomb) CountText(s string) int {
	b.tick()
	return b.Joiner.CountText(s)
}

func (b bomb) CountFrame(m chat.Message) (int, bool) {
	b.tick()
	return b.Joiner.CountFrame(m)
}

func (b bomb) tick() {
	if *b.left--; *b.left == 0 {
		panic("too hard to count")
	}
}

// The next fit does not notice the one that panicked.
func TestLayoutOutlivesAPanickingTokenizer(t *testing.T) {
	root := elements.Nodes{
		userAt(1, chunk(1, "aaa aaa"), chunk(2, "bbb"), elements.TokenLimit{Max: 4, Children: elements.Nodes{chunk(1, "ccc"), chunk(2, "ddd")}}),
		userAt(2, chunk(3, "eee"), elements.Tag{Name: "f", Children: elements.Nodes{chunk(4, "g\n")}}, chunk(5, "h")),
	}
	never, panics := -1, 0
	for at := 1; at < 40; at++ {
		left := never
		layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: bomb{joiners(t)[0].(chat.Joiner), &left}})
		want, err := orEmpty(layout.Fit(t.Context(), 9))
		require.NoError(t, err)
		layout = laid(t, root, render.Options{Budget: plenty, Tokenizer: bomb{joiners(t)[0].(chat.Joiner), &left}})
		left = at
		if _, err := orEmpty(layout.Fit(t.Context(), 9)); err != nil {
			require.IsType(t, &render.TokenizerError{}, err)
			panics++
		}
		left = never
		got, err := orEmpty(layout.Fit(t.Context(), 9))
		require.NoError(t, err, at)
		require.Empty(t, cmp.Diff(want, got, cmpopts.IgnoreUnexported(render.Result{})), at)
		require.Empty(t, cmp.Diff(want.Report(), got.Report()), at)
	}
	require.Greater(t, panics, 10)
}

func TestLayoutOutlivesATokenizerThatPanicsInAReport(t *testing.T) {
	var notes elements.Nodes
	for i := range 100 {
		notes = append(notes, chunk(i%7, fmt.Sprintf("%d. a note about the context window", i)))
	}
	root, left := user(notes...), -1
	lay := func() *render.Layout {
		return laid(t, root, render.Options{Budget: 1000, Tokenizer: bomb{joiners(t)[0].(chat.Joiner), &left}})
	}
	fit := func(l *render.Layout, budget int) *render.Result {
		return fitted(t, l, budget)
	}
	layout := lay()
	low := fit(layout, 50)
	left = 1
	require.Zero(t, low.Report())
	left = -1
	require.Equal(t, asJSON(t, fit(lay(), 143)), asJSON(t, fit(layout, 143)))
}
