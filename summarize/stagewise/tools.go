package stagewise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
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
func (c Call) Argument(names ...string) string { return c.joined(", ", names...) }

func (c Call) joined(separator string, names ...string) string {
	fields := c.arguments()
	for _, name := range names {
		if raw, ok := fields[name]; ok && string(raw) != "null" {
			return plainValue(raw, separator)
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
	_ = json.Unmarshal([]byte(c.Arguments), &fields) // or the model was cut off
	return fields
}

// plainValue returns a JSON value as people write it, with a separator between the members of a list.
func plainValue(raw json.RawMessage, separator string) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		texts := make([]string, len(list))
		for i, one := range list {
			texts[i] = plainValue(one, separator)
		}
		return strings.Join(texts, separator)
	}
	return string(raw)
}

// ToolLines maps the names of tools to functions that return in a few words what a call did, such as "read: go.mod". White
// space in the line is folded, a long line is cut, and a call that failed or has no result is marked. A call for which a
// function returns "" is shown like one of an unknown tool. A call finds its tool by the exact name, or
// else ignoring case, separators and the name of a server: Read is read, MultiEdit is multi_edit, and so is
// mcp__files__multi_edit. Take [DefaultToolLines] and add your own:
//
//	lines := stagewise.DefaultToolLines()
//	lines["deploy"] = func(c stagewise.Call) string { return "deployed: " + c.Argument("target") }
//
// An unknown tool is shown by its name, and never left out.
type ToolLines map[string]func(Call) string

// DefaultToolLines returns the lines of stagewise's tools as stagewise writes them, and of tools by the names that
// oh-my-pi, Claude Code, Codex and Copilot give them. It returns a new map each time, which the caller may extend.
func DefaultToolLines() ToolLines {
	lines := ToolLines{}
	for kind, line := range map[toolname.Kind]func(Call) string{
		toolname.Read: argumentLine("read: $path", ""), toolname.Write: writeLine, toolname.Create: argumentLine("created: $path", ""),
		toolname.Delete: argumentLine("deleted: $path", ""), toolname.Edit: argumentLine("edited: $path", " ($edits)"),
		toolname.Editor: editorLine, toolname.Patch: patchLine, toolname.Shell: shellLine,
		toolname.Lint: lintLine, toolname.Ask: askLine, toolname.Search: searchLine,
		toolname.List: argumentLine("looked in: $path", ""), toolname.Todo: todoLine,
	} {
		for _, name := range toolname.Names(kind) {
			lines[name] = line
		}
	}
	maps.Copy(lines, ToolLines{ // names as stagewise spells them
		"copy":                copyLine,
		"glob":                argumentLine("glob: $pattern", ""),
		"grepSearch":          argumentLine(`searched: "$query"`, " in $include_file_pattern"),
		"multiEdit":           argumentLine("edited: $path", " (${#edits} edits)"),
		"executeSandboxJs":    argumentLine("sandbox: $explanation", ""),
		"listLibraryDocs":     argumentLine("docs-search: $name", ""),
		"searchInLibraryDocs": argumentLine("docs-read: $libraryId → $topic", ""),
	})
	lines["Glob"], lines["MultiEdit"] = searchLine, lines["multi_edit"] // as Claude Code spells them
	return lines
}

// pathArguments are the names of arguments that hold a path.
var pathArguments = append(toolname.Paths(), "directory", "dir")

// argumentLine returns a line in which the call's arguments stand for their names: "copied: $input_path". $path is the
// file or folder, $edits counts the edits ("1 edit"), and ${#edits} is their number. The second part of the line is left
// out if the call failed or has no such arguments.
func argumentLine(format, more string) func(Call) string {
	return func(c Call) string {
		complete := !c.Failed
		expand := func(name string) string {
			value := c.Argument(name)
			switch name {
			case "path":
				value = c.Argument(pathArguments...)
			case "edits", "#edits":
				if n := len(c.List("edits", "replacements", "changes")); n > 0 && name == "edits" {
					value = counted(n, "edit")
				} else if n > 0 {
					value = strconv.Itoa(n)
				}
			}
			complete = complete && value != ""
			return cmp.Or(value, "?")
		}
		line, rest := os.Expand(format, expand), os.Expand(more, expand)
		if complete {
			line += rest
		}
		return line
	}
}

// writeLine names a file, and whether it is new if the result's message says so.
func writeLine(c Call) string {
	created := strings.Contains(fields(c.Result)["message"], "created") && !c.Failed
	return map[bool]string{false: "wrote", true: "created"}[created] + argumentLine(": $path", "")(c)
}

