package stagewise

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
)

// Call is a tool call with its result.
type Call struct {
	chat.ToolCall
	// Result is the text of the result, and Notes name its other parts.
	Result string
	Notes  []string
	// Answered reports whether there is a result: a call that was interrupted has none.
	Answered bool
	// Failed reports whether the tool failed; the result says how.
	Failed bool
}

// Argument returns the first of these arguments that the call has, as text: a string as it is, the members of a list
// joined with commas, anything else as JSON. It returns "" if there is none, or if the arguments are not a JSON object.
func (c Call) Argument(names ...string) string {
	fields := c.arguments()
	for _, name := range names {
		if raw, ok := fields[name]; ok && string(raw) != "null" {
			return plainValue(raw)
		}
	}
	return ""
}

// List returns the members of the first of these arguments that is a list, or nil if none is.
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

// plainValue returns a JSON value as people write it.
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

// ToolLine returns in a few words what a call did, such as "read: go.mod". White space in the line is folded, a long
// line is cut, and a call that failed or has no result is marked. A call for which it returns "" is shown like one of
// an unknown tool.
type ToolLine func(Call) string

// ToolLines maps the names of tools to the functions that make their lines. A call finds its tool by the exact name, or
// else ignoring case, separators and the name of a server: Read is read, MultiEdit is multi_edit, and so is
// mcp__files__multi_edit. Take [DefaultToolLines] and add your own:
//
//	lines := stagewise.DefaultToolLines()
//	lines["deploy"] = func(c stagewise.Call) string { return "deployed: " + c.Argument("target") }
//
// An unknown tool is shown by its name, and never left out.
type ToolLines map[string]ToolLine

// DefaultToolLines returns the lines of tools by the names that oh-my-pi, Claude Code, Codex, Copilot and stagewise
// give them. It returns a new map each time, which the caller may extend.
func DefaultToolLines() ToolLines {
	lines := ToolLines{}
	for kind, line := range map[toolname.Kind]ToolLine{
		toolname.Read: fileLine("read"), toolname.Write: fileLine("wrote"), toolname.Create: fileLine("created"), toolname.Delete: fileLine("deleted"),
		toolname.Edit: editLine, toolname.Patch: patchLine, toolname.Shell: shellLine, toolname.Lint: lintLine, toolname.Ask: askLine,
		toolname.Search: searchLine, toolname.List: fileLine("looked in"), toolname.Todo: todoLine,
	} {
		for _, name := range toolname.Names(kind) {
			lines[name] = line
		}
	}
	return lines
}

// Names of arguments, as agents give them.
var (
	pathArguments   = append(toolname.Paths(), "directory", "dir")
	labelArguments  = []string{"label", "explanation", "description", "command", "cmd", "script"}
	searchArguments = []string{"query", "pattern", "regex", "glob", "q"}
)

// fileLine names a file: [read: path].
func fileLine(verb string) ToolLine {
	return func(c Call) string { return verb + ": " + cmp.Or(c.Argument(pathArguments...), "?") }
}

// editLine names a file and the number of its edits: [edited: path (2 edits)].
func editLine(c Call) string {
	line := "edited: " + cmp.Or(c.Argument(pathArguments...), "?")
	if n := len(c.List("edits", "replacements", "changes")); n > 0 {
		line += " (" + counted(n, "edit") + ")"
	}
	return line
}

// patchLine names the files of a patch: [edited: path, path].
func patchLine(c Call) string {
	if files := toolname.Patched(c.Arguments); len(files) > 0 {
		return "edited: " + strings.Join(files, ", ")
	}
	return editLine(c)
}

// todoLine names the length of a todo list: [listed what is to be done: 3 items].
func todoLine(c Call) string {
	return "listed what is to be done: " + counted(len(c.List("todos", "items", "plan", "tasks")), "item")
}

var (
	problems = regexp.MustCompile(`(?i)(\d+) (error|warning)s?\b`)
	clean    = regexp.MustCompile(`(?i)\bno (?:linting |lint )?(?:errors|issues|problems|diagnostics)\b|\bclean\b`)
)

// shellLine names a command and how it ended, if the result says so: [shell: label → exit 1]. A command that is a patch
// names its files instead.
func shellLine(c Call) string {
	line := "shell: " + cmp.Or(command(c), "?")
	if toolname.IsPatch(c.Arguments) {
		line = patchLine(c)
	}
	if !c.Answered {
		return line
	}
	switch end := endOf(c.Result); {
	case end.timedOut, c.Failed && end.code == "" && spokenTimeOut.MatchString(head(c.Result)+"\n"+tail(c.Result)):
		return line + " → timed out"
	case end.code != "" && end.code != "0":
		return line + " → exit " + end.code
	case c.Failed:
		return line // the error follows
	case end.failed:
		return line + " → ✗"
	case end.code == "0" || end.succeeded:
		return line + " → ✓"
	}
	return line
}

// command returns what a call to a shell is for, or the command. A list of words is joined, without the shell that runs
// them.
func command(c Call) string {
	label := c.Argument(labelArguments...)
	words := c.List("command", "cmd")
	if words == nil || c.Argument(labelArguments[:3]...) != "" {
		return label
	}
	if len(words) == 3 && strings.HasPrefix(plainValue(words[1]), "-") && strings.HasSuffix(plainValue(words[1]), "c") {
		return plainValue(words[2])
	}
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = plainValue(word)
	}
	return strings.Join(texts, " ")
}

// ending is how a command ended, as its result says.
type ending struct {
	code                        string // of its exit; "" if the result names none
	timedOut, failed, succeeded bool
}

