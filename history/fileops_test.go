package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// The agent's own tools are added to the known ones.
func ExampleFileTools() {
	tools := history.DefaultFileTools()
	tools["view"] = history.Reads("files")
	tools["remove"] = func(arguments string) entry.Files {
		return entry.Files{Modified: strings.Fields(arguments)} // the tool's arguments are not JSON
	}
	session := numbered.Session()
	err := session.Append(context.Background(), chat.UserMessage("Tidy up."), chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
		{ID: "c1", Name: "read", Arguments: `{"path":"main.go"}`},
		{ID: "c2", Name: "view", Arguments: `{"files":["go.mod","old.go"]}`},
		{ID: "c3", Name: "edit", Arguments: `{"path":"main.go","old":"a","new":"b"}`},
		{ID: "c4", Name: "remove", Arguments: `old.go`},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := tools.Of(session.PathTo(context.Background(), ""))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("read:", files.Read)
	fmt.Println("modified:", files.Modified)
	// Output:
	// read: [go.mod]
	// modified: [main.go old.go]
}

// filePath makes a path from a sketch, a word for each entry: "r:a" reads file a, "w:a" writes and "e:a" edits it,
// "o:a" is another call, "u" a user message. "k:2:b" is a compaction that keeps from the entry at index 2 on and lists
// file b as read; "b:a" is a branch summary that lists file a as modified. "K" and "B" are those of an extension.
func filePath(sketch string) []entry.Entry {
	var path []entry.Entry
	for i, word := range strings.Fields(sketch) {
		kind, rest, _ := strings.Cut(word, ":")
		e := entry.Entry{ID: fmt.Sprint(i)}
		tools := map[string]string{"r": "read", "w": "write", "e": "edit", "o": "other"}
		switch kind {
		case "u":
			e.Body = entry.Message{Message: chat.UserMessage("go on")}
		case "k", "K":
			kept, file, _ := strings.Cut(rest, ":")
			e.Body = entry.Compaction{FirstKept: kept, Summary: entry.Summary{Files: entry.Files{Read: []string{file}}, Extension: kind == "K"}}
		case "b", "B":
			e.Body = entry.BranchSummary{Summary: entry.Summary{Files: entry.Files{Modified: []string{rest}}, Extension: kind == "B"}}
		default:
			e.Body = entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
				{ID: e.ID, Name: tools[kind], Arguments: fmt.Sprintf(`{"path":%q}`, rest)},
			}}}
		}
		path = append(path, e)
	}
	return path
}

func TestFilesOfAPathAreListedByLastUse(t *testing.T) {
	for _, tt := range []struct{ rule, path, read, modified string }{
		{"a path without calls has no files", "u", "", ""},
		{"files are read, written and edited", "u r:a w:b e:c", "a", "b c"},
		{"each is listed once, at its last use", "r:b r:a r:b e:c e:d e:c", "a b", "d c"},
		{"a modified file is not listed as read", "r:a r:b e:a w:c r:c", "b", "a c"},
		{"other tools have no files", "o:a r:b", "b", ""},
		{"an empty path is no file", "r: e:", "", ""},
		{"files accumulate over a compaction", "u r:a e:b u k:3:x r:c", "a x c", "b"},
		{"files accumulate over two compactions", "u r:a u k:2:x r:b u k:5:y e:x", "a b y", "x"},
		{"an extension's compaction starts a new list, without its files", "u r:a e:b u K:3:x r:c", "c", ""},
		{"entries that an extension's compaction kept count", "u r:a e:b u r:d K:3:x r:c", "d c", ""},
		{"an extension's compaction may keep nothing", "u r:a K::x r:c", "c", ""},
		{"a compaction before an extension's does not count", "u r:a u k:2:x r:b u K:5:y e:c", "", "c"},
		{"a compaction that an extension's kept does not count", "u r:a u r:b k:2:x K:3:y e:c", "b", "c"},
		{"a compaction after an extension's counts", "u r:a K::x r:b u k:4:y r:c", "b y c", ""},
		{"a branch summary counts", "u r:a b:b", "a", "b"},
		{"an extension's branch summary does not count", "u r:a B:b", "a", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := history.DefaultFileTools().Of(sessiontest.Along(filePath(tt.path)))
			require.NoError(t, err)
			require.Equal(t, tt.read, strings.Join(got.Read, " "))
			require.Equal(t, tt.modified, strings.Join(got.Modified, " "))
		})
	}
}

