package outline

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	diffStart = regexp.MustCompile(`^\s*(?:diff |Index: |--- .*\n\+\+\+ |(?:commit|From) [0-9a-f]{7,40}\b)`)
	hunkLine  = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)
	extraLine = regexp.MustCompile(`^(?:(?:commit|From) [0-9a-f]{7,40}\b|rename |Binary files )`)
)

// ofDiff outlines a unified diff, with commits or without. It reads hunks by the counts in their headers, so that
// a line of a hunk is never taken for anything else.
func ofDiff(text string, limit int) []line {
	type change struct{ at, hunks, added, removed int } // at is the index of its line
	var (
		lines            = make([]line, 1)
		files            = []change{{}} // the first holds the sums
		from             string
		oldLeft, newLeft int // lines of the hunk
		done             int // bytes
	)
	if !diffStart.MatchString(text) {
		return nil
	}
	for row := range strings.Lines(text) {
		rest := len(text) - done
		done += len(row)
		row = strings.TrimRight(row, "\r\n")
		file := &files[len(files)-1]
		if oldLeft > 0 || newLeft > 0 {
			switch {
			case row == "" || row[0] == ' ':
				oldLeft, newLeft = oldLeft-1, newLeft-1
			case row[0] == '-':
				oldLeft, file.removed = oldLeft-1, file.removed+1
			case row[0] == '+':
				newLeft, file.added = newLeft-1, file.added+1
			case row[0] != '\\' && rest > trailing:
				return nil
			}
		} else if hunk := hunkLine.FindStringSubmatch(row); hunk != nil && len(files) > 1 {
			oldLeft, newLeft = count(hunk[1]), count(hunk[2])
			lines = append(lines, line{rank: 2 + file.hunks, text: "    " + cut(row, width(limit))})
			file.hunks++
		} else if strings.HasPrefix(row, "--- ") {
			from = name(row)
		} else if strings.HasPrefix(row, "+++ ") && from != "" {
			to := name(row)
			if to == "/dev/null" {
				to = from + " deleted"
			}
			files, lines = append(files, change{at: len(lines)}), append(lines, line{rank: 1, text: "  " + cut(to, width(limit))})
			from = ""
		} else if extraLine.MatchString(row) {
			lines = append(lines, line{rank: 1, text: "  " + cut(row, width(limit))})
		}
	}
	sum := &files[0]
	for _, f := range files[1:] {
		lines[f.at].text += fmt.Sprintf(": +%d -%d", f.added, f.removed)
		sum.hunks, sum.added, sum.removed = sum.hunks+f.hunks, sum.added+f.added, sum.removed+f.removed
	}
	if sum.hunks == 0 {
		return nil
	}
	lines[0].text = fmt.Sprintf("diff, %d files, %d hunks, +%d -%d", len(files)-1, sum.hunks, sum.added, sum.removed)
	if oldLeft > 0 || newLeft > 0 {
		lines[0].text += ", cut off"
	}
	return lines
}

// name returns the path in a line of a diff, without git's prefix and the time behind it.
func name(row string) string {
	path, _, _ := strings.Cut(row[len("--- "):], "\t")
	return strings.TrimPrefix(strings.TrimPrefix(path, "a/"), "b/")
}

// count returns how many lines of a file a hunk has: 1 if its header does not say.
func count(s string) int {
	n, _ := strconv.Atoi(cmp.Or(s, "1"))
	return n
}
