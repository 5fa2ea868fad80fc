package facts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/facts"
)

func TestNamesAreWhatNobodyCanGuess(t *testing.T) {
	for _, tt := range []struct {
		rule, text string
		want       []string
	}{
		{"paths", "see /usr/lib/x, ~/notes_1, ./cmd/main.go and ../a/b.c/.", []string{"/usr/lib/x", "~/notes_1", "cmd/main.go", "a/b.c"}},
		{"a folder or a file whose name starts with a dot", "in .github/workflows and .env.local", []string{".github/workflows", ".env.local"}},
		{"short words with slashes are prose", "and/or he/she n/a TCP/IP", nil},
		{"longer ones are paths", "internal/replay", []string{"internal/replay"}},
		{"an address without its protocol", "https://example.com/a/b?c=1", []string{"example.com/a/b"}},
		{"file names", "main.go, x.py: README.md; a.b", []string{"main.go", "x.py", "README.md"}},
		{"identifiers", "parseLine parse_line http.Client MAX_SIZE", []string{"parseLine", "parse_line", "http.Client", "MAX_SIZE"}},
		{"words are no identifiers", "Parse the JSON lines. A well-known word… e.g. this", nil},
		{"numbers of four bytes or more", "8080 404 1.26 3.5 34,928 1,2 2026-01-02 12,345,678.", []string{"8080", "1.26", "34,928", "2026-01-02", "12,345,678"}},
		{"a list of numbers is no number", "1024,2048", []string{"1024", "2048"}},
		{"hashes and ids", "at 43d85836 d703a1a9-1b7b-4fb1-b512-c9738b1fe617 gpt-4o x86", []string{"43d85836", "d703a1a9-1b7b-4fb1-b512-c9738b1fe617", "gpt-4o"}},
		{"punctuation around a name", "(`parseLine`), “main.go” — \"a/b.go\":12", []string{"parseLine", "main.go", "a/b.go"}},
		{"a letter of any language joins a word", "größe.go 文件/名.txt", []string{"größe.go", "文件/名.txt"}},
		{"blobs are too long", strings.Repeat("aB3/", 31), nil},
		{"broken bytes separate words", "main.go\xffx.py", []string{"main.go", "x.py"}},
		{"each time", "main.go main.go", []string{"main.go", "main.go"}},
		{"nothing", "", nil},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, slices.Collect(facts.Names(tt.text))) })
	}
}

func TestLinesThatReportAnErrorAreFacts(t *testing.T) {
	text := "ok\nfunc f() error {\nmain.go:7: x not found\n> - TypeError: x is undefined`\r\n\tpanic: nil map\nno\nan error " + strings.Repeat("a", 200) + "\na terrorised title\n"
	require.Equal(t, []string{"main.go:7: x not found", "TypeError: x is undefined", "panic: nil map"}, facts.Errors(text))
	require.Equal(t, []string{"main.go", "main.go: not found"}, facts.In("main.go: not found"))
}

func TestAFactIsShownAsWholeWords(t *testing.T) {
	for text, want := range map[string]bool{
		"parseLine": true, "(parseLine)": true, "x.parseLine/y": true, "parseLines reparseLine": false, "parseLines parseLine": true,
		"parseLine_2": false, "parseLineé": false, "parseLin": false, "": false,
	} {
		require.Equal(t, want, facts.Shown(text, "parseLine"), text)
	}
	require.False(t, facts.Shown("x/usr/lib", "/usr/lib"))
}

func TestTheTextOfAMessageHasTheValuesOfItsArguments(t *testing.T) {
	m := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "hm"}, chat.Text("run")}, ToolCalls: []chat.ToolCall{
		{ID: "1", Name: "edit", Arguments: `{"oldText":"a\nb_c","lines":[4711,true],"at":{"n":"x"}}`}, {ID: "2", Name: "sh", Arguments: "not JSON"},
	}}
	require.Equal(t, "run\nx\n4711\na\nb_c\nnot JSON", facts.Text(m))
}

func TestAListWritesAFolderOnceAndIsReadBack(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  string
		read  []string // if the order changes
	}{
		{[]string{"parseLine"}, "parseLine", nil},
		{[]string{"cmd/main.go", "34,928", "cmd/tree.go"}, "cmd/{main.go, tree.go}, 34,928", []string{"cmd/main.go", "cmd/tree.go", "34,928"}},
		{[]string{"a/b/c.go", "a/c.go", "a/b/d", "a/b.go"}, "a/b/{c.go, d}, a/{c.go, b.go}", []string{"a/b/c.go", "a/b/d", "a/c.go", "a/b.go"}},
		{[]string{"/etc", "/usr"}, "/{etc, usr}", nil},
		{[]string{"a/b.go", "x/b.go"}, "a/b.go, x/b.go", nil},
	} {
		require.Equal(t, tt.want, facts.List(tt.names))
		if tt.read == nil {
			tt.read = tt.names
		}
		require.Equal(t, tt.read, facts.Listed(tt.want))
	}
}

func TestMentionedNamesAreTheMostFrequentThatAreNotShown(t *testing.T) {
	text := "a.go b.go b.go x/c.go c.go x/c.go parseLine parseLine parseLine"
	require.Equal(t, []string{"parseLine", "b.go", "x/c.go", "a.go"}, facts.Mentioned(text, "", 9))
	require.Equal(t, []string{"b.go", "x/c.go"}, facts.Mentioned(text, "(parseLine)", 2))
	require.Empty(t, facts.Mentioned(text, "", 0))
}
