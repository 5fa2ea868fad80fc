package folderagent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// toolsOf returns the tools on a folder.
func toolsOf(t *testing.T, dir, transcript string) *Tools {
	t.Helper()
	tools, err := NewTools(dir, transcript)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tools.Close()) })
	return tools
}

// runTool returns the result of a call as an agent appends it.
func runTool(ctx context.Context, tools *Tools, call chat.ToolCall) chat.Message {
	for _, b := range tools.Toolboxes() {
		m, ok, err := b.Answer(ctx, call)
		if mistake, is := errors.AsType[*chat.ArgumentError](err); is {
			err = errors.New(mistake.Reason)
		}
		if err != nil {
			return chat.FailedResult(call.ID, err.Error())
		}
		if ok {
			return m
		}
	}
	return chat.FailedResult(call.ID, fmt.Sprintf("there is no tool %q", call.Name))
}

// call runs a tool.
func call(t *testing.T, tools *Tools, name string, args any) chat.Message {
	t.Helper()
	data := sure.JSON(t, args)
	m := runTool(t.Context(), tools, chat.ToolCall{ID: "c", Name: name, Arguments: string(data)})
	require.Equal(t, chat.RoleTool, m.Role)
	require.Equal(t, "c", m.ToolCallID)
	require.NotEmpty(t, strings.TrimSpace(m.Text()), "no provider takes a result without a text")
	require.True(t, utf8.ValidString(m.Text()))
	return m
}