// The files that were used last are listed and the others counted, over any number of compactions.
func TestTheListOfFilesIsLimited(t *testing.T) {
	const maxFiles, all = 500, 1300
	s := numbered.Session()
	require.NoError(t, s.Append(t.Context(), user))
	files := func() entry.Files {
		t.Helper()
		latest, _ := sessiontest.Latest(t, s, entry.TypeCompaction)
		from := []entry.Entry{}
		for e, err := range s.Back(t.Context(), "") { // no further than the newest compaction
			require.NoError(t, err)
			if from = append(from, e); e.ID == latest.ID {
				break
			}
		}
		slices.Reverse(from)
		got, err := history.DefaultFileTools().Of(sessiontest.Along(from))
		require.NoError(t, err)
		return got
	}
	for i := range all {
		tool := []string{"read", "edit"}[i%2]
		call := chat.ToolCall{ID: fmt.Sprint("c", i), Name: tool, Arguments: fmt.Sprintf(`{"path":"%d.go"}`, i)}
		require.NoError(t, s.Append(t.Context(), chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}, done(call.ID)))
		if i%90 == 89 {
			c := summary("so far", "")
			c.Files = files()
			require.NoError(t, s.Compact(t.Context(), c))
		}
	}
	got := files()
	require.Equal(t, all-maxFiles, got.Left)
	require.Len(t, append(got.Read, got.Modified...), maxFiles)
	require.Equal(t, fmt.Sprint(all-1, ".go"), got.Modified[len(got.Modified)-1])
	whole, err := history.DefaultFileTools().Of(s.PathTo(t.Context(), ""))
	require.NoError(t, err)
	equal(t, got, whole)
}

func TestFileToolsMatchTheNamesOfOtherAgents(t *testing.T) {
	session := func(name, arguments string) entry.Files {
		s := numbered.Session()
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("go on"), chat.Message{
			Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: name, Arguments: arguments}},
		}, chat.ToolResult("c", "ok")))
		files, err := history.DefaultFileTools().Of(s.PathTo(t.Context(), ""))
		require.NoError(t, err)
		return files
	}
	for _, tt := range []struct{ name, arguments, read, modified string }{
		{"Read", `{"file_path":"a.go"}`, "a.go", ""},
		{"readFile", `{"filePath":"a.go"}`, "a.go", ""},
		{"Write", `{"file_path":"a.go","content":"x"}`, "", "a.go"},
		{"Edit", `{"file_path":"a.go","old_string":"x"}`, "", "a.go"},
		{"MultiEdit", `{"file_path":"a.go","edits":[]}`, "", "a.go"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n*** Add File: b.go\n*** End Patch"}`, "", "a.go b.go"},
		{"applyPatch", `{"path":"a.go","patch":"@@"}`, "", "a.go"},
		{"Bash", `{"command":"cat a.go"}`, "", ""},
		{"shell", `{"command":["apply_patch","*** Begin Patch\n*** Update File: a.go\n*** End Patch"]}`, "", "a.go"},
		{"Grep", `{"pattern":"x","path":"a.go"}`, "", ""},
		{"replace", `{"file_path":"a.go","old_string":"x"}`, "", "a.go"},
		{"read_many_files", `{"paths":["a.go","b.go"]}`, "a.go b.go", ""},
		{"text_editor", `{"command":"view","path":"a.go"}`, "a.go", ""},
		{"developer__text_editor", `{"command":"str_replace","path":"a.go","old_str":"x"}`, "", "a.go"},
		{"patch", `{"patchText":"*** Begin Patch\n*** Update File: a.go\n*** End Patch"}`, "", "a.go"},
		{"write_to_file", `{"path":"a.go","content":"x"}`, "", "a.go"},
		{"replace_in_file", `{"path":"a.go","diff":""}`, "", "a.go"},
		{"apply_diff", `{"path":"a.go","diff":""}`, "", "a.go"},
		{"filesystem_read_file", `{"path":"a.go"}`, "a.go", ""},
		{"multi_replace_string_in_file", `{"replacements":[{"filePath":"a.go"},{"filePath":"b.go"},{"filePath":"a.go"}]}`, "", "a.go b.go"},
		{"edit", `{"path":"a.go","edits":[{"oldText":"x","newText":"y"}]}`, "", "a.go"},
		{"todo_write", `{"path":"a.go"}`, "", ""},
		{"mcp__files__read_text_file", `{"file_path":"a.go"}`, "a.go", ""},
		{"functions.write_file", `{"file_path":"a.go"}`, "", "a.go"},
		{"mcp__files__unknown", `{"file_path":"a.go"}`, "", ""},
		{"run_in_terminal", `{"command":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n*** End Patch\nEOF"}`, "", "a.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := session(tt.name, tt.arguments)
			require.Equal(t, tt.read, strings.Join(got.Read, " "))
			require.Equal(t, tt.modified, strings.Join(got.Modified, " "))
		})
	}
}

