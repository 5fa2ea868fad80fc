package instructions

import (
	"regexp"
	"slices"
	"strings"
)

// importLine is a line of a text that names imports: the offset behind it, and the paths behind its @.
type importLine struct {
	end   int
	paths []string
}

var (
	// container matches what may stand before the content of a line: quotes and markers of list items.
	container = regexp.MustCompile(`^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*`)
	listItem  = regexp.MustCompile(`^[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)`)
	fence     = regexp.MustCompile("^(?:`{3,}|~{3,})")
)

// references returns the lines of a Markdown text that name imports: a path behind an @ at the start of a word, outside
// of code spans, fenced code and indented code. A backslash before a space makes it part of the path. It takes time
// proportional to the text.
func references(text string) (found []importLine) {
	var open string // the fence that is open, "" for none
	inList, indented, blank := false, false, true
	block := 0 // the start of the text in which code spans are looked for
	flush := func(end int) {
		found = append(found, inBlock(text, block, end)...)
		block = end
	}
	for at := 0; at < len(text); {
		start := at
		line, _, _ := strings.Cut(text[start:], "\n")
		at = min(len(text), start+len(line)+1)
		content := line[len(container.FindString(line)):]
		mark := fence.FindString(content)
		switch {
		case open != "":
			content = strings.TrimLeft(line, " \t>")
			if mark = fence.FindString(content); mark != "" && mark[0] == open[0] && len(mark) >= len(open) && strings.TrimSpace(content[len(mark):]) == "" {
				open = ""
			}
			block = at
			continue
		case mark != "" && !(mark[0] == '`' && strings.Contains(content[len(mark):], "`")):
			flush(start)
			open, block, blank, indented = mark, at, false, false
			continue
		case strings.TrimSpace(line) == "":
			flush(at)
			blank = true
			continue
		case (blank || indented) && !inList && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			flush(start)
			block, indented, blank = at, true, false
			continue
		}
		item := listItem.MatchString(line)
		if item || strings.HasPrefix(content, "#") {
			flush(start)
		}
		inList = item || inList && (!blank || line[0] == ' ' || line[0] == '\t')
		indented, blank = false, false
	}
	flush(len(text))
	return found
}

// inBlock returns the lines with imports in a part of a text, which is no code block.
func inBlock(text string, from, to int) (found []importLine) {
	runs := map[int][]int{} // where rows of backticks begin, by their length
	for i := from; i < to; i++ {
		if text[i] == '`' {
			n := backticks(text[i:to])
			runs[n] = append(runs[n], i)
			i += n - 1
		}
	}
	for i := from; i < to; i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '`':
			n := backticks(text[i:to])
			i += n - 1
			later := runs[n]
			if k, _ := slices.BinarySearch(later, i+1); k < len(later) {
				i = later[k] + n - 1
			}
		case c == '@' && (i == 0 || isSpace(text[i-1])):
			end := i + 1
			for end < to && (!isSpace(text[end]) || text[end] == ' ' && text[end-1] == '\\') {
				end++
			}
			if path := strings.ReplaceAll(text[i+1:end], `\ `, " "); path != "" {
				stop := to
				if n := strings.IndexByte(text[end:to], '\n'); n >= 0 {
					stop = end + n + 1
				}
				if last := len(found) - 1; last >= 0 && found[last].end == stop {
					found[last].paths = append(found[last].paths, path)
				} else {
					found = append(found, importLine{stop, []string{path}})
				}
			}
			i = end - 1
		}
	}
	return found
}

// backticks returns the length of the row of backticks at the start of a text.
func backticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
