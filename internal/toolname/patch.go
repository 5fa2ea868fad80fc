package toolname

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// patched matches a line that names a file, in the form of Codex or of a unified diff.
var patched = regexp.MustCompile(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)[ \t\r]*$|^\+\+\+ (?:b/)?([^\t\r\n]+)`)

// Patched returns the files that a patch in the arguments of a call names, each once, in order. The arguments are the
// patch itself, or JSON with the patch in one of its strings.
func Patched(arguments string) []string {
	var files []string
	each(arguments, func(_, text string) {
		for _, m := range patched.FindAllStringSubmatch(text, -1) {
			if file := m[1] + m[2]; file != "/dev/null" && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	})
	return files
}

// IsPatch reports whether the arguments of a shell call hold a patch in the form of Codex that names files.
func IsPatch(arguments string) bool {
	return strings.Contains(arguments, "apply_patch") && strings.Contains(arguments, patchStart) && len(Patched(arguments)) > 0
}

const patchStart = "*** Begin Patch"

// replaced are the folded names of arguments that hold the text that an edit replaces.
var replaced = []string{"oldtext", "oldstring", "oldstr", "old", "oldcontent", "targetcontent", "search"}

// Replaced returns the text that an edit replaces, or several with line feeds between them, "" for any other call. It
// is in an argument, in each of a list of edits, or in the lines of a patch that are removed or stay, in the form of
// Codex, of a unified diff or of blocks of SEARCH and REPLACE.
func Replaced(name, arguments string) string {
	kind, _ := kindOf(name)
	patch := kind == Patch || kind == Shell && IsPatch(arguments)
	if !patch && kind != Edit && kind != Editor {
		return ""
	}
	var old []string
	each(arguments, func(argument, text string) {
		switch {
		case slices.Contains(replaced, Fold(argument)):
			old = append(old, text)
		case patch || Fold(argument) == "diff":
			old = append(old, replacedLines(text)...)
		}
	})
	return strings.Join(old, "\n")
}

// replacedLines returns the lines of a patch that it removes or leaves. Without a header it has none.
func replacedLines(patch string) []string {
	var lines []string
	hunk, search := false, false
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasSuffix(line, " SEARCH"): // <<<<<<< SEARCH in Cline and Roo
			search = true
		case search && strings.HasPrefix(line, "======="):
			search = false
		case search:
			// Roo has the number of the line in a header of its own.
			if line != "-------" && !strings.HasPrefix(line, ":start_line:") && !strings.HasPrefix(line, ":end_line:") {
				lines = append(lines, line)
			}
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "*** Update File: "):
			hunk = true
		case strings.HasPrefix(line, "*** "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
			hunk = false
		case hunk && (strings.HasPrefix(line, "-") || strings.HasPrefix(line, " ")):
			lines = append(lines, line[1:])
		}
	}
	return lines
}

// each calls f with each text in the arguments of a call and the name of its argument, in the order of the names. Arguments
// that are not JSON are one text. A text that has a patch after a shell's command begins with the patch.
func each(arguments string, f func(argument, text string)) {
	var value any
	if json.Unmarshal([]byte(arguments), &value) != nil { // plain text, or JSON that was cut off
		value = strings.ReplaceAll(arguments, `\n`, "\n")
		if strings.HasPrefix(strings.TrimSpace(arguments), "*** ") {
			value = arguments
		}
	}
	var walk func(string, any)
	walk = func(name string, value any) {
		switch value := value.(type) {
		case string:
			f(name, value[max(0, strings.Index(value, patchStart)):])
		case []any:
			for _, one := range value {
				walk(name, one)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				walk(key, value[key])
			}
		}
	}
	walk("", value)
}