func TestReadsAndModifiesFindTheFilesInArguments(t *testing.T) {
	for _, tt := range []struct {
		rule, arguments string
		want            []string
	}{
		{"a path is a text", `{"path":"a","x":1}`, []string{"a"}},
		{"paths are a list", `{"path":["a","b"]}`, []string{"a", "b"}},
		{"another argument names the file", `{"file":"a"}`, []string{"a"}},
		{"both arguments are given", `{"file":"a","path":"b"}`, []string{"b", "a"}},
		{"a list of objects names files", `{"path":"a","edits":[{"path":"b"},{"path":"a"},1,"c"]}`, []string{"a", "b"}},
		{"neither argument is given", `{"dir":"a"}`, nil},
		{"the path is a number", `{"path":1}`, nil},
		{"a list of numbers", `{"path":[1]}`, nil},
		{"the arguments are not an object", `"a"`, nil},
		{"the arguments are cut off", `{"path":"a`, nil},
		{"the arguments are empty", ``, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			equal(t, entry.Files{Read: tt.want}, history.Reads("path", "file")(tt.arguments))
			equal(t, entry.Files{Modified: tt.want}, history.Modifies("path", "file")(tt.arguments))
		})
	}
}

func TestOfReturnsTheErrorOfThePath(t *testing.T) {
	broken := errors.New("broken")
	path := iter.Seq2[entry.Entry, error](func(yield func(entry.Entry, error) bool) {
		_ = yield(filePath("r:a")[0], nil) && yield(entry.Entry{}, broken)
	})
	_, err := history.DefaultFileTools().Of(path)
	require.ErrorIs(t, err, broken)
}

func TestTheFilesOfASessionAreTheSameWithAndWithoutCompactions(t *testing.T) {
	messages := recording(t, "importer/testdata/generated.jsonl")
	plain, compacted := talk(t, messages...), numbered.Session()
	from := "" // the last covered entry
	for i, m := range messages {
		require.NoError(t, compacted.Append(t.Context(), m))
		if i%100 != 99 {
			continue
		}
		p, err := newestRound.Find(t.Context(), viewOf(t, compacted), in(100_000))
		require.NoError(t, err)
		c := summary("so far", p.FirstKept)
		covered := list(t, compacted.PathTo(t.Context(), p.FirstKept))
		covered = covered[slices.IndexFunc(covered, func(e entry.Entry) bool { return e.ID == from })+1 : len(covered)-1]
		c.Files, err = history.DefaultFileTools().Of(sessiontest.Along(covered))
		require.NoError(t, err)
		from = covered[len(covered)-1].ID
		require.NoError(t, compacted.Compact(t.Context(), c))
	}
	want, err := history.DefaultFileTools().Of(plain.PathTo(t.Context(), ""))
	require.NoError(t, err)
	require.NotEmpty(t, want.Modified)
	got, err := history.DefaultFileTools().Of(compacted.PathTo(t.Context(), ""))
	require.NoError(t, err)
	equal(t, want, got)
}
