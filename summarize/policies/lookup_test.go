package policies_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// The fact, in the middle of a result of 100 kB that is one line of JSON.
const fact = "q9Zr-4711"

var result = `{"rows":["` + strings.Repeat(`a \"row\" of no use, naïve 😀 `, 1700) + `"],"deployKey":"` + fact + `","more":["` + strings.Repeat(`and another row. `, 3000) + `"]}`

// limit is the length, in bytes, of what an agent is shown in one call.
const limit = 4096

// readLines is a tool for files, as usual agents have it: so many lines, each cut at 2,000 characters, and no more than
// limit.
func readLines(t *testing.T, path string, from, lines int) string {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var b strings.Builder
	in := bufio.NewReader(file)
	for n := 1; n < from+lines; n++ {
		line, err := in.ReadString('\n')
		if n >= from {
			if characters := []rune(line); len(characters) > 2000 {
				line = string(characters[:2000]) + "…\n"
			}
			if b.Len()+len(line) > limit {
				break
			}
			b.WriteString(line)
		}
		if err != nil {
			break
		}
	}
	return b.String()
}

// search is a tool for files: the lines of the files in a folder that hold a text, each cut at 2,000 characters.
func search(t *testing.T, dir, text string) string {
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var b strings.Builder
	for _, f := range files {
		data := sure.Read(t, filepath.Join(dir, f.Name()))
		for n, line := range strings.Split(string(data), "\n") {
			if strings.Contains(line, text) {
				line = fmt.Sprintf("%s:%d: %s\n", f.Name(), n+1, string([]rune(line)[:min(2000, len([]rune(line)))]))
				if b.Len()+len(line) <= limit {
					b.WriteString(line)
				}
			}
		}
	}
	return b.String()
}

// byRecall finds the fact with the tools of package recall in at most three calls.
func byRecall(t *testing.T, d compacttest.Fixture, prompt string) {
	require.Contains(t, prompt, "read_session(", "a mark or the breadcrumb names the tool")
	tools := recall.Tools{Session: d.Session}
	arguments := []string{history.SearchTool, `{"query":"deploykey"}`}
	for calls := range 4 {
		require.Less(t, calls, 3)
		answer, ok, err := tools.Answer(t.Context(), chat.ToolCall{ID: "x", Name: arguments[0], Arguments: arguments[1]})
		require.NoError(t, err)
		require.True(t, ok)
		require.LessOrEqual(t, len(answer.Text()), limit)
		if strings.Contains(answer.Text(), fact) {
			return
		}
		next := regexp.MustCompile(`(read_session|search_session)\((\{.*?\})\)`).FindStringSubmatch(answer.Text())
		require.NotNil(t, next, answer.Text())
		arguments = next[1:]
	}
}

// byFiles finds the fact with tools for files: in one search, and by reading alone without a byte that is out of reach.
func byFiles(t *testing.T, d compacttest.Fixture, prompt string) {
	path := regexp.MustCompile(regexp.QuoteMeta(d.Session.Path()) + `[^\s"]*`).FindString(prompt)
	require.NotEmpty(t, path, "a mark or the breadcrumb names a file")
	texts := d.Session.Path() + ".texts"
	require.Contains(t, prompt, texts, "and the texts of long entries")
	require.Contains(t, search(t, texts, "deployKey"), fact)

	text := filepath.Join(texts, regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(readLines(t, d.Session.Path(), 4, 1))[1]+".txt")
	var read strings.Builder
	for line := 3; ; {
		part := readLines(t, text, line, 20)
		if part == "" {
			break
		}
		line += strings.Count(part, "\n")
		read.WriteString(strings.ReplaceAll(part, "↩\n", ""))
	}
	require.Equal(t, result, strings.TrimSuffix(read.String(), "\n"))
}

func TestAFactInALongResultIsFoundAgain(t *testing.T) {
	stores := map[string]struct {
		open func(t *testing.T) *history.Session
		find func(t *testing.T, d compacttest.Fixture, prompt string)
	}{
		"memory": {func(t *testing.T) *history.Session {
			return sessiontest.New(t, &storage.Memory{}, history.Options{Recall: true})
		}, byRecall},
		"a file and the tools": {func(t *testing.T) *history.Session {
			return sessiontest.Open(t, filepath.Join(t.TempDir(), "s.jsonl"), history.Options{Recall: true})
		}, byRecall},
		"a file and tools for files": {func(t *testing.T) *history.Session {
			return sessiontest.Open(t, filepath.Join(t.TempDir(), "s.jsonl"), history.Options{})
		}, byFiles},
	}
	for name, p := range policies.All() {
		for kind, store := range stores {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				s := store.open(t)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				d := compacttest.Of(t, s, chat.UserMessage(compacttest.Task))
				var model chat.ModelFunc = models.Offline{Tokenizer: compacttest.Quarter{}}.Generate
				d.Policy, d.Target.Model, d.Target.Budget = p, model, 6000
				d.Policy.Cut.Tokens = min(d.Policy.Cut.Tokens, 1000)
				d.Say(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "k", Name: "get", Arguments: "{}"}}}, chat.ToolResult("k", result))
				stages := map[int]bool{} // numbers of compactions
				for n := 0; len(compacttest.Compactions(s)) < 3; n++ {
					require.Less(t, n, 60, "it compacts")
					r, err := d.Render(t.Context(), compacttest.Prompt(s))
					require.NoError(t, err)
					require.NoError(t, d.Wait(t.Context()))
					prompt := compacttest.Text(r.Messages)
					if p.Clear.Preview.Above == 0 { // a preview shows it
						require.NotContains(t, prompt, fact)
					}
					if stage := len(compacttest.Compactions(s)); !stages[stage] {
						stages[stage] = true
						store.find(t, d, prompt)
					}
					d.Say(compacttest.Rounds(n, n, 300)...)
				}
				require.True(t, stages[0] && stages[1] && stages[2], "%v", stages)
			})
		}
	}
}
