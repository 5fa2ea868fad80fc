package summarize

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Call is a tool call with what came of it.
type Call struct {
	chat.ToolCall
	// Result is the text of the result, Notes name what else it holds.
	Result string
	Notes  []string
	// Answered tells that there is a result: a call that was cut short has none.
	Answered bool
	// Failed tells that the tool failed; the result says how.
	Failed bool
}

// Argument gives the first of these arguments that the call has, as text: a text itself, the members of a list joined with
// commas, anything else as JSON. It is "" where there is none, or where the arguments are no JSON object.
func (c Call) Argument(names ...string) string {
	fields := c.arguments()
	for _, name := range names {
		if raw, ok := fields[name]; ok && string(raw) != "null" {
			return plainValue(raw)
		}
	}
	return ""
}

// List gives the members of the first of these arguments that is a list; nil where there is none.
func (c Call) List(names ...string) []json.RawMessage {
	fields := c.arguments()
	for _, name := range names {
		var list []json.RawMessage
		if json.Unmarshal(fields[name], &list) == nil && list != nil {
			return list
		}
	}
	return nil
}

func (c Call) arguments() map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Arguments), &fields) != nil {
		return nil // the model was cut off
	}
	return fields
}

// plainValue is a JSON value as people write it.
func plainValue(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		texts := make([]string, len(list))
		for i, one := range list {
			texts[i] = plainValue(one)
		}
		return strings.Join(texts, ", ")
	}
	return string(raw)
}

// ToolLine tells in a few words what a call did, such as "read: go.mod". White space in them is folded and what is long is
// cut; what failed, or has no result, is marked. "" is as if the tool were unknown.
type ToolLine func(Call) string

// ToolLines are the serialisers of tools, by the names of the tools. Take [DefaultToolLines] and add your own:
//
//	lines := summarize.DefaultToolLines()
//	lines["deploy"] = func(c summarize.Call) string { return "deployed: " + c.Argument("target") }
//
// A tool that is not among them is shown by its name, and never left out.
type ToolLines map[string]ToolLine

// DefaultToolLines knows tools by the names that agents give them. It is the caller's to extend.
func DefaultToolLines() ToolLines {
	lines := ToolLines{}
	for line, names := range map[*ToolLine][]string{
		new(fileLine("read")):      {"read", "read_file", "readFile", "view", "cat"},
		new(fileLine("wrote")):     {"write", "write_file", "writeFile"},
		new(fileLine("created")):   {"create", "create_file", "createFile"},
		new(fileLine("deleted")):   {"delete", "delete_file", "deleteFile"},
		new(ToolLine(editLine)):    {"edit", "edit_file", "multi_edit", "multiEdit", "str_replace", "replace_string_in_file", "apply_patch"},
		new(ToolLine(shellLine)):   {"bash", "shell", "exec", "run_in_terminal", "execute_command", "executeShellCommand"},
		new(ToolLine(lintLine)):    {"lint", "getLintingDiagnostics", "get_errors"},
		new(ToolLine(askLine)):     {"ask", "ask_user", "askUser", "askUserQuestions"},
		new(ToolLine(searchLine)):  {"search", "grep", "grep_search", "grepSearch", "glob", "find", "web_search"},
		new(fileLine("looked in")): {"ls", "list", "list_dir", "listFiles"},
	} {
		for _, name := range names {
			lines[name] = *line
		}
	}
	return lines
}

// Names of arguments, as agents give them.
var (
	pathArguments   = []string{"path", "file_path", "filePath", "file", "filename", "relative_path", "paths", "files", "directory"}
	labelArguments  = []string{"label", "explanation", "description", "command", "cmd", "script"}
	searchArguments = []string{"query", "pattern", "regex", "glob", "q"}
)

// fileLine tells of a file: [read: path].
func fileLine(verb string) ToolLine {
	return func(c Call) string { return verb + ": " + or(c.Argument(pathArguments...), "?") }
}

