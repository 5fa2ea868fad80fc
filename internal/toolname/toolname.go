// Package toolname recognises the tools of coding agents by name: Read, read_file and mcp__files__readFile are the same
// tool. It also reads the names of files from the text of a patch.
package toolname

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Fold returns a name in lower case without separators, so that different names of the same tool become equal.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// Find returns the value for the tool that a call names: the value of exactly this name, else the first, in the order of
// the keys, whose folded name is the same, else the value for the name without its server's name.
func Find[T any, M ~map[string]T](tools M, name string) (tool T, ok bool) {
	if tool, ok = tools[name]; ok || name == "" {
		return tool, ok
	}
	folded, found := Fold(name), ""
	for key, value := range tools {
		if (!ok || key < found) && Fold(key) == folded {
			tool, found, ok = value, key, true
		}
	}
	if short := withoutServer(name); !ok && short != name {
		return Find(tools, short)
	}
	return tool, ok
}

// patched matches a line that names a file, in the form of Codex or of a unified diff.
var patched = regexp.MustCompile(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)[ \t\r]*$|^\+\+\+ (?:b/)?([^\t\r\n]+)`)

// Patched returns the files that a patch in the arguments of a call names, each once, in order. The arguments are the
// patch itself, or JSON with the patch in one of its strings.
func Patched(arguments string) []string {
	var value any
	if json.Unmarshal([]byte(arguments), &value) != nil { // plain text, or JSON that was cut off
		value = strings.ReplaceAll(arguments, `\n`, "\n")
		if strings.HasPrefix(strings.TrimSpace(arguments), "*** ") {
			value = arguments
		}
	}
	var files []string
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			if i := strings.Index(value, "*** Begin Patch"); i > 0 {
				value = value[i:] // after the shell's command
			}
			for _, m := range patched.FindAllStringSubmatch(value, -1) {
				if file := m[1] + m[2]; file != "/dev/null" && !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		case []any:
			for _, one := range value {
				walk(one)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				walk(value[key])
			}
		}
	}
	walk(value)
	return files
}

// IsPatch reports whether the arguments of a shell call hold a patch in the form of Codex that names files.
func IsPatch(arguments string) bool {
	return strings.Contains(arguments, "apply_patch") && strings.Contains(arguments, "*** Begin Patch") && len(Patched(arguments)) > 0
}
