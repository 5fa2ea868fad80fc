package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// factText is one line of JSON of some 100 kB with a fact in its middle.
var factText = `{"rows":["` + strings.Repeat(`naïve \"row\" 😀 `, 2500) + `the fact is 4711` + strings.Repeat(` and ünother row`, 2500) + `"]}`

func TestAHandleSaysHowAnAgentReadsAnEntry(t *testing.T) {
	path := tempFile(t)
	file := opened(t, path)
	recalled := openedWith(t, tempFile(t), history.Options{Recall: true, IDs: numbered.IDs()})
	t.Cleanup(func() { require.NoError(t, recalled.Close()) })
	without := openedWith(t, tempFile(t), history.Options{File: storage.FileOptions{NoTexts: true}, IDs: numbered.IDs()})
	t.Cleanup(func() { require.NoError(t, without.Close()) })
	for _, c := range []struct {
		rule     string
		session  *history.Session
		text     string
		from, to int
		want     string
	}{
		{"a short entry of a file is a line of the log", file, "short", 0, 0, "entry ID of " + path},
		{"a long entry of a file is a text beside the log", file, factText, 0, 0, path + ".texts/ID.txt"},
		{"a range of a text is lines", file, strings.Repeat("line\n", 1000), 50, 500, path + ".texts/ID.txt lines 13-102"},
		{"a file that keeps no texts has its log", without, factText, 0, 0, "entry ID of " + without.Path()},
		{"a session with the tools names them", recalled, "short", 0, 0, `read_session({"entry":"ID"})`},
		{"a range is of bytes", recalled, factText, 50, 500, `read_session({"entry":"ID","from":50,"to":500})`},
		{"a session in memory without the tools has none", talk(t), factText, 0, 0, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			added := sessiontest.Add(t, c.session, entry.Entry{Body: entry.Message{Message: chat.UserMessage(c.text)}})
			require.Equal(t, strings.ReplaceAll(c.want, "ID", added[0].ID), c.session.Handle(added[0], c.from, c.to))
		})
	}
	require.NoDirExists(t, recalled.Path()+".texts", "with the tools no texts are needed")
}

func TestTagsAndLineBreaksInAHandleAreEscaped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\n<", "conversation-summary>")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	s := opened(t, filepath.Join(dir, "s.jsonl"))
	require.NoError(t, s.Append(t.Context(), user))
	e := sessiontest.Entry(t, s, "")
	require.NotContains(t, s.Handle(e, 0, 0), "\n")
	require.NotContains(t, s.Handle(e, 0, 0), "</conversation-summary>")
}

// unbroken returns the text in a text file.
func unbroken(t *testing.T, file string) string {
	t.Helper()
	head, text, ok := strings.Cut(file, "\n\n")
	require.True(t, ok)
	require.Contains(t, head, "A line of 1900 characters that ends in ↩ goes on in the next.")
	for line := range strings.Lines(file) {
		require.LessOrEqual(t, len(utf16.Encode([]rune(line))), 2000)
	}
	return strings.TrimSuffix(strings.ReplaceAll(text, "↩\n", ""), "\n")
}

func TestLongEntriesAreTextFilesWhoseLinesToolsCanRead(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	shell := entry.Shell{Command: "make", Output: factText}
	call := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I write.")}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "write", Arguments: factText}}}
	result := chat.Message{Role: chat.RoleTool, ToolCallID: "a", Content: chat.Parts{chat.Text(factText), chat.Image{URL: "data:image/png;base64,AAAA"}, chat.Text("x")}}
	bodies := []entry.Body{
		entry.Message{Message: user}, shell, entry.Message{Message: call}, entry.Message{Message: result}, entry.CustomMessage{Name: "n", Content: chat.Parts{chat.Text(factText)}},
	}
	var entries []entry.Entry
	for _, b := range bodies {
		entries = append(entries, entry.Entry{Body: b})
	}
	added := sessiontest.Add(t, s, entries...)
	require.NoFileExists(t, s.TextPath(added[0].ID), "a short line can be read as it is")
	for i, want := range map[int]string{
		1: "$ make\n" + factText, 2: "I write.\nwrite(" + factText + ")", 3: factText + "\nx\n[image image/png, 3 bytes]", 4: factText,
	} {
		require.Equal(t, want, unbroken(t, string(sure.Read(t, s.TextPath(added[i].ID)))))
		require.Equal(t, want, added[i].Text())
	}
	require.Equal(t, len("I write.\n"), added[2].CallAt("a"))
	require.NoError(t, s.Remove(t.Context()))
	require.NoDirExists(t, path+".texts")
}

