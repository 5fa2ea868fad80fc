package toolname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/toolname"
)

func TestNamesMatchIgnoringCaseAndSeparators(t *testing.T) {
	tools := map[string]int{"read_file": 1, "Read": 2, "read": 3, "multi-edit": 4}
	for name, want := range map[string]int{
		"read_file": 1, "readFile": 1, "READ FILE": 1, "Read": 2, "read": 3, "READ": 2, "MultiEdit": 4, "reader": 0, "": 0, "-": 0,
		"mcp__files__read_file": 1, "mcp__files__readFile": 1, "functions.read_file": 1, "server/MultiEdit": 4, "mcp__files__": 0, "__": 0, "a.": 0,
		"files_read_file": 1, "files-read-file": 1, "my_files_readFile": 1, "files_multi_edit": 4, "mcp__my_files__x_read_file": 1,
		"todo_read": 0, "unread_file": 0, "read_file_": 1, "x_": 0, "file": 0,
	} {
		got, ok := toolname.Finder(tools)(name)
		require.Equal(t, want, got, name)
		require.Equal(t, want > 0, ok, name)
	}
}

func TestPatchNamesItsFiles(t *testing.T) {
	for _, c := range []struct {
		rule, arguments string
		want            []string
	}{
		{"a patch in a field", `{"input":"*** Begin Patch\n*** Update File: a b.go\n*** Move to: c.go\n@@\n-x\n+y\n*** Add File: d.go\n+z\n*** Delete File: e.go\n*** End Patch"}`, []string{"a b.go", "c.go", "d.go", "e.go"}},
		{"a patch as plain text", "*** Begin Patch\r\n*** Update File: a.go\r\n*** End Patch", []string{"a.go"}},
		{"a patch in a shell command", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n*** End Patch\nEOF"]}`, []string{"a.go"}},
		{"a unified diff", `{"patch":"--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n--- /dev/null\n+++ b/y.go\n--- a/z.go\n+++ /dev/null\n"}`, []string{"x.go", "y.go"}},
		{"each file is named once", `{"a":"*** Update File: a.go","b":["*** Update File: a.go"]}`, []string{"a.go"}},
		{"JSON that was cut off", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@`, []string{"a.go"}},
		{"arguments without a patch", `{"input":"hello"}`, nil},
	} {
		t.Run(c.rule, func(t *testing.T) { require.Equal(t, c.want, toolname.Patched(c.arguments)) })
	}
}

func TestACommandMayBeAPatch(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{"command":["apply_patch","*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch"]}`:          true,
		`{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\nEOF"]}`: true,
		`{"command":"grep apply_patch ."}`:            false,
		`{"command":"echo '*** Begin Patch'"}`:        false,
		`{"command":"apply_patch '*** Begin Patch'"}`: false,
	} {
		require.Equal(t, want, toolname.IsPatch(arguments), arguments)
	}
}

func TestCommonAgentsToolsAreOfAKind(t *testing.T) {
	for name, want := range map[string]toolname.Kind{
		"replace": toolname.Edit, "read_many_files": toolname.Read, // Gemini CLI
		"text_editor": toolname.Editor, "developer__text_editor": toolname.Editor, // goose
		"patch":         toolname.Patch,                                   // opencode
		"write_to_file": toolname.Write, "replace_in_file": toolname.Edit, // Cline
		"apply_diff":           toolname.Edit, // Roo
		"filesystem_read_file": toolname.Read, // a server's name before one underscore
		"ReadFile":             toolname.Read, "StrReplaceFile": toolname.Edit, "copilot_readFile": toolname.Read, "ApplyPatch": toolname.Patch,
		"multi_replace_string_in_file": toolname.Edit, "str_replace_based_edit_tool": toolname.Editor, "execute_bash": toolname.Shell,
	} {
		require.True(t, toolname.Is(name, want), name)
	}
	for _, name := range []string{"todo_write", "task_create", "web_search", "memory_patch", "github_search"} {
		for _, kind := range []toolname.Kind{toolname.Write, toolname.Create, toolname.Edit, toolname.Patch, toolname.Read} {
			require.False(t, toolname.Is(name, kind), name)
		}
	}
}

func TestAnEditSaysWhatItReplaces(t *testing.T) {
	for _, c := range []struct{ rule, name, arguments, want string }{
		{"old_string", "Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, "x"},
		{"oldText", "edit", `{"path":"a.go","oldText":"x","newText":"y"}`, "x"},
		{"oldString", "edit", `{"filePath":"a.go","oldString":"x","newString":"y"}`, "x"},
		{"old_str of an editor", "developer__text_editor", `{"command":"str_replace","path":"a.go","old_str":"x","new_str":"y"}`, "x"},
		{"a list of edits", "edit", `{"path":"a.go","edits":[{"oldText":"x","newText":"y"},{"oldText":"z","newText":""}]}`, "x\nz"},
		{"a list of replacements in files", "multi_replace_string_in_file", `{"replacements":[{"filePath":"a.go","oldString":"x"},{"filePath":"b.go","oldString":"z"}]}`, "x\nz"},
		{"a patch of Codex", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: n.go\n+package n\n*** Update File: a.go\n@@ func a\n stays\n-goes\n+comes\n*** End Patch"}`, "stays\ngoes"},
		{"a patch as plain text", "apply_patch", "*** Begin Patch\n*** Update File: a.go\n@@\n-goes\n+comes\n*** End Patch", "goes"},
		{"a patch in a shell command", "shell", `{"command":["apply_patch","*** Begin Patch\n*** Update File: a.go\n-goes\n+comes\n*** End Patch"]}`, "goes"},
		{"a unified diff", "patch", `{"patchText":"--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n stays\n-goes\n+comes\n"}`, "stays\ngoes"},
		{"blocks of SEARCH and REPLACE", "replace_in_file", `{"path":"a.go","diff":"<<<<<<< SEARCH\ngoes\n=======\ncomes\n>>>>>>> REPLACE\n"}`, "goes"},
		{"blocks with line numbers", "apply_diff", `{"path":"a.go","diff":"<<<<<<< SEARCH\n:start_line:7\n-------\ngoes\n=======\ncomes\n>>>>>>> REPLACE"}`, "goes"},
		{"a new file replaces nothing", "write_to_file", `{"path":"a.go","content":"x"}`, ""},
		{"a command that is no patch replaces nothing", "bash", `{"command":"sed -i s/old_str/x/ a.go"}`, ""},
		{"another tool replaces nothing", "search", `{"old_string":"x"}`, ""},
	} {
		t.Run(c.rule, func(t *testing.T) { require.Equal(t, c.want, toolname.Replaced(c.name, c.arguments)) })
	}
}

func TestEachNameIsOfOneKind(t *testing.T) {
	seen := map[string]toolname.Kind{}
	for k := toolname.Read; k <= toolname.Todo; k++ {
		require.NotEmpty(t, toolname.Names(k))
		for _, name := range toolname.Names(k) {
			require.Zero(t, seen[toolname.Fold(name)], name)
			seen[toolname.Fold(name)] = k
			require.True(t, toolname.Is(name, k), name)
			require.True(t, toolname.Is("mcp__server__"+name, k), name)
		}
	}
	require.False(t, toolname.Is("read_mail", toolname.Read))
}
