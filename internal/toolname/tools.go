package toolname

import (
	"slices"
	"strings"
)

// Kind is the purpose of a tool.
type Kind int

// The kinds of tools that are known.
const (
	Read   Kind = iota + 1
	Write       // a whole file
	Create      // a new file
	Delete      // a file
	Edit        // parts of a file
	Patch       // files, by a text that names them
	Shell
	Lint
	Ask // the user
	Search
	List // a folder
	Todo
)

// names are the names of the tools of Claude Code, Codex, pi and oh-my-pi, Copilot, stagewise and common MCP servers, by
// kind. Names that are equal once folded are listed once.
var names = map[Kind][]string{
	Read: {
		"read", "read_file", "view", "view_file", "cat", "open_file", "fs_read", "read_text_file", "file_read", "read_file_contents",
		"get_file_contents",
	},
	Write:  {"write", "write_file", "fs_write"},
	Create: {"create", "create_file"},
	Delete: {"delete", "delete_file"},
	Edit:   {"edit", "edit_file", "multi_edit", "str_replace", "str_replace_editor", "replace_string_in_file", "notebook_edit", "search_replace"},
	Patch:  {"apply_patch"},
	Shell: {
		"bash", "shell", "exec", "exec_command", "local_shell", "run_in_terminal", "execute_command", "execute_shell_command", "run_shell_command",
		"run_terminal_cmd", "bash_execution",
	},
	Lint:   {"lint", "get_linting_diagnostics", "get_errors"},
	Ask:    {"ask", "ask_user", "ask_user_question", "ask_user_questions"},
	Search: {"search", "grep", "grep_search", "glob", "find", "web_search"},
	List:   {"ls", "list", "list_dir", "list_files", "list_directory"},
	Todo:   {"todo_write", "update_plan"},
}

// Names returns the names of the tools of a kind.
func Names(k Kind) []string { return slices.Clone(names[k]) }

// Is reports whether a name is that of a tool of a kind.
func Is(name string, k Kind) bool {
	listed := func(name string) bool {
		return slices.ContainsFunc(names[k], func(known string) bool { return Fold(known) == Fold(name) })
	}
	return listed(name) || listed(withoutServer(name))
}

// Paths returns the names of arguments that hold paths of files.
func Paths() []string {
	return []string{
		"path", "file_path", "filePath", "file", "filename", "relative_path", "target_file", "notebook_path", "absolute_path", "paths", "files",
	}
}

// withoutServer returns a tool's name without its server's name: "read_file" for "mcp__files__read_file",
// "files.read_file" and "functions/read_file". A name without a server's name is returned as it is.
func withoutServer(name string) string {
	if i := strings.LastIndex(name, "__"); i > 0 && i+2 < len(name) {
		return name[i+2:]
	}
	if i := strings.LastIndexAny(name, "./:"); i > 0 && i+1 < len(name) {
		return name[i+1:]
	}
	return name
}