// editorLine names the file that an editor shows, makes or edits, as its command says.
func editorLine(c Call) string {
	done := cmp.Or(map[string]string{"view": "read", "create": "created", "write": "wrote"}[c.Argument("command")], "edited")
	return argumentLine(done+": $path", "")(c)
}

// copyLine names a file or folder and where it was copied or moved to.
func copyLine(c Call) string {
	moved := c.Argument("move") == "true"
	return map[bool]string{false: "copied", true: "moved"}[moved] + argumentLine(": $input_path → $output_path", "")(c)
}

// patchLine names the files of a patch: [edited: path, path].
func patchLine(c Call) string {
	if files := toolname.Patched(c.Arguments); len(files) > 0 {
		return "edited: " + strings.Join(files, ", ")
	}
	return argumentLine("edited: $path", " ($edits)")(c)
}

// todoLine names the length of a todo list: [listed what is to be done: 3 items].
func todoLine(c Call) string {
	return "listed what is to be done: " + counted(len(c.List("todos", "items", "plan", "tasks")), "item")
}

// searchLine names the query: [searched: "query"].
func searchLine(c Call) string {
	return fmt.Sprintf("searched: %q", plaintext.OneLine(c.Argument("query", "pattern", "regex", "glob", "q"), lineBytes))
}

// shellLine names a command and how it ended, if the result says so: [shell: label → exit 1]. A command that is a patch
// names its files instead.
func shellLine(c Call) string {
	line := "shell: " + cmp.Or(command(c), "?")
	if toolname.IsPatch(c.Arguments) {
		line = patchLine(c)
	}
	end := fields(strings.TrimSpace(c.Result))
	code, err := strconv.Atoi(cmp.Or(end["exitcode"], end["exitstatus"], end["returncode"]))
	succeeded := cmp.Or(end["success"], end["succeeded"])
	switch {
	case end["timedout"] == "true", c.Failed && err != nil && spokenTimeOut.MatchString(ends(c.Result)):
		return line + " → timed out"
	case err == nil && code != 0:
		return line + " → exit " + strconv.Itoa(code)
	case c.Failed:
		return line // the error follows
	case succeeded == "false":
		return line + " → ✗"
	case err == nil || succeeded == "true":
		return line + " → ✓"
	}
	return line
}

// command returns what a call to a shell is for, or the command. A list of words is joined, without the shell that runs
// them.
func command(c Call) string {
	label := c.Argument("label", "explanation", "description")
	if words := c.List("command", "cmd"); len(words) == 3 && shellFlag.Match(words[1]) {
		return cmp.Or(label, plainValue(words[2], " "))
	}
	return cmp.Or(label, c.joined(" ", "command", "cmd", "script"))
}

const outcome = `(?:(?:the )?(?:command|process|program|shell|script|tool|execution)\b[^\n]{0,40}? )?`

var (
	// exitLine is a line that names the exit code and nothing else.
	exitLine = regexp.MustCompile(`(?im)^\W*` + outcome + `(?:exit(?:ed)?(?: with)?(?:[ _]?(?:code|status))?|return(?:ed)?[ _]?code)["')]*\s*[:=]?\s*(-?\d{1,10})\W*$`)
	// exitTail is a line that ends with the exit code.
	exitTail = regexp.MustCompile(`(?im)\b(?:exit(?:ed)?(?: with)?[ _]?(?:code|status)|exited with|return[ _]?code)["')]*[:= ]+(-?\d{1,10})\W*$`)
	// timeOutLine is a line that reports a timeout and nothing else.
	timeOutLine   = regexp.MustCompile(`(?im)^\W*` + outcome + `timed[ -]?out(?: after [^\n]{1,40})?\W*$`)
	spokenTimeOut = regexp.MustCompile(`(?i)\btimed?[ -]?out\b`)
	// shellFlag is the argument of a shell before the command that it runs, as JSON.
	shellFlag = regexp.MustCompile(`^"-.*c"$`)
	// field is a field of JSON.
	field = regexp.MustCompile(`"([\w-]+)"\s*:\s*"?([\w-]+)`)
)

// fields returns what a result says, by folded names: the fields of a JSON object, with those of its metadata, where
// Codex has the exit code, and of its summary. If the object was cut in its middle, they are those at its start and end.
// Text says how a command ended, in lines at its start, where tools put a header, or at its end. The output between them
// does not count.
func fields(result string) map[string]string {
	var members map[string]json.RawMessage
	found := map[string]string{}
	switch err := json.Unmarshal([]byte(result), &members); {
	case err == nil:
		_ = json.Unmarshal(members["metadata"], &members)
		_ = json.Unmarshal(members["summary"], &members)
		for name, raw := range members {
			if string(raw) != "null" {
				found[toolname.Fold(name)] = strings.Trim(string(raw), `"`)
			}
		}
	case strings.HasPrefix(result, "{"):
		for _, m := range field.FindAllStringSubmatch(ends(result), -1) {
			found[toolname.Fold(m[1])] = m[2]
		}
	default:
		lines := strings.Split(ends(result), "\n")
		first, last := strings.Join(lines[:min(5, len(lines))], "\n"), strings.Join(lines[max(0, len(lines)-3):], "\n")
		found["timedout"] = strconv.FormatBool(timeOutLine.MatchString(first + "\n" + last))
		for _, m := range slices.Concat(exitLine.FindAllStringSubmatch(last, -1), exitTail.FindAllStringSubmatch(last, -1),
			exitLine.FindAllStringSubmatch(first, 1)) {
			found["exitcode"] = m[1]
		}
	}
	return found
}

