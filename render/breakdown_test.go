package render_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
)

// showing is a caller's element that shows history.
type showing struct{ elements.Props }

func (showing) ShowsHistory() {}

func (showing) Render(context.Context, elements.Sizing) (elements.Node, error) {
	return &elements.Finished{Messages: []chat.Message{chat.UserMessage("an old question"), chat.AssistantMessage("an old answer")}}, nil
}

func category(c elements.Category) elements.Node { return el.Category(c) }

func TestABreakdownSplitsThePromptByTheCategoryOfItsElements(t *testing.T) {
	frame := func(texts ...string) int {
		m := chat.Message{Role: chat.RoleUser}
		for _, text := range texts {
			m.Content = append(m.Content, chat.Text(text))
		}
		return words.CountMessage(m)
	}
	tests := map[string]struct {
		root el.Node
		want render.Breakdown
	}{
		"what has no category is other":            {el.User(el.Text("a b")), render.Breakdown{Other: 5}},
		"an element's content has its category":    {el.User(category(elements.CategoryFiles), el.Text("a b")), render.Breakdown{Files: 5}},
		"the innermost category counts":            {el.User(category(elements.CategoryFiles), el.Text("a b", el.Category(elements.CategoryOther)), el.Text("c")), render.Breakdown{Files: 1, Other: 5}},
		"a category of a list of chunks":           {el.User(el.Text("a", el.Category(elements.CategorySkills)), el.Text("b", el.Category(elements.CategorySkills))), render.Breakdown{Skills: 5}},
		"a frame counts to what has the most":      {el.User(el.Text("a"), el.Text("b c", el.Category(elements.CategorySkills))), render.Breakdown{Skills: 5, Other: 1}},
		"a tag's ends count to what it holds":      {el.User(el.Text("a b c d e"), el.Tag("f", category(elements.CategoryInstructions), el.Text("x"))), render.Breakdown{Instructions: 3, Other: frame("a b c d e", "<f>\nx\n</f>") - 3}},
		"what shows history is history":            {el.Prompt(showing{}, el.User(el.Text("a"))), render.Breakdown{History: 12, Other: 4}},
		"unless it says otherwise":                 {el.Prompt(showing{el.Props(el.Category(elements.CategoryFiles))}, el.User(el.Text("a"))), render.Breakdown{Files: 12, Other: 4}},
		"messages that are not required":           {el.Prompt(showing{el.Props(el.Priority(1))}, el.User(el.Text("a"))), render.Breakdown{History: 12, Other: 4}},
		"messages that are required, as one piece": {el.Prompt(showing{el.Props(el.Required)}, el.User(el.Text("a"))), render.Breakdown{History: 12, Other: 4}},
		"tools are tools":                          {el.Prompt(el.Tool(chat.Tool{Name: "read"}), el.User(el.Text("a"))), render.Breakdown{Tools: words.CountTools([]chat.Tool{{Name: "read"}}), Other: 4}},
		"an expandable keeps its category as it grows": {
			el.User(el.Text("a"), el.Expand(func(_ context.Context, s elements.Sizing) (elements.Node, error) {
				return el.Text("x y z"), nil
			}, el.Category(elements.CategoryFiles))),
			render.Breakdown{Files: 6, Other: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := renderedWith(t, test.root, render.Options{Budget: 1000, Tokenizer: words})
			require.Equal(t, test.want, r.Breakdown())
			require.Equal(t, r.Tokens, r.Breakdown().Total())
		})
	}
}

func TestABreakdownCountsWhatIsLeft(t *testing.T) {
	root := el.User(el.Text("a", el.Required), el.Text("b c d e f g", el.Priority(1), el.Category(elements.CategoryFiles)))
	r := renderedWith(t, root, render.Options{Budget: 5, Tokenizer: words})
	require.Equal(t, render.Breakdown{Other: 4}, r.Breakdown())
	require.Equal(t, elements.CategoryFiles, r.Report().Dropped()[0].Category)

	_, err := render.Render(t.Context(), el.User(el.Required, el.Text("a b"), el.Category(elements.CategoryFiles)), render.Options{Budget: 4, Tokenizer: words})
	over := errtest.As[*render.BudgetExceededError](t, err)
	require.Equal(t, render.Breakdown{Files: over.Needed}, over.Breakdown)
}

func TestABreakdownAndAReportMayBeAskedForAtOnce(t *testing.T) {
	r := renderedWith(t, el.User(el.Lines("a\nb\nc d e f g h i j\nk", el.Priority(1)), el.Text("x", el.Category(elements.CategoryFiles))), render.Options{Budget: 12, Tokenizer: sizingtest.Quarter{}})
	var both sync.WaitGroup
	both.Go(func() { r.Report() })
	both.Go(func() { r.Breakdown() })
	both.Wait()
	require.Equal(t, r.Tokens, r.Breakdown().Total())
}
