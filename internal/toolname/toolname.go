// Package toolname recognises the tools of coding agents by name: Read, read_file and mcp__files__readFile are the same
// tool. It also reads the names of files from the text of a patch.
package toolname

import (
	"regexp"
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

// Finder returns a function that returns the value for the tool that a call names: the value of exactly this name, else
// the first, in the order of the keys, whose folded name is the same, else the value for the name without its server's
// name: "read_file" for "mcp__files__read_file", "files.read_file", "functions/read_file" and "files_read_file".
func Finder[T any, M ~map[string]T](tools M) func(name string) (T, bool) {
	folded := make(map[string]string, len(tools)) // the first key of each folded name
	for key := range tools {
		name := Fold(key)
		if first, ok := folded[name]; !ok || key < first {
			folded[name] = key
		}
	}
	return func(name string) (tool T, ok bool) {
		for _, name := range withoutServer(name) {
			if tool, ok = tools[name]; ok {
				return tool, ok
			}
			if key, ok := folded[Fold(name)]; ok {
				return tools[key], true
			}
		}
		return tool, false
	}
}

// withoutServer returns the names that a name may stand for, the longest first: itself, and what follows the name of a
// server. After a single separator at least two words must be left, because "todo_write" writes no file.
func withoutServer(name string) []string {
	names := []string{name}
	if i := strings.LastIndex(name, "__"); i > 0 && i+2 < len(name) {
		name = name[i+2:]
		names = append(names, name)
	}
	if i := strings.LastIndexAny(name, "./:"); i > 0 && i+1 < len(name) {
		name = name[i+1:]
		names = append(names, name)
	}
	for i := 1; i < len(name); i++ {
		if rest := name[i:]; strings.ContainsRune("_-", rune(name[i-1])) && severalWords.MatchString(rest) {
			names = append(names, rest)
		}
	}
	return names
}

// severalWords matches a name of at least two words: read_file, read-file or readFile.
var severalWords = regexp.MustCompile(`\pL\d*(?:[_-]\pL|\p{Lu})`)