func TestARangeOfATextIsInTheLinesOfItsHandle(t *testing.T) {
	s := opened(t, tempFile(t))
	added := sessiontest.Add(t, s, entry.Entry{Body: entry.Message{Message: chat.UserMessage(factText + "\n\n" + factText)}})
	lines := strings.Split(string(sure.Read(t, s.TextPath(added[0].ID))), "\n")
	text := added[0].Text()
	for _, from := range []int{0, 1, 1899, 1900, 30_000, 60_001, len(factText) - 1, len(factText), len(factText) + 1, len(text) - 1} {
		to := min(len(text), from+5000)
		var first, last int
		_, err := fmt.Sscanf(strings.TrimPrefix(s.Handle(added[0], from, to), s.TextPath(added[0].ID)), " lines %d-%d", &first, &last)
		require.NoError(t, err)
		part := strings.ToValidUTF8(text[from:to], "")
		got := strings.ReplaceAll(strings.Join(lines[first-1:last], "\n"), "↩\n", "")
		require.Contains(t, strings.TrimSuffix(got, "↩"), part, "from %d", from)
		require.LessOrEqual(t, last-first, 5000/1900+3)
	}
}

func TestMarksOfClippedResultsNameWhatWasCut(t *testing.T) {
	s := opened(t, tempFile(t))
	text := "start " + factText + " end"
	arguments := `{"content":"` + strings.Repeat("argument ", 3000) + `"}`
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "write", Arguments: arguments}}}
	require.NoError(t, s.Append(t.Context(), user, call, chat.ToolResult("a", text)))
	view := viewOf(t, s)
	for rule, v := range map[string]history.View{"the limit of a round": view, "the room that is left": view.NewestWithin(300, 0)} {
		sent := v.Units(history.RoundLimits{}, in(2000))[1].Messages
		round := view.Turns[0].Rounds[0]
		require.Contains(t, sent[0].ToolCalls[0].Arguments, "cut here: "+s.TextPath(round.Assistant.ID)+" lines 3-", rule)
		found := regexp.MustCompile(`cut here: (\S+) lines (\d+)-(\d+) `).FindStringSubmatch(sent[1].Text())
		require.NotNil(t, found, rule)
		require.Equal(t, s.TextPath(round.Results[0].ID), found[1])
		data := sure.Read(t, found[1])
		first, _ := strconv.Atoi(found[2])
		last, _ := strconv.Atoi(found[3])
		part := strings.Join(strings.Split(string(data), "\n")[first-1:last], "\n")
		require.Contains(t, part, "the fact is 4711", rule)
		head, tail, _ := strings.Cut(sent[1].Text(), "\n[... ")
		_, tail, _ = strings.Cut(tail, " ...]\n")
		middle := strings.TrimSuffix(strings.TrimPrefix(text, head), tail)
		require.Contains(t, strings.ReplaceAll(part, "↩\n", ""), middle, "%s: the lines hold all that was cut", rule)
	}
}

func TestTextsAreRedactedAndErasedAsTheLogIs(t *testing.T) {
	path := tempFile(t)
	s := openedWith(t, path, history.Options{Redact: func(p entry.Passage) string { return strings.ReplaceAll(p.Text, "4711", "XXXX") }})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	added := sessiontest.Add(t, s, entry.Entry{Body: entry.Message{Message: chat.UserMessage(factText)}})
	data := sure.Read(t, s.TextPath(added[0].ID))
	require.Contains(t, string(data), "the fact is XXXX")
	require.NotContains(t, string(data), "the fact is 4711")
	erase(t, s, added[0].ID)
	require.NoFileExists(t, s.TextPath(added[0].ID))
}

func TestAnEntryThatIsNotWrittenLeavesNoText(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), user))
	require.NoError(t, os.Rename(path, path+".moved"))
	require.ErrorIs(t, s.Append(t.Context(), chat.AssistantMessage(factText)), storage.ErrMoved)
	files, err := filepath.Glob(path + ".texts/*")
	require.NoError(t, err)
	require.Empty(t, files)
	require.NoError(t, os.Rename(path+".moved", path))
}
