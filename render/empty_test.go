package render_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/render"
)

// large is a tokenizer by which an image takes one token for each 1,000 bytes of its source.
type large struct{ tokens }

func (l large) CountPart(p chat.Part) int {
	if image, is := p.(chat.Image); is {
		return len(image.URL) / 1000
	}
	return l.tokens.CountPart(p)
}

func (l large) CountMessage(m chat.Message) int {
	n := 3
	for _, p := range m.Content {
		n += l.CountPart(p)
	}
	return n
}

func TestAPromptPrunedToNothingIsAnErrorWithWhatWasDropped(t *testing.T) {
	root := user(elements.Image{Source: "data:image/png;base64," + strings.Repeat("A", 40_000_000)})
	err := failedWith[*render.EmptyPromptError](t, root, render.Options{Budget: 500, Tokenizer: large{runes}})
	require.Equal(t, 500, err.Budget)
	require.Equal(t, 40_003, err.Tokens)
	require.Len(t, err.Messages, 1)
	require.Len(t, err.Largest, 1)
	require.Equal(t, "User > Image", err.Largest[0].Path)
	require.Equal(t, 40_000, err.Largest[0].Tokens)
	require.Empty(t, err.Result.Messages)
	require.Zero(t, err.Result.Tokens)
	require.Len(t, err.Result.Report().Dropped(), 1)
	require.EqualError(t, err, "render: pruning left no message: the prompt takes 40003 tokens and has 500; the largest pieces dropped: "+
		"User > Image (40000): raise the budget, or set Required on what must stay")
}

func TestTheAdviceOfAnEmptyErrorHelps(t *testing.T) {
	image := elements.Image{Source: strings.Repeat("A", 100_000)}
	opts := render.Options{Budget: 50, Tokenizer: large{runes}}
	empty := failedWith[*render.EmptyPromptError](t, user(image), opts)
	image.Required = true
	over := failedWith[*render.BudgetExceededError](t, user(image), opts)
	require.Equal(t, empty.Tokens, over.Needed)
	require.Equal(t, "User > Image", over.Largest[0].Path)
	opts.Budget = empty.Tokens
	require.Len(t, renderedWith(t, user(image), opts).Messages, 1)
}

func TestEveryFitThatLeavesNoMessageIsAnError(t *testing.T) {
	root := elements.Nodes{userAt(1, line("aaaa")), userAt(2, line("bbbb"))}
	grows := elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { return elements.Text("c"), nil }}
	for name, tt := range map[string]struct {
		root elements.Node
		opts render.Options
	}{
		"a pruning of its own":    {root, render.Options{Tokenizer: runes}},
		"a shared pruning":        {root, render.Options{Tokenizer: summing{runes}}},
		"backfill":                {root, render.Options{Tokenizer: runes, Backfill: true}},
		"a low water":             {root, render.Options{Tokenizer: summing{runes}, LowWater: 0.5}},
		"an expandable":           {elements.Nodes{root, userAt(0, grows)}, render.Options{Tokenizer: runes}},
		"finished messages":       {&elements.Finished{Messages: []chat.Message{chat.UserMessage("aaaa")}}, render.Options{Tokenizer: runes}},
		"a blank message is left": {elements.Nodes{userAt(1, line("aaaa")), elements.UserMessage{Props: must(2), Children: elements.Nodes{elements.Text(" ")}}}, render.Options{Tokenizer: words}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.opts.Budget = plenty
			layout := laid(t, tt.root, tt.opts)
			for range 2 {
				for _, fit := range []func() (*render.Result, error){
					func() (*render.Result, error) { return layout.Fit(t.Context(), 3) },
					func() (*render.Result, error) { return layout.FitWith(t.Context(), render.FitOptions{Budget: 3}) },
					func() (*render.Result, error) {
						return layout.FitWith(t.Context(), render.FitOptions{Budget: 3, History: render.HistoryDroppable})
					},
				} {
					r, err := fit()
					require.Nil(t, r)
					empty := new(render.EmptyPromptError)
					require.ErrorAs(t, err, &empty)
					require.Empty(t, empty.Result.Messages)
				}
				_, _, err := layout.Floor(t.Context(), render.FitOptions{Budget: 3})
				require.NoError(t, err, "a floor is only a number")
				r, err := layout.Fit(t.Context(), plenty)
				require.NoError(t, err, "another budget is not affected")
				require.NotEmpty(t, r.Messages)
			}
		})
	}
}

func TestAPromptEmptiedForALimitIsAnErrorThatNamesTheLimit(t *testing.T) {
	root := user(elements.TokenLimit{Max: 5, Children: elements.Nodes{line("aaaaaaaa")}})
	err := failed[*render.EmptyPromptError](t, root, 100)
	require.EqualError(t, err, "render: pruning left no message: the prompt takes 11 tokens and has 100; the largest pieces dropped: "+
		"User > Limit > Text (8): raise the budget and the limit of User > Limit, or set Required on what must stay")
}

func TestAToolThatIsLeftDoesNotMakeUpForTheMessages(t *testing.T) {
	err := failed[*render.EmptyPromptError](t, elements.Nodes{tool(at(2), "search"), userAt(1, line(strings.Repeat("a", 100)))}, 90)
	require.Len(t, err.Result.Tools, 1)
	require.Len(t, err.Largest, 1, "the tool was not dropped")
}

func TestATreeWithoutAMessageIsNotAnError(t *testing.T) {
	for name, root := range map[string]elements.Node{
		"nothing": elements.Nodes{}, "a tool": tool(elements.Props{}, "search"), "a tool that is dropped": tool(at(1), strings.Repeat("a", 200)),
		"a blank message": user(elements.Text("  ")), "a blank message that is dropped": user(elements.Text(strings.Repeat(" ", 200))),
		"an element that shows nothing": own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, rendered(t, root, 100).Messages)
		})
	}
}

func TestAnExpandableThatGrowsToNothingIsNotAnError(t *testing.T) {
	asked := 0
	root := user(elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) {
		if asked++; asked == 1 {
			return elements.Text("a"), nil
		}
		return nil, nil
	}})
	require.Empty(t, rendered(t, root, 100).Messages)
}

func TestCompatibleReturnsAPromptPrunedToNothing(t *testing.T) {
	r := renderedWith(t, user(line("aaaa")), render.Options{Budget: 5, Tokenizer: runes, Compatible: true})
	require.Empty(t, r.Messages)
}

func TestABudgetAtWhichNothingIsLeftIsAColumnLikeAnother(t *testing.T) {
	root := elements.Nodes{userAt(1, line("aaaa")), userAt(2, line("bbbb"))}
	layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: summing{runes}})
	var results []*render.Result
	for _, budget := range []int{14, 7, 6} {
		r, err := orEmpty(layout.Fit(t.Context(), budget))
		require.NoError(t, err)
		results = append(results, r)
	}
	golden.Equal(t, "compare-empty.golden", render.Compare(2, results...))
	for _, r := range results {
		survey, err := r.Survey(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{14, 7}, []int{survey.Report.Pieces[0].KeptFrom, survey.Report.Pieces[1].KeptFrom})
	}
}
