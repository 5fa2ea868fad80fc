package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func TestLookbacksUseWordsThatTheRequestNoLongerShows(t *testing.T) {
	edit := func(old string) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "e", Name: "edit", Arguments: `{"path":"a.go","oldText":"` + old + `","newText":"x"}`}}}
	}
	source := chat.ToolResult("c", "func parseLine(text string) error {\n\treturn nil\n}\n")
	shown, gone := []chat.Message{chat.UserMessage("Go on."), source}, []chat.Message{chat.UserMessage("Go on.")}
	for _, tt := range []struct {
		rule    string
		request []chat.Message
		answer  chat.Message
		want    Lookbacks
	}{
		{"an edit of a line that is shown", shown, edit("func parseLine(text string) error {"), Lookbacks{Checkable: 1, Needed: 1, Shown: 1}},
		{"an edit of a line that is not shown", gone, edit("func parseLine(text string) error {"), Lookbacks{Edits: 1, Checkable: 1, Needed: 1}},
		{"an edit of a line that nobody said", gone, edit("type another struct {"), Lookbacks{}},
		{"an edit of a line too short to count", gone, edit("return nil"), Lookbacks{}},
		{"a name that is shown", shown, chat.AssistantMessage("It is parseLine."), Lookbacks{Needed: 1, Shown: 1}},
		{"a name that is not shown", gone, chat.AssistantMessage("It is parseLine."), Lookbacks{Identifiers: 1, Needed: 1}},
		{"a new name", gone, chat.AssistantMessage("I call it parseWord."), Lookbacks{}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			b, err := billerFor("claude-opus-4-5", "", 0)
			require.NoError(t, err)
			l := newLookbackFinder(counter(t), b)
			l.add(source)
			var got Lookbacks
			l.answer(&got, tt.request, 10_000, tt.answer)
			require.Equal(t, got.Edits+got.Identifiers > 0, got.Dollars > 0)
			first := got.Dollars
			got.Dollars = 0
			require.Equal(t, tt.want, got)
			got = Lookbacks{}
			l.answer(&got, tt.request, 10_000, tt.answer)
			require.Zero(t, got.Edits+got.Identifiers, "a text that was looked up is shown from then on")
			require.LessOrEqual(t, got.Dollars, first, "carrying it costs less than looking it up")
			l.compacted()
			got = Lookbacks{}
			l.answer(&got, tt.request, 10_000, tt.answer)
			require.Equal(t, tt.want.Edits+tt.want.Identifiers, got.Edits+got.Identifiers, "a compaction covers it")
		})
	}
}

func TestAnIdentifierSurvivesIfTheFirstRequestAfterTheCompactionShowsIt(t *testing.T) {
	l := newLookbackFinder(counter(t), nil)
	l.add(chat.UserMessage("See parseLine, parseWord and parseFile."))
	var got Lookbacks
	l.answer(&got, nil, 100, chat.AssistantMessage("parseLine"))
	require.Zero(t, got.NeededLater, "nothing was compacted")
	l.compacted()
	summary := []chat.Message{chat.UserMessage("Summary: parseWord is done.")}
	l.answer(&got, summary, 100, chat.AssistantMessage("parseWord parseLine parseNew1"))
	require.Equal(t, []int{2, 1}, []int{got.NeededLater, got.Survived})
	l.add(chat.AssistantMessage("parseWord parseLine parseNew1"))
	l.answer(&got, summary, 100, chat.AssistantMessage("parseWord parseNew1 parseFile"))
	require.Equal(t, []int{3, 1}, []int{got.NeededLater, got.Survived}, "each counts once, and a name first said after the compaction does not")
	l.compacted()
	l.answer(&got, summary, 100, chat.AssistantMessage("parseWord"))
	require.Equal(t, []int{4, 2}, []int{got.NeededLater, got.Survived}, "after the next compaction it counts again")
}

func TestLossesAreForThePolicyFrugalAlone(t *testing.T) {
	list, err := policiesNamed("a3s,frugal")
	require.NoError(t, err)
	list, err = withLosses(list, "0,0.3")
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, "frugal 0.3", list[2].Name)
	require.InDelta(t, 0.3, list[2].Trigger[0].Loss, 0)
	for losses, want := range map[string]string{"x": "not an amount of dollars", "-1": "not an amount of dollars"} {
		_, err = withLosses(list, losses)
		require.ErrorContains(t, err, want)
	}
	list, err = policiesNamed("a3s")
	require.NoError(t, err)
	_, err = withLosses(list, "0")
	require.ErrorContains(t, err, "does not name it")
}
