package replay

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// printed are the results of tools, by the name and the arguments of a call.
type printed map[string]string

func (p printed) answer(_ context.Context, c chat.ToolCall) (chat.Message, bool, error) {
	return chat.ToolResult(c.ID, p[c.Name+c.Arguments]), true, nil
}

// told is a session of which a finder has each entry.
type told struct {
	*testing.T
	*recallFinder
}

func tell(t *testing.T, tools printed, said ...string) told {
	f := told{t, newRecallFinder(counter(t), nil, numbered.Session(), tools.answer)}
	for _, text := range said {
		f.says(entry.Message{Message: chat.UserMessage(text)})
	}
	return f
}

// says appends an entry and returns its id.
func (f told) says(b entry.Body) string {
	f.Helper()
	added := sessiontest.Add(f, f.session, entry.Entry{Body: b})
	f.add(added[0])
	return added[0].ID
}

func (f told) compacts() {
	f.says(entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}})
}

func (f told) answers(p prompt, text string) (r Recall) {
	f.Helper()
	_, err := f.answer(f.Context(), &r, func() prompt { return p }, 10_000, chat.AssistantMessage(text))
	require.NoError(f, err)
	return r
}

func TestEachFactThatAnAnswerNeedsStandsInOnePlace(t *testing.T) {
	tools := printed{
		`search_session{"query":"inindex insummary rarely intail word"}`: "e5: isFound rarely",
		`read_session{"entry":"e6"}`:                                     "it isNamed",
	}
	f := tell(t, tools, "inTail", "inSummary and inTail", "inIndex", "word word", "isFound rarely word", "isNamed", "isFar away", "not a fact")
	f.compacts()
	p := prompt{tail: "inTail rarely word\n[output of 9 tokens left out here: read_session({\"entry\":\"e6\"})]", summary: "inSummary", index: "inIndex"}
	got := f.answers(p, "rarely a word of inTail, inSummary, inIndex, isFound, isNamed, isFar, isNew, inTail")
	require.Equal(t, Recall{Needed: 6, Tail: 1, Summary: 1, Index: 1, OneLookUp: 2, Further: 1, Answers: 1}, got)
	require.Zero(t, f.answers(p, "inTail, inSummary, inIndex, isFound, isNamed and isFar"), "each counts once a change")
}

func TestAFactIsNeededIfNothingSaidItSinceTheViewChanged(t *testing.T) {
	f := tell(t, nil, "parseLine parseWord parseFile")
	require.Zero(t, f.answers(prompt{}, "parseLine"), "the view has not changed")
	f.compacts()
	f.says(entry.Message{Message: chat.UserMessage("parseLine")})
	got := f.answers(prompt{tail: "parseLine"}, "parseLine parseWord")
	require.Equal(t, Recall{Needed: 1, Further: 1, Answers: 1}, got, "a message said it again")
	f.says(entry.Message{Message: chat.AssistantMessage("parseLine parseWord")})
	require.Zero(t, f.answers(prompt{}, "parseWord"), "an answer said it")
	f.says(entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "ls", Arguments: "{}"}}}})
	result := f.says(entry.Message{Message: chat.ToolResult("c", "parseLine")})
	f.says(entry.Clearing{Results: []entry.Cleared{{Entry: result, Text: "cleared"}}})
	require.Equal(t, Recall{Needed: 3, Further: 3, Answers: 1}, f.answers(prompt{}, "parseLine parseWord parseFile"), "clearing changes the view")
}

func TestAFactThatIsNotInTheLogIsCounted(t *testing.T) {
	f := tell(t, nil)
	id := f.says(entry.Message{Message: chat.UserMessage("parseLine")})
	f.compacts()
	_, err := f.session.Erase(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, Recall{Needed: 1, NotInLog: 1, Answers: 1}, f.answers(prompt{}, "parseLine"))
}