func TestToolsReturnTheirResultsAsText(t *testing.T) {
	const poem = "one fish\ntwo fish\nred fish\nblue fish"
	dir := sure.Folder(t, map[string]string{
		"poem.txt":          poem,
		"empty.txt":         "",
		"crlf.txt":          "a\r\nb\r\n",
		"src/a.go":          "package src\n\nfunc A() {}\n",
		"src/deep/b.go":     "package deep\n",
		"srcs/c.go":         "package srcs\n",
		"spaced name.md":    "# Fish and chips\n",
		"picture.png":       "\x89PNG\r\n\xff\xfe",
		".hidden":           "hidden fish\n",
		".git/config":       "hidden fish\n",
		"testdata/x.txt":    "hidden fish\n",
		"node_modules/y.js": "hidden fish\n",
	})
	tools := toolsOf(t, dir, "")
	tests := []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{"the whole folder, by name, with sizes", "list_files", map[string]any{"path": "."},
			"crlf.txt\t6 bytes\nempty.txt\t0 bytes\npoem.txt\t36 bytes\nspaced name.md\t17 bytes\nsrc/a.go\t25 bytes\nsrc/deep/b.go\t13 bytes\nsrcs/c.go\t13 bytes\n"},
		{"no path is the whole folder", "list_files", map[string]any{},
			"crlf.txt\t6 bytes\nempty.txt\t0 bytes\npoem.txt\t36 bytes\nspaced name.md\t17 bytes\nsrc/a.go\t25 bytes\nsrc/deep/b.go\t13 bytes\nsrcs/c.go\t13 bytes\n"},
		{"a folder, and not another with the same prefix", "list_files", map[string]any{"path": "src"}, "src/a.go\t25 bytes\nsrc/deep/b.go\t13 bytes\n"},
		{"a folder's name may end with a slash", "list_files", map[string]any{"path": "./src/deep/"}, "src/deep/b.go\t13 bytes\n"},
		{"a folder in which nothing is listed", "list_files", map[string]any{"path": "testdata"}, "no files"},

		{"a whole file", "read_file", map[string]any{"path": "poem.txt"}, poem},
		{"some lines", "read_file", map[string]any{"path": "poem.txt", "offset": 2, "limit": 2}, "two fish\nred fish\n"},
		{"lines to its end", "read_file", map[string]any{"path": "poem.txt", "offset": 3}, "red fish\nblue fish"},
		{"more lines than there are", "read_file", map[string]any{"path": "poem.txt", "offset": 4, "limit": 100}, "blue fish"},
		{"a limit beyond reason", "read_file", map[string]any{"path": "poem.txt", "offset": 4, "limit": int64(1<<63 - 1)}, "blue fish"},
		{"an offset before the first line", "read_file", map[string]any{"path": "poem.txt", "offset": -5, "limit": 1}, "one fish\n"},
		{"an offset after the last line", "read_file", map[string]any{"path": "poem.txt", "offset": 5, "limit": 1}, "(no lines from 5 on: poem.txt has 4)"},
		{"an empty file", "read_file", map[string]any{"path": "empty.txt"}, "(no lines from 1 on: empty.txt has 0)"},
		{"line ends stay as they are", "read_file", map[string]any{"path": "crlf.txt"}, "a\r\nb\r\n"},
		{"a file that is not listed can be read", "read_file", map[string]any{"path": ".hidden"}, "hidden fish\n"},
		{"a path with .. within the folder", "read_file", map[string]any{"path": "src/../spaced name.md"}, "# Fish and chips\n"},

		{"in one file", "search", map[string]any{"path": "poem.txt", "pattern": "^(two|blue)"}, "poem.txt:2: two fish\npoem.txt:4: blue fish\n"},
		{"in all files that are listed", "search", map[string]any{"pattern": "(?i)fish and|package s"}, "spaced name.md:1: # Fish and chips\nsrc/a.go:1: package src\nsrcs/c.go:1: package srcs\n"},
		{"no matches", "search", map[string]any{"pattern": "whale"}, "no matches"},
		{"line ends are not shown", "search", map[string]any{"path": "crlf.txt", "pattern": "b"}, "crlf.txt:2: b\n"},

		{"a last line without an end counts", "count_file", map[string]any{"path": "poem.txt"},
			fmt.Sprintf("poem.txt: 4 lines, 8 words, 36 bytes, sha256 %x", sha256.Sum256([]byte(poem)))},
		{"one with an end counts once", "count_file", map[string]any{"path": "crlf.txt"},
			fmt.Sprintf("crlf.txt: 2 lines, 2 words, 6 bytes, sha256 %x", sha256.Sum256([]byte("a\r\nb\r\n")))},
		{"an empty file", "count_file", map[string]any{"path": "empty.txt"},
			fmt.Sprintf("empty.txt: 0 lines, 0 words, 0 bytes, sha256 %x", sha256.Sum256(nil))},
	}
	for _, test := range tests {
		t.Run(test.tool+" "+test.name, func(t *testing.T) {
			m := call(t, tools, test.tool, test.args)
			require.False(t, m.IsError, m.Text())
			require.Empty(t, cmp.Diff(test.want, m.Text()))
		})
	}
}

