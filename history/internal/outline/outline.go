// Package outline describes a large text by its structure: keys, counts, and the lines that say what went wrong, instead
// of its first bytes.
package outline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Of returns an outline of at most limit bytes, and false if the text has no structure that it knows (prose, code,
// Markdown) or the limit is too small for a line. It knows JSON, one value or several; diffs; tables with a header, in
// CSV, TSV, or between pipes; and logs. A text that was cut off at its end is outlined as far as it goes. The outline is
// valid UTF-8 if the text is. Of takes time in proportion to the length of the text, and memory in proportion to limit,
// to the longest string of JSON or row of a table, and to the number of hunks of a diff.
func Of(text string, limit int) (outline string, ok bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	for _, read := range []func(text string, limit int) []string{ofJSON, ofDiff, ofTable, ofLog} {
		if lines := read(text, limit); lines != nil {
			return fit(lines, limit)
		}
	}
	return "", false
}

// fit joins lines, the most important first, up to the last that fits. A mark stands for the others.
func fit(lines []string, limit int) (string, bool) {
	const more = "\n…"
	n, room := 0, limit-len(more)
	for n < len(lines) && len(lines[n]) <= room {
		room -= len(lines[n]) + len("\n")
		n++
	}
	out := strings.Join(lines[:n], "\n")
	if n < len(lines) && n > 0 {
		out += more
	}
	return out, n > 0
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

// A tally counts texts. Of distinct ones it lists the first few.
type tally struct {
	texts  []string
	times  []int
	others int
}

func (t *tally) add(text string) {
	const distinct = 4
	if i := slices.Index(t.texts, text); i >= 0 {
		t.times[i]++
	} else if len(t.texts) < distinct {
		t.texts, t.times = append(t.texts, text), append(t.times, 1)
	} else {
		t.others++
	}
}

func (t *tally) String() string {
	var parts []string
	for i, text := range t.texts {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%s ×%d", text, t.times[i]), " ×1"))
	}
	if t.others > 0 {
		parts = append(parts, fmt.Sprintf("%d others", t.others))
	}
	return strings.Join(parts, ", ")
}

var (
	digits   = regexp.MustCompile(`\d+`)
	failures = []string{
		"error", "fail", "fatal", "severe", "critical", "panic", "exception", "crash", "killed", "denied", "refused", "timed out", "exit code", "exit status", "missing:",
	}
)

// failed reports whether a text, or the level of a log, speaks of a failure.
func failed(text string) bool {
	text = strings.ToLower(text)
	return text == "err" || slices.ContainsFunc(failures, func(word string) bool { return strings.Contains(text, word) })
}

// facts holds the first lines of a text that speak of a failure and differ in more than digits, for half of an outline,
// and the last of the others.
type facts struct {
	lines, last []string
	seen        map[string]bool
	width, room int
}

func newFacts(limit int) *facts {
	return &facts{seen: map[string]bool{}, width: width(limit), room: limit / 2}
}

// add adds a line that speaks of a failure, and reports whether it is held.
func (f *facts) add(label, text string) bool {
	text = "  " + label + cut(strings.TrimSpace(text), f.width)
	kind := digits.ReplaceAllString(text, "")
	if len(text) > f.room || f.seen[kind] {
		return false
	}
	f.seen[kind], f.room = true, f.room-len(text)
	f.lines = append(f.lines, text)
	return true
}

// row adds a line of a text.
func (f *facts) row(label, text string, bad bool) {
	const ending = 12
	if !bad || !f.add(label, text) {
		f.last = append(f.last[max(0, len(f.last)+1-ending):], "  "+label+cut(text, f.width))
	}
}

// all returns the lines, the last ones from the end on.
func (f *facts) all() []string {
	slices.Reverse(f.last)
	return append(f.lines, f.last...)
}
