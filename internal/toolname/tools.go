package toolname

import (
	"encoding/json"
	"maps"
	"slices"
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
	Editor      // of files, by its argument command: view, create or an edit
	Patch       // files, by a text that names them
	Shell
	Lint
	Ask // the user
	Search
	List // a folder
	Todo
)

// names are the names of the tools of Claude Code, Codex, Gemini CLI, pi and oh-my-pi, Copilot, Cursor, Windsurf, Cline,
// Roo, opencode, goose, crush, Zed, Amp, Droid, Kimi, OpenHands, SWE-agent, stagewise and common MCP servers, by kind.
// Names that are equal once folded are listed once.
var names = map[Kind][]string{
	Read: {
		"read", "read_file", "view", "view_file", "cat", "open_file", "fs_read", "read_text_file", "file_read", "read_file_contents",
		"get_file_contents", "read_many_files", "read_multiple_files",
	},
	Write:  {"write", "write_file", "write_to_file", "fs_write", "save_file"},
	Create: {"create", "create_file", "create_new_file"},
	Delete: {"delete", "delete_file"},
	Edit: {
		"edit", "edit_file", "multi_edit", "replace", "replace_in_file", "replace_file_content", "multi_replace_file_content",
		"str_replace", "str_replace_file", "replace_string_in_file", "multi_replace_string_in_file", "insert_edit_into_file", "notebook_edit",
		"edit_notebook_file", "search_replace", "search_and_replace", "insert_content", "apply_diff", "edit_existing_file",
	},
	Editor: {"text_editor", "file_editor", "str_replace_editor", "str_replace_based_edit_tool"},
	Patch:  {"apply_patch", "patch"},
	Shell: {
		"bash", "shell", "exec", "exec_command", "local_shell", "run_in_terminal", "execute_command", "execute_shell_command", "run_shell_command",
		"run_terminal_cmd", "run_command", "execute_bash", "bash_execution", "terminal", "powershell", "launch_process",
	},
	Lint:   {"lint", "get_linting_diagnostics", "get_errors"},
	Ask:    {"ask", "ask_user", "ask_user_question", "ask_user_questions", "ask_followup_question"},
	Search: {"search", "grep", "grep_search", "glob", "find", "web_search", "search_files", "search_file_content", "file_search"},
	List:   {"ls", "list", "list_dir", "list_files", "list_directory"},
	Todo:   {"todo_write", "update_plan", "write_todos", "update_todo_list"},
}

// kindOf returns the kind of the tool of a name.
var kindOf = Finder(byName(names))

func byName(names map[Kind][]string) map[string]Kind {
	kinds := map[string]Kind{}
	for kind, list := range names {
		for _, name := range list {
			kinds[name] = kind
		}
	}
	return kinds
}

// Names returns the names of the tools of a kind.
func Names(k Kind) []string { return slices.Clone(names[k]) }

// Is reports whether a name is that of a tool of a kind.
func Is(name string, k Kind) bool {
	kind, ok := kindOf(name)
	return ok && kind == k
}

// Paths returns the names of arguments that hold paths of files.
func Paths() []string {
	return []string{
		"path", "file_path", "filePath", "file", "filename", "relative_path", "target_file", "notebook_path", "absolute_path", "AbsolutePath",
		"TargetFile", "paths", "file_paths", "files", "include",
	}
}

// Named returns the texts in these arguments of a call, each once, and then those in the objects of a list.
func Named(text string, arguments []string) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil // the model was cut off, or wrote no JSON
	}
	var paths []string
	add := func(more ...string) {
		for _, path := range more {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	for _, name := range arguments {
		var one string
		var more []string
		if json.Unmarshal(object[name], &one) == nil {
			add(one)
		} else if json.Unmarshal(object[name], &more) == nil {
			add(more...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var items []json.RawMessage
		_ = json.Unmarshal(object[name], &items) // or it is not a list
		for _, item := range items {
			if len(item) > 0 && item[0] == '{' {
				add(Named(string(item), arguments)...)
			}
		}
	}
	return paths
}

// The tools of package recall, which read and search a session.
const (
	ReadSession   = "read_session"
	SearchSession = "search_session"
)

// IsLookUp reports whether a tool is one of these. What they return was said before: it is the first to be cleared, and
// no summary repeats it as new.
func IsLookUp(tool string) bool { return tool == ReadSession || tool == SearchSession }