// ends returns the start and the end of a text.
func ends(text string) string {
	return text[:min(len(text), endBytes)] + "\n" + text[max(0, len(text)-endBytes):]
}

var (
	problems = regexp.MustCompile(`(?i)(\d+) (error|warning)s?\b`)
	clean    = regexp.MustCompile(`(?i)\bno (?:linting |lint )?(?:errors|issues|problems|diagnostics)\b|\bclean\b`)
)

// lintLine names the paths and the problems that were found: [lint: paths → 2 errors, 1 warnings]. They are in the
// result's summary, as in stagewise, or in its text.
func lintLine(c Call) string {
	line := "lint: " + cmp.Or(c.Argument(pathArguments...), "all")
	if !c.Answered || c.Failed {
		return line
	}
	report := fields(c.Result)
	if total := report["totalissues"]; total != "" && total != "0" {
		return fmt.Sprintf("%s → %s errors, %s warnings", line, report["errors"], report["warnings"])
	}
	var found []string
	for _, m := range problems.FindAllStringSubmatch(c.Result, 8) {
		if m[1] != "0" && report["totalissues"] == "" {
			found = append(found, strings.ToLower(m[0]))
		}
	}
	if len(found) > 0 {
		return line + " → " + strings.Join(slices.Compact(found), ", ")
	}
	text := strings.TrimSpace(c.Result)
	if report["totalissues"] == "0" || text == "" || text == "[]" || clean.MatchString(text) || problems.MatchString(text) {
		return line + " → clean"
	}
	return line
}

// askLine names the question and the user's answers: [asked user: title → field: answer; field: answer]. A field of one
// of stagewise's forms is named by its label, and a form that was not completed has the reason in place of answers.
func askLine(c Call) string {
	line := "asked user: " + cmp.Or(c.Argument("title", "question", "prompt", "message"), "?")
	if !c.Answered || c.Failed {
		return line
	}
	result, separator := fields(c.Result), ", "
	switch completed := result["completed"]; {
	case completed == "false", completed == "true" && result["cancelled"] == "true":
		return line + " → " + cmp.Or(result["cancelreason"], "cancelled")
	case completed == "true":
		separator = "," // as JavaScript joins a list
	}
	answers := json.RawMessage(cmp.Or(result["answers"], c.Result))
	decoder := json.NewDecoder(bytes.NewReader(answers))
	if brace, _ := decoder.Token(); brace != json.Delim('{') {
		return line + " → " + plainValue(answers, separator)
	}
	var form struct {
		Steps []struct {
			Fields []struct{ QuestionID, Label string }
		}
	}
	_ = json.Unmarshal([]byte(c.Arguments), &form)
	labels := map[any]string{}
	for _, step := range form.Steps {
		for _, f := range step.Fields {
			labels[f.QuestionID] = f.Label
		}
	}
	var list []string
	var value json.RawMessage
	for name, _ := decoder.Token(); decoder.Decode(&value) == nil; name, _ = decoder.Token() {
		list = append(list, cmp.Or(labels[name], fmt.Sprint(name))+": "+plainValue(value, separator))
	}
	return line + " → " + strings.Join(list, "; ")
}

// Greatest lengths of a call's line, of the error in it, and of the start and the end of a result that say how a command
// ended.
const lineBytes, errorBytes, endBytes = 400, 200, 2000

// line returns the line of a call, in square brackets.
func (t ToolLines) line(c Call) string {
	var text string
	if f, _ := toolname.Finder(t)(c.Name); f != nil {
		text = plaintext.OneLine(f(c), lineBytes)
	}
	text = cmp.Or(text, "tool-"+cmp.Or(plaintext.OneLine(c.Name, 100), "result"))
	switch {
	case c.Failed:
		text += " ✗ " + cmp.Or(plaintext.OneLine(c.Result, errorBytes), "failed")
	case !c.Answered:
		text += " (no result)"
	}
	return "[" + strings.Join(append([]string{text}, c.Notes...), " ") + "]"
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
