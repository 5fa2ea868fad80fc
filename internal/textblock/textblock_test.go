package textblock_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/textblock"
	"github.com/promptree-go/promptree/render"
)

// shown returns the text of a user message with a node, rendered to a budget.
func shown(t *testing.T, node elements.Node, budget int) string {
	t.Helper()
	r, err := render.Render(t.Context(), elements.UserMessage{Children: elements.Nodes{node}}, render.Options{Budget: budget, Tokenizer: sizingtest.Quarter{}})
	if _, empty := errors.AsType[*render.EmptyPromptError](err); empty {
		return ""
	}
	require.NoError(t, err)
	return r.Messages[0].Text()
}

func TestAListLosesItsLowestTextFirstAndItsTagsWithTheLast(t *testing.T) {
	list := textblock.List(elements.Props{}, plaintext.Named("list"), []textblock.Ranked{{Text: "one one", Priority: 1}, {Text: "three three", Priority: 3}, {Text: "two two", Priority: 2}})
	var seen []string
	for budget := 100; budget > 0; budget-- {
		if got := shown(t, list, budget); len(seen) == 0 || got != seen[len(seen)-1] {
			seen = append(seen, got)
		}
	}
	require.Equal(t, []string{
		"<list>\none one\nthree three\ntwo two\n</list>", "<list>\nthree three\ntwo two\n</list>", "<list>\nthree three\n</list>", "",
	}, seen)
}

func TestNoTextIsNoNode(t *testing.T) {
	require.Nil(t, textblock.Line(""))
	require.Nil(t, textblock.Paragraph(""))
	require.Nil(t, textblock.Tagged(1, plaintext.PlanTag, ""))
	require.Nil(t, textblock.List(elements.Props{}, plaintext.Named("list"), nil))
}

func TestATaggedTextIsPrunedAndALineIsNot(t *testing.T) {
	both := elements.Nodes{textblock.Line("It stays."), textblock.Tagged(1, plaintext.PlanTag, "It goes.")}
	require.Equal(t, "It stays.\n<plan>\nIt goes.\n</plan>", shown(t, both, 100))
	require.Equal(t, "It stays.", shown(t, both, 6))
}

func TestARequestHoldsTheHistoryAndTheQuestion(t *testing.T) {
	r, err := render.Render(t.Context(), textblock.Request("You summarise.", elements.Nodes{textblock.Line("It was said.")}, textblock.Paragraph("Sum it up.")),
		render.Options{Budget: 100, Tokenizer: sizingtest.Quarter{}})
	require.NoError(t, err)
	require.Equal(t, []chat.Message{chat.SystemMessage("You summarise."), chat.UserMessage("It was said.\n\nSum it up.")}, r.Messages)
}