func TestASearchIsForTheRarestWordsThatThePromptShows(t *testing.T) {
	f := tell(t, nil, "often seldom", "often seldom", "often once twice", "often twice")
	p := prompt{tail: "Often twice seldom", summary: "once", index: "never"}
	require.Equal(t, []string{"once", "seldom", "twice", "often"}, f.rarest(p, chat.AssistantMessage("often Once never twice unseen seldom")))
}

func TestThePromptIsSplitIntoTailSummaryAndIndex(t *testing.T) {
	summary, index := chat.UserMessage("summary"), chat.UserMessage(plaintext.IndexTag.Open()+" names")
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "ls", Arguments: `{"path":"a/b.go","n":4711}`}}}
	got := promptOf([]chat.Message{chat.SystemMessage("system"), summary, index, chat.UserMessage("said"), call}, []chat.Message{summary, index})
	require.Equal(t, prompt{tail: "system\nsaid\n\n4711\na/b.go\n", summary: "summary\n", index: "<history-index> names\n"}, got)
}

func TestEditsAndLossesAreLookedUpOnceAChange(t *testing.T) {
	edit := func(old string) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "e", Name: "edit", Arguments: `{"path":"a.go","oldText":"` + old + `","newText":"x"}`}}}
	}
	writes := func(path, text string) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "w", Name: "write", Arguments: `{"path":"` + path + `","content":"` + text + `"}`}}}
	}
	source := "func parse line of text in error\n\treturn nil\n"
	for _, tt := range []struct {
		rule, shown string
		answer      chat.Message
		want        Recall
	}{
		{"an edit of a line that is shown", source, edit("func parse line of text in error"), Recall{Checkable: 1}},
		{"an edit of a line that is not shown", "", edit("func parse line of text in error"), Recall{Edits: 1, Checkable: 1}},
		{"a patch of a line that is not shown", "", chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{
			ID: "e", Name: "apply_patch", Arguments: `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-func parse line of text in error\n+x\n*** End Patch"}`,
		}}}, Recall{Edits: 1, Checkable: 1}},
		{"an edit of a line that nobody said", "", edit("type another struct {"), Recall{}},
		{"an edit of a line too short to count", "", edit("return nil"), Recall{}},
		{"a name in what an edit replaces", "", edit("a new line with parseWord"), Recall{Needed: 1, Further: 1, Content: 1, Answers: 1}},
		{"a name in a file that is written again", "", writes("a.go", strings.Repeat(`parseWord\n`, 10)), Recall{Needed: 1, Further: 1, Content: 1, Answers: 1}},
		{"a name beside such a file", "", writes("parseWord", strings.Repeat(`parseWord\n`, 10)), Recall{Needed: 1, Further: 1, Answers: 1}},
		{"a name that is not shown", "", chat.AssistantMessage("It is parseWord."), Recall{Needed: 1, Further: 1, Answers: 1}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			prices, err := modelinfo.Prices("claude-opus-4-5")
			require.NoError(t, err)
			f := tell(t, nil, source+"parseWord")
			f.biller = &biller{prices: prices}
			f.compacts()
			ask := func() (r Recall) {
				missed, err := f.answer(t.Context(), &r, func() prompt { return prompt{tail: tt.shown} }, 10_000, tt.answer)
				require.NoError(t, err)
				require.Equal(t, r.OneLookUp+r.Further+r.NotInLog, len(missed))
				return r
			}
			got := ask()
			require.Equal(t, got.Edits+got.Answers > 0, got.Dollars > 0)
			first := got.Dollars
			got.Dollars = 0
			require.Equal(t, tt.want, got)
			got = ask()
			require.Zero(t, got.Edits+got.Answers, "a text that was looked up is shown from then on")
			require.LessOrEqual(t, got.Dollars, first, "carrying it costs less than looking it up")
			f.compacts()
			got = ask()
			require.Equal(t, tt.want.Edits+tt.want.Answers, got.Edits+got.Answers, "a compaction covers it")
		})
	}
}
