package outline

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	diffStart = regexp.MustCompile(`^\s*(?:diff |Index: |--- .*\n\+\+\+ |(?:commit|From) [0-9a-f]{7,40}\b)`)
	// diffFile matches the names of a file, with git's prefixes and times behind them, and the start of its first hunk.
	diffFile = regexp.MustCompile(`(?m)^--- (?:a/)?([^\t\r\n]+).*\n\+\+\+ (?:b/)?([^\t\r\n]+).*\n@@ -`)
)

// ofDiff outlines a unified diff, with commits or without. All files come before the first hunk. The hunks of a file
// end at a line that is none of a hunk.
func ofDiff(text string, limit int) []string {
	if !diffStart.MatchString(text) {
		return nil
	}
	lines, hunks, allAdded, allRemoved := []string{""}, []string{}, 0, 0
	found := append(diffFile.FindAllStringSubmatchIndex(text, -1), []int{len(text)})
	for i, at := range found[:len(found)-1] {
		added, removed, name := 0, 0, text[at[4]:at[5]]
		if name == "/dev/null" {
			name = text[at[2]:at[3]]
		}
		for row := range strings.Lines(text[at[1]-len("@@ -") : found[i+1][0]]) {
			if !strings.Contains(" +-@\\\r\n", row[:1]) || row == "-- \n" { // the end of a mail
				break
			}
			switch row[0] {
			case '+':
				added++
			case '-':
				removed++
			case '@':
				hunks = append(hunks, "  "+cut(name+" "+strings.TrimSpace(row), 2*width(limit)))
			}
		}
		lines = append(lines, fmt.Sprintf("  %s: +%d -%d", cut(name, width(limit)), added, removed))
		allAdded, allRemoved = allAdded+added, allRemoved+removed
	}
	if allAdded+allRemoved == 0 {
		return nil
	}
	lines[0] = fmt.Sprintf("diff, %d files, +%d -%d", len(found)-1, allAdded, allRemoved)
	return append(lines, hunks...)
}