// editLine tells of a file and its edits: [edited: path (2 edits)].
func editLine(c Call) string {
	line := "edited: " + or(c.Argument(pathArguments...), "?")
	if n := len(c.List("edits", "replacements", "changes")); n > 0 {
		line += " (" + counted(n, "edit") + ")"
	}
	return line
}

var (
	exitCode = regexp.MustCompile(`(?i)"?\bexit(?:ed with)?[ _]?(?:code|status)"?[:= ]+(-?\d{1,10})`)
	timedOut = regexp.MustCompile(`(?i)\btimed?[ -]?out\b`)
	problems = regexp.MustCompile(`(?i)(\d+) (error|warning)s?\b`)
	clean    = regexp.MustCompile(`(?i)\bno (?:linting |lint )?(?:errors|issues|problems|diagnostics)\b|\bclean\b`)
)

// shellLine tells of a command and how it ended: [shell: label → exit 1]. The end of the output says that.
func shellLine(c Call) string {
	line := "shell: " + or(c.Argument(labelArguments...), "?")
	if !c.Answered {
		return line
	}
	end := c.Result[max(0, len(c.Result)-2000):]
	codes := exitCode.FindAllStringSubmatch(end, -1)
	switch {
	case len(codes) > 0 && codes[len(codes)-1][1] != "0":
		return line + " → exit " + codes[len(codes)-1][1]
	case len(codes) == 0 && timedOut.MatchString(end) && c.Failed:
		return line + " → timed out"
	case c.Failed:
		return line
	}
	return line + " → ✓"
}

// lintLine tells what was checked and what came out: [lint: paths → 2 errors, 1 warnings].
func lintLine(c Call) string {
	line := "lint: " + or(c.Argument(pathArguments...), "all")
	if !c.Answered || c.Failed {
		return line
	}
	var found []string
	for _, m := range problems.FindAllStringSubmatch(c.Result, 8) {
		if m[1] != "0" {
			found = append(found, strings.ToLower(m[0]))
		}
	}
	if len(found) > 0 {
		return line + " → " + strings.Join(slices.Compact(found), ", ")
	}
	if result := strings.TrimSpace(c.Result); result == "" || result == "[]" || clean.MatchString(result) || problems.MatchString(result) {
		return line + " → clean"
	}
	return line
}

// askLine tells what the user was asked and said: [asked user: title → field: answer; field: answer].
func askLine(c Call) string {
	line := "asked user: " + or(c.Argument("title", "question", "prompt", "message"), "?")
	if !c.Answered || c.Failed {
		return line
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Result), &fields) != nil {
		return line + " → " + c.Result
	}
	if nested := fields["answers"]; nested != nil && json.Unmarshal(nested, &fields) == nil {
		delete(fields, "answers")
	}
	answers := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		answers = append(answers, name+": "+plainValue(fields[name]))
	}
	return line + " → " + strings.Join(answers, "; ")
}

// searchLine tells what was looked for: [searched: "query"].
func searchLine(c Call) string {
	return fmt.Sprintf("searched: %q", oneLine(c.Argument(searchArguments...), lineBytes))
}

// lineBytes is how long the line of a call may be, errorBytes what it says of a failure.
const (
	lineBytes  = 400
	errorBytes = 200
)

// line is the note of a call, in square brackets.
func (t ToolLines) line(c Call) string {
	var text string
	if f := t[c.Name]; f != nil {
		text = oneLine(f(c), lineBytes)
	}
	if text == "" {
		text = "tool-" + or(oneLine(c.Name, 100), "result")
	}
	switch {
	case c.Failed:
		text += " ✗ " + or(oneLine(c.Result, errorBytes), "failed")
	case !c.Answered:
		text += " (no result)"
	}
	for _, n := range c.Notes {
		text += " " + n
	}
	return "[" + text + "]"
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
