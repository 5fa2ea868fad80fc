package index_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/summarize/internal/index"
)

// of returns the lines of the index of a session, without its head.
func of(t *testing.T, s *history.Session, firstKept string, room int, prompt ...string) []string {
	t.Helper()
	var shown []chat.Message
	for _, text := range prompt {
		shown = append(shown, chat.UserMessage(text))
	}
	m, ok, err := index.Message(t.Context(), s, firstKept, shown, room, sizingtest.Quarter{})
	require.NoError(t, err)
	if !ok {
		return nil
	}
	require.Equal(t, chat.RoleUser, m.Role)
	require.LessOrEqual(t, sizingtest.Quarter{}.CountMessage(m), room)
	body, ok := strings.CutPrefix(m.Text(), "<history-index>\nNames that are no longer shown, each after an entry that has it:\n")
	require.True(t, ok)
	body, ok = strings.CutSuffix(body, "\n</history-index>")
	require.True(t, ok)
	return strings.Split(body, "\n")
}

func with(t *testing.T, s *history.Session, messages ...chat.Message) *history.Session {
	t.Helper()
	require.NoError(t, s.Append(t.Context(), messages...))
	return s
}

func recalling(ids ...string) *history.Session {
	s, err := history.New(context.Background(), &storage.Memory{}, history.Options{Recall: true, IDs: func() (id string) {
		id, ids = ids[0], ids[1:]
		return id
	}})
	if err != nil {
		panic(err)
	}
	return s
}

func TestAnIndexHasTheNamesThatThePromptDoesNotShow(t *testing.T) {
	s := with(t, numbered.Session(), chat.UserMessage("main.go main_test.go"), chat.AssistantMessage("main.go"), chat.UserMessage("parseLine"))
	require.Equal(t, []string{"e3: parseLine", "e1: main_test.go"}, of(t, s, "", 200, "main.go"))
	require.Nil(t, of(t, s, "", 200, "main.go main_test.go", "parseLine"))
	require.Nil(t, of(t, numbered.Session(), "", 200))
}

// By rank: parseA 6/3, parseC 3/4, parseD 3/5, parseB 1/2.
func TestNamesAreRankedByMentionsOverAgeAndTheAssistantsCountThrice(t *testing.T) {
	s := with(t, numbered.Session(),
		chat.AssistantMessage("parseA"), chat.UserMessage("go"), chat.AssistantMessage("parseD"), chat.AssistantMessage("parseC"), chat.AssistantMessage("parseA"),
	)
	with(t, s, chat.UserMessage("parseB parseB"), chat.AssistantMessage("go"))
	var order []string
	for room := range 200 {
		for _, line := range of(t, s, "", room) {
			for _, name := range strings.Split(line[strings.Index(line, ": ")+2:], ", ") {
				if !strings.Contains(strings.Join(order, " "), name) {
					order = append(order, name)
				}
			}
		}
	}
	require.Equal(t, []string{"parseA", "parseC", "parseD", "parseB"}, order)
}

func TestNamesStandWithTheEntryThatHasMostOfThem(t *testing.T) {
	s := with(t, numbered.Session(), chat.UserMessage("a.go b.go c.go d.go"), chat.AssistantMessage("a.go x.go"), chat.UserMessage("b.go y.go"))
	require.Equal(t, []string{"e1: b.go, a.go, c.go, d.go"}, of(t, s, "", 300, "x.go y.go"))
	require.Equal(t, []string{"e1: b.go, a.go, c.go, d.go", "e3: y.go", "e2: x.go"}, of(t, s, "", 300))
}

func TestANameThatAnotherContainsIsLeftOut(t *testing.T) {
	s := with(t, numbered.Session(), chat.UserMessage("cmd/main.go"), chat.AssistantMessage("main.go"), chat.UserMessage("x/y/tree.go"), chat.AssistantMessage("tree.go"))
	require.Equal(t, []string{"e3: x/y/tree.go", "e1: cmd/main.go"}, of(t, s, "", 300))
}

func TestOnlyWhatACoveredMessageSaysIsIndexed(t *testing.T) {
	s := with(t, numbered.Session(), chat.UserMessage("a.go b.go"), chat.AssistantMessage("c.go"), chat.UserMessage("b.go d.go"))
	require.Equal(t, []string{"e1: b.go, a.go"}, of(t, s, "e2", 300), "the entries from e2 on may be cleared")
}

func TestWhatALookUpReturnedDoesNotCount(t *testing.T) {
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: history.SearchTool, Arguments: `{"query":"main.go"}`}}}
	s := with(t, numbered.Session(), chat.UserMessage("main.go"), call, chat.ToolResult("1", "main.go and tree.go"))
	require.Equal(t, []string{"e2: main.go"}, of(t, s, "", 300))
}

func TestTheHeadSaysHowAnEntryIsRead(t *testing.T) {
	s := with(t, recalling("0000aaaaaa", "0000bbbbbb", "1bbbbbb"), chat.UserMessage("a.go"), chat.AssistantMessage("b.go"), chat.UserMessage("c.go"))
	require.Equal(t, []string{`(read entry ID: read_session({"entry":"ID"}))`, "1bbbbbb: c.go", "0bbbbbb: b.go", "aaaaaa: a.go"}, of(t, s, "", 300))

	path := filepath.Join(t.TempDir(), "s.jsonl")
	file, err := history.Open(path, history.Options{IDs: numbered.IDs()})
	require.NoError(t, err)
	defer file.Close()
	with(t, file, chat.UserMessage("a.go"), chat.AssistantMessage("b.go "+strings.Repeat("word ", 2000)))
	require.Equal(t, []string{"(read entry ID: " + path + ".texts/ID.txt)", "e2: b.go", "(read entry ID: entry ID of " + path + ")", "e1: a.go"}, of(t, file, "", 1000))
}

func TestALongSessionIsNotReadWhole(t *testing.T) {
	s := with(t, numbered.Session(), chat.UserMessage("oldest.go"))
	var list []chat.Message
	for i := range index.MaxMessages {
		list = append(list, chat.UserMessage(fmt.Sprint("word ", i%7)))
	}
	with(t, s, list[1:]...)
	require.Equal(t, []string{"e1: oldest.go"}, of(t, s, "", 300))
	with(t, s, chat.UserMessage("word"))
	require.Nil(t, of(t, s, "", 300))
	s = with(t, numbered.Session(), chat.UserMessage("oldest.go"), chat.AssistantMessage(strings.Repeat("word\n", index.MaxBytes/5+1)))
	require.Nil(t, of(t, s, "", 300))
}

func TestTheIndexIsNotPartOfTheEarlierSummary(t *testing.T) {
	summary, names := chat.UserMessage("summary"), chat.UserMessage("<history-index>\na.go\n</history-index>")
	require.Equal(t, []chat.Message{summary}, index.Without([]chat.Message{summary, names}))
	require.Equal(t, []chat.Message{names, summary}, index.Without([]chat.Message{names, summary}))
	require.Empty(t, index.Without(nil))
}