const outcome = `(?:(?:the )?(?:command|process|program|shell|script|tool|execution)\b[^\n]{0,40}? )?`

var (
	// exitLine is a line that names the exit code and nothing else.
	exitLine = regexp.MustCompile(`(?im)^\W*` + outcome + `(?:exit(?:ed)?(?: with)?(?:[ _]?(?:code|status))?|return(?:ed)?[ _]?code)["')]*\s*[:=]?\s*(-?\d{1,10})\W*$`)
	// exitTail is a line that ends with the exit code.
	exitTail = regexp.MustCompile(`(?im)\b(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)|exited with|return[ _]?code)["')]*[:= ]+(-?\d{1,10})\W*$`)
	// exitField is a field of JSON that was cut.
	exitField = regexp.MustCompile(`(?i)"(?:exit|return)[_-]?(?:code|status)"\s*:\s*(-?\d{1,10})\b`)
	// timeOutField is a field of JSON that reports a timeout.
	timeOutField = regexp.MustCompile(`(?i)"timed[_-]?out"\s*:\s*true\b`)
	// timeOutLine is a line that reports a timeout and nothing else.
	timeOutLine   = regexp.MustCompile(`(?im)^\W*` + outcome + `timed[ -]?out(?: after [^\n]{1,40})?\W*$`)
	spokenTimeOut = regexp.MustCompile(`(?i)\btimed?[ -]?out\b`)
)

// endOf reads how a command ended from its result: from the fields of JSON, or else from lines at the start, where
// tools put a header, and at the end. The output between them does not count.
func endOf(result string) ending {
	text := strings.TrimSpace(result)
	if strings.HasPrefix(text, "{") {
		var fields map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &fields) == nil {
			return endIn(fields)
		}
		for _, part := range [...]string{tail(text), head(text)} { // cut in its middle
			if timeOutField.MatchString(part) {
				return ending{timedOut: true}
			}
			if all := exitField.FindAllStringSubmatch(part, -1); len(all) > 0 {
				return ending{code: all[len(all)-1][1]}
			}
		}
		return ending{}
	}
	start, end := lines(head(text), 5, true), lines(tail(text), 3, false)
	if timeOutLine.MatchString(start) || timeOutLine.MatchString(end) {
		return ending{timedOut: true}
	}
	if m := exitLine.FindStringSubmatch(start); m != nil {
		return ending{code: m[1]}
	}
	if all := exitTail.FindAllStringSubmatch(end, -1); len(all) > 0 {
		return ending{code: all[len(all)-1][1]}
	}
	if all := exitLine.FindAllStringSubmatch(end, -1); len(all) > 0 {
		return ending{code: all[len(all)-1][1]}
	}
	return ending{}
}

// endIn reads the fields of a JSON object, or those of its metadata.
func endIn(fields map[string]json.RawMessage) ending {
	var e ending
	for name, raw := range fields {
		value := strings.Trim(string(raw), `"`)
		switch toolname.Fold(name) {
		case "exitcode", "exitstatus", "returncode":
			if _, err := strconv.Atoi(value); err == nil && (e.code == "" || e.code == "0") {
				e.code = value
			}
		case "timedout":
			e.timedOut = value == "true"
		case "success", "succeeded":
			e.succeeded, e.failed = e.succeeded || value == "true", e.failed || value == "false"
		}
	}
	if e != (ending{}) {
		return e
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(fields["metadata"], &inner) == nil && inner["metadata"] == nil && inner != nil { // Codex has them there
		return endIn(inner)
	}
	return e
}

// endBytes is how much of the start and of the end of a result is searched for how it ended.
const endBytes = 2000

func head(text string) string { return text[:min(len(text), endBytes)] }
func tail(text string) string { return text[max(0, len(text)-endBytes):] }

// lines returns the first or the last n lines of a text that are not blank.
func lines(text string, n int, first bool) string {
	list := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(list) > n && first {
		list = list[:n]
	} else if len(list) > n {
		list = list[len(list)-n:]
	}
	return strings.Join(list, "\n")
}

// lintLine names the paths and the problems that were found: [lint: paths → 2 errors, 1 warnings].
func lintLine(c Call) string {
	line := "lint: " + cmp.Or(c.Argument(pathArguments...), "all")
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

// askLine names the question and the user's answers: [asked user: title → field: answer; field: answer].
func askLine(c Call) string {
	line := "asked user: " + cmp.Or(c.Argument("title", "question", "prompt", "message"), "?")
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

// searchLine names the query: [searched: "query"].
func searchLine(c Call) string {
	return fmt.Sprintf("searched: %q", plaintext.OneLine(c.Argument(searchArguments...), lineBytes))
}

// lineBytes is the greatest length of a call's line, and errorBytes that of the error in it.
const (
	lineBytes  = 400
	errorBytes = 200
)

// line returns the line of a call, in square brackets.
func (t ToolLines) line(c Call) string {
	var text string
	if f, _ := toolname.Find(t, c.Name); f != nil {
		text = plaintext.OneLine(f(c), lineBytes)
	}
	if text == "" {
		text = "tool-" + cmp.Or(plaintext.OneLine(c.Name, 100), "result")
	}
	switch {
	case c.Failed:
		text += " ✗ " + cmp.Or(plaintext.OneLine(c.Result, errorBytes), "failed")
	case !c.Answered:
		text += " (no result)"
	}
	for _, n := range c.Notes {
		text += " " + n
	}
	return "[" + text + "]"
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
