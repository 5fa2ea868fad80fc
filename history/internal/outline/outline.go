// Package outline describes a large text by its structure: keys, counts, and the lines that say what went wrong, instead
// of its first bytes.
package outline

import (
	"slices"
	"strings"
)

// Of returns an outline of at most limit bytes, and false if the text has no structure that it knows (prose, code,
// Markdown) or the limit is too small for a line. It knows JSON, one value or several; diffs; tables with a header, in
// CSV, TSV, between pipes, or in aligned columns; logs, and the output of go test and pytest. A text that was cut off at
// its end is outlined as far as it goes. The outline is valid UTF-8 if the text is. Of takes time in proportion to the
// length of the text, and memory in proportion to limit, to the longest string of JSON and to the number of hunks of a diff.
func Of(text string, limit int) (outline string, ok bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	for _, read := range []func(text string, limit int) []line{ofJSON, ofDiff, ofTable, ofLog} {
		if lines := read(text, limit); lines != nil {
			return fit(lines, limit)
		}
	}
	return "", false
}

// A line is a line of an outline. Lines of a low rank are shown first.
type line struct {
	rank int
	text string
	at   int // index, set by fit
}

// fit joins the lines that fit, in their order.
func fit(lines []line, limit int) (string, bool) {
	const more = "…"
	for i := range lines {
		lines[i].at = i
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.rank - b.rank })
	n, room := 0, limit-len(more)
	for n < len(lines) && len(lines[n].text) < room {
		room -= len(lines[n].text) + len("\n")
		n++
	}
	if n == 0 {
		return "", false
	}
	hidden := n < len(lines)
	lines = lines[:n]
	slices.SortFunc(lines, func(a, b line) int { return a.at - b.at })
	var out strings.Builder
	for _, l := range lines {
		out.WriteString(l.text + "\n")
	}
	if hidden {
		out.WriteString(more)
	}
	return strings.TrimSuffix(out.String(), "\n"), true
}

// width returns how long a part of a line may get, in bytes.
func width(limit int) int { return min(200, max(40, limit/8)) }

// cut returns a text, or the start and the end of one of more than n bytes.
func cut(s string, n int) string {
	const gap = " … "
	if len(s) <= n {
		return s
	}
	tail := (n - len(gap)) / 3
	return strings.ToValidUTF8(s[:n-len(gap)-tail], "") + gap + strings.ToValidUTF8(s[len(s)-tail:], "")
}

// facts holds the first lines that differ in more than digits.
type facts struct {
	lines []line
	seen  map[string]bool
	width int
}

func newFacts(limit int) *facts { return &facts{seen: map[string]bool{}, width: width(limit)} }

func (f *facts) add(label, text string, rank int) {
	const most = 32
	text = "  " + label + cut(strings.TrimSpace(text), f.width)
	kind := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
	if n := len(f.lines); n < most && !f.seen[kind] {
		f.seen[kind] = true
		f.lines = append(f.lines, line{rank: rank + n/2, text: text})
	}
}

var failures = []string{
	"error", "fail", "fatal", "panic", "exception", "crash", "killed", "denied", "refused", "timed out", "exit code", "exit status", "missing:",
}

// failed reports whether a text speaks of a failure.
func failed(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(failures, func(word string) bool { return strings.Contains(text, word) })
}