func TestToolErrorsAreResults(t *testing.T) {
	dir := sure.Folder(t, map[string]string{"a.txt": "text\n", "picture.png": "\x89PNG\r\n\xff\xfe", "sub/b.txt": "text\n"})
	outside := filepath.Join(sure.Folder(t, map[string]string{"secret.txt": "the secret\n"}), "secret.txt")
	inside := filepath.Join(dir, "a.txt")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.txt")))
		require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "link")))
	}
	tools := toolsOf(t, dir, "")
	up := "../" + filepath.Base(filepath.Dir(outside))
	paths := map[string]string{
		"the folder above": "..",
		"a file above":     up + "/secret.txt",
		"a path that leaves and re-enters the folder": "sub/../../" + filepath.Base(dir) + "/a.txt",
		"an absolute path":                            outside,
		"an absolute path into the folder":            inside,
		"a link out":                                  "link.txt",
		"a file in a link out":                        "link/secret.txt",
		"a missing file":                              "missing.txt",
		"a missing folder":                            "missing/a.txt",
		"a file as a folder":                          "a.txt/b",
		"a name with a NUL":                           "a.txt\x00",
	}
	for name, path := range paths {
		for _, tool := range []string{"list_files", "read_file", "search", "count_file"} {
			t.Run(tool+" "+name, func(t *testing.T) {
				arguments := map[string]any{"path": path}
				if tool == "search" {
					arguments["pattern"] = "."
				}
				m := call(t, tools, tool, arguments)
				require.True(t, m.IsError, m.Text())
				require.NotContains(t, m.Text(), "the secret")
			})
		}
	}

	calls := []struct {
		name, tool, args, want string
	}{
		{"a file that is not text is not read", "read_file", `{"path":"picture.png"}`, "picture.png is not a text file"},
		{"a file that is not text is not counted", "count_file", `{"path":"picture.png"}`, "picture.png is not a text file"},
		{"a file that is not text is not searched", "search", `{"path":"picture.png","pattern":"P"}`, "picture.png is not a text file"},
		{"a folder is not read", "read_file", `{"path":"sub"}`, "sub"},
		{"no path", "read_file", `{}`, ""},
		{"a pattern that does not compile", "search", `{"pattern":"("}`, "missing closing )"},
		{"incomplete arguments", "read_file", `{"path":"a.t`, "are not a JSON object"},
		{"no arguments", "read_file", ``, `missing properties: ["path"]`},
		{"arguments that are a list", "read_file", `["a.txt"]`, "are not a JSON object"},
		{"an argument of another type", "read_file", `{"path":"a.txt","offset":"two"}`, "/properties/offset"},
		{"an unknown tool", "delete_file", `{"path":"a.txt"}`, `there is no tool "delete_file"`},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			m := runTool(t.Context(), tools, chat.ToolCall{ID: "c", Name: c.tool, Arguments: c.args})
			require.True(t, m.IsError, m.Text())
			require.Equal(t, "c", m.ToolCallID)
			require.NotEmpty(t, m.Text())
			require.Contains(t, m.Text(), c.want)
		})
	}
	_, err := NewTools(inside, "")
	require.Error(t, err, "a file is not a folder")
}

func TestOnlyTheTranscriptIsReadOutsideTheFolder(t *testing.T) {
	dir := sure.Folder(t, map[string]string{"a.txt": "text\n"})
	other := sure.Folder(t, map[string]string{"transcript.jsonl": "first\nsecond fish\n", "beside.jsonl": "no\n"})
	transcript := filepath.Join(other, "transcript.jsonl")
	tools := toolsOf(t, dir, transcript)
	require.Equal(t, "second fish\n", call(t, tools, "read_file", map[string]any{"path": transcript, "offset": 2, "limit": 1}).Text())
	require.Equal(t, transcript+":2: second fish\n", call(t, tools, "search", map[string]any{"path": transcript, "pattern": "fish"}).Text())
	require.Equal(t, "no matches", call(t, tools, "search", map[string]any{"pattern": "fish"}).Text(), "a search of all files leaves out the transcript")
	require.True(t, call(t, tools, "read_file", map[string]any{"path": filepath.Join(other, "beside.jsonl")}).IsError)
	require.True(t, call(t, tools, "list_files", map[string]any{"path": other}).IsError)

	own := filepath.Join(dir, "transcript.jsonl")
	require.NoError(t, os.WriteFile(own, []byte("text\n"), 0o600))
	tools = toolsOf(t, dir, own)
	require.Equal(t, "a.txt\t5 bytes\n", call(t, tools, "list_files", map[string]any{"path": "."}).Text(), "in the folder it is not listed")
}

