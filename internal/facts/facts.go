// Package facts finds what a text states that nobody can guess: paths, identifiers, numbers, hashes, and lines with
// errors. An agent that no longer sees such a fact has to look it up.
package facts

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Sizes of facts in bytes.
const (
	minName, maxName = 4, 120
	minMixed         = 6 // letters with digits, such as a hash
	minFolders       = 8 // words with slashes, which may be prose: and/or
	minLine, maxLine = 12, 200
)

// Text returns what a message says: its text, and the strings and numbers in the arguments of its calls, each on lines
// of its own. Thinking is left out.
func Text(m chat.Message) string {
	all := []string{m.Text()}
	for _, c := range m.ToolCalls {
		all = append(all, Arguments(c)...)
	}
	return strings.Join(all, "\n")
}

// Arguments returns the strings and numbers in the arguments of a call, in the order of their keys.
func Arguments(c chat.ToolCall) []string {
	var v any
	dec := json.NewDecoder(strings.NewReader(c.Arguments))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		v = c.Arguments
	}
	return values(v)
}

// values lists the strings and numbers in a JSON value, in the order of its keys.
func values(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case []any:
		for _, item := range v {
			list = append(list, values(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, values(v[key])...)
		}
	}
	return list
}

// In returns the facts in a text, in order, some more than once: those of [Names], then those of [Errors].
func In(text string) []string { return append(slices.Collect(Names(text)), Errors(text)...) }

// Names returns the names in a text, in order, some more than once:
//
//   - paths: words that slashes join, with a dot, an underscore or a digit, or of 8 bytes or more
//   - identifiers: words that dots or underscores join, words with a capital after a small letter, and words of 6 bytes or
//     more with letters and digits, such as a hash
//   - numbers of 4 bytes or more: 8080, 1.26, 34,928, 2026-01-02
//
// Names have 4 to 120 bytes.
func Names(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			n := wordAt(text[i:])
			if n == 0 {
				_, size := utf8.DecodeRuneInString(text[i:])
				i += size
				continue
			}
			if name := tidy(text[i : i+n]); is(name) && !yield(name) {
				return
			}
			i += n
		}
	}
}

// LeastTokens is the least number of tokens of a name in a list, with its comma.
const LeastTokens = 2

// Mentioned returns at most n names of a text, the most frequent first, without those that shown has and those that a more
// frequent one contains.
func Mentioned(text, shown string, n int) (list []string) {
	counts := map[string]int{}
	var all []string
	for name := range Names(text) {
		if counts[name]++; counts[name] == 1 {
			all = append(all, name)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for _, name := range all {
		if len(list) >= n {
			break
		}
		if !Shown(shown, name) && !slices.ContainsFunc(list, func(better string) bool { return Shown(better, name) }) {
			list = append(list, name)
		}
	}
	return list
}

// wordAt returns the bytes of the word at the start of a text: letters, digits, and what joins them. A comma joins
// digits to three more.
func wordAt(text string) (n int) {
	for n < len(text) {
		c := text[n]
		switch {
		case letter(c) || digit(c) || strings.IndexByte("_./-~", c) >= 0:
			n++
		case c == ',' && n > 0 && digit(text[n-1]) && thousands.MatchString(text[n:min(len(text), n+5)]):
			n += 4
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[n:])
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return n
			}
			n += size
		default:
			return n
		}
	}
	return n
}

var thousands = regexp.MustCompile(`^,[0-9]{3}(?:[^0-9]|$)`)

// tidy removes punctuation from both ends of a word. What begins a path stays: a slash, a dot, or ~/.
func tidy(word string) string {
	word = strings.TrimRight(word, "./-~")
	trimmed := strings.TrimLeft(word, "./-~")
	if begin := word[:len(word)-len(trimmed)]; begin == "/" || begin == "." || begin == "~/" {
		return word
	}
	return trimmed
}

// is reports whether a word is a name.
func is(word string) bool {
	if len(word) < minName || len(word) > maxName {
		return false
	}
	var letters, digits, joined, slashes, hump bool
	for i := range len(word) {
		c := word[i]
		letters = letters || letter(c)
		digits = digits || digit(c)
		slashes = slashes || c == '/'
		joined = joined || c == '_' || c == '.' && i > 0
		hump = hump || i > 0 && 'A' <= c && c <= 'Z' && 'a' <= word[i-1] && word[i-1] <= 'z'
	}
	switch {
	case !letters:
		return digits
	case slashes:
		return joined || digits || len(word) >= minFolders
	}
	return joined || hump || digits && len(word) >= minMixed
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// failure matches what programs write of errors: "TypeError: …", "FAILED (3): …", "main.go:7: undefined: x". Code that
// only mentions errors has no colon.
var failure = regexp.MustCompile(`(?i)\b\w*(?:error|exception|panic|fatal|failed|failure)\b[^:]{0,20}: ` +
	`|: .*\b(?:not found|no such|denied|refused|cannot|undefined|unexpected|timed out|failed)\b`)

// Errors returns the lines of a text that report an error, without white space and marks of lists and quotations around
// them. They have 12 to 200 bytes.
func Errors(text string) (list []string) {
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\r\n`*>-")
		if len(line) >= minLine && len(line) <= maxLine && failure.MatchString(line) {
			list = append(list, line)
		}
	}
	return list
}

// Shown reports whether a text has a fact as whole words.
func Shown(text, fact string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], fact)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(fact)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = start + 1
	}
}

func inWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// List writes names with commas between them. A folder of several is written once: cmd/{main.go, tree.go}.
func List(names []string) string {
	in := map[string][]string{}
	for _, name := range names {
		folder := name[:strings.LastIndexByte(name, '/')+1]
		in[folder] = append(in[folder], name[len(folder):])
	}
	var list []string
	for _, name := range names {
		folder := name[:strings.LastIndexByte(name, '/')+1]
		switch files := in[folder]; {
		case folder == "" || len(files) == 1:
			list = append(list, name)
		case len(files) > 1:
			list = append(list, folder+"{"+strings.Join(files, ", ")+"}")
			in[folder] = nil
		}
	}
	return strings.Join(list, ", ")
}

// Listed returns the names in what [List] wrote.
func Listed(list string) (names []string) {
	folder := ""
	for name := range strings.SplitSeq(list, ", ") {
		if before, file, ok := strings.Cut(name, "/{"); ok {
			folder, name = before+"/", file
		}
		file, last := strings.CutSuffix(name, "}")
		if names = append(names, folder+file); last {
			folder = ""
		}
	}
	return names
}