func TestResultsOfToolsAreLimited(t *testing.T) {
	files := map[string]string{"many.txt": strings.Repeat("fish\n", maxMatches+7)}
	for i := range maxListed + 2 {
		files[fmt.Sprintf("dir/%03d.txt", i)] = "x\n"
	}
	dir := sure.Folder(t, files)
	big, err := os.Create(filepath.Join(dir, "big.txt"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(maxFile+1))
	require.NoError(t, big.Close())
	tools := toolsOf(t, dir, "")

	list := strings.Split(call(t, tools, "list_files", map[string]any{"path": "dir"}).Text(), "\n")
	require.Len(t, list, maxListed+2)
	require.Equal(t, "and 2 more", list[maxListed])
	found := strings.Split(call(t, tools, "search", map[string]any{"pattern": "fish"}).Text(), "\n")
	require.Len(t, found, maxMatches+2)
	require.Equal(t, "and 7 more", found[maxMatches])
	m := call(t, tools, "count_file", map[string]any{"path": "big.txt"})
	require.True(t, m.IsError)
	require.Contains(t, m.Text(), "larger than")
}

func TestSearchShowsAnExcerptOfALongLine(t *testing.T) {
	for _, letter := range []string{"x", "é", "世", "🙂"} {
		for shift := range 4 { // so that each cut falls on each byte of a letter
			line := strings.Repeat("-", shift) + strings.Repeat(letter, 500) + "NEEDLE" + strings.Repeat(letter, 500)
			tools := toolsOf(t, sure.Folder(t, map[string]string{"long.txt": line}), "")
			text := call(t, tools, "search", map[string]any{"pattern": "NEEDLE"}).Text()
			require.Contains(t, text, "NEEDLE")
			require.LessOrEqual(t, len(text), len("long.txt:1: \n")+maxExcerpt)
			require.NotContains(t, text, "�")
		}
	}
	tools := toolsOf(t, sure.Folder(t, map[string]string{"long.txt": strings.Repeat("é", 500)}), "")
	for _, pattern := range []string{"^", "$", "é$", ".*"} {
		require.False(t, call(t, tools, "search", map[string]any{"pattern": pattern}).IsError)
	}
}

func TestToolsEndWithTheirContext(t *testing.T) {
	tools := toolsOf(t, sure.Folder(t, map[string]string{"a.txt": "text\n"}), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, arguments := range map[string]string{"list_files": "{}", "search": `{"pattern":"."}`} {
		m := runTool(ctx, tools, chat.ToolCall{ID: "c", Name: tool, Arguments: arguments})
		require.True(t, m.IsError)
		require.Equal(t, context.Canceled.Error(), m.Text())
	}
}

func TestSumIsTheChecksumOfCountFile(t *testing.T) {
	tools := toolsOf(t, sure.Folder(t, map[string]string{"a.txt": "text\n"}), "")
	sum, err := tools.Sum("a.txt")
	require.NoError(t, err)
	require.Contains(t, call(t, tools, "count_file", map[string]any{"path": "a.txt"}).Text(), "sha256 "+sum)
	_, err = tools.Sum("missing")
	require.Error(t, err)
}

func TestDescribeNamesToolsAndTheirTargets(t *testing.T) {
	calls := func(calls ...chat.ToolCall) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}
	}
	tests := []struct {
		name string
		give chat.Message
		want string
	}{
		{"a message without calls", chat.AssistantMessage("Done."), "answers"},
		{"the last part of a path", calls(chat.ToolCall{Name: "read_file", Arguments: `{"path":"a/b.go"}`}), "read_file b.go"},
		{"a pattern before a path", calls(chat.ToolCall{Name: "search", Arguments: `{"path":"a/b.go","pattern":"x+"}`}), "search x+"},
		{"calls in order", calls(chat.ToolCall{Name: "a", Arguments: `{"path":"x"}`}, chat.ToolCall{Name: "b", Arguments: `{"path":"y"}`}), "a x, b y"},
		{"no path", calls(chat.ToolCall{Name: "bash", Arguments: `{"command":"ls"}`}), "bash"},
		{"arguments of another tool", calls(chat.ToolCall{Name: "bash", Arguments: `{"path":7}`}), "bash"},
		{"arguments that are not JSON", calls(chat.ToolCall{Name: "bash", Arguments: `ls`}), "bash"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, Describe(test.give)) })
	}
}
