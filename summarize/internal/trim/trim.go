// Package trim cuts the end off a summary that is too long.
package trim

import (
	"regexp"
	"sort"
	"strings"
	"unicode"
)

// RestLeftOut is appended to a summary that was cut.
const RestLeftOut = "[… the rest of the summary did not fit and is left out]"

var (
	heading = regexp.MustCompile(`^(?:#{1,6}[ \t]|\d{1,2}\.[ \t])`)
	// sentence matches the end of a sentence, with the white space behind it.
	sentence = regexp.MustCompile(`[.!?…]["')\]»”]*\s+|[。！？]`)
)

// ToSection returns a text that fits, or else the longest start of it that fits with [RestLeftOut], up to the end of a
// section, paragraph, line, sentence, word or character. A coarser end is preferred if it keeps at least half of the
// bytes that the finest would. If only RestLeftOut does not fit, it is omitted. The result is empty if nothing fits.
func ToSection(text string, fits func(string) bool) string {
	if fits(text) {
		return text
	}
	longest := func(ends []int, cut func(int) string) (string, int) {
		best, at := "", 0
		try := func(i int) bool {
			s := cut(ends[i])
			if s == "" || !fits(s) {
				return false
			}
			if ends[i] > at {
				best, at = s, ends[i]
			}
			return true
		}
		over := sort.Search(len(ends), func(i int) bool { return cut(ends[i]) != "" && !try(i) })
		for i := over - 1; i >= max(0, over-4) && best == ""; i-- { // a longer text may have fewer tokens
			try(i)
		}
		return best, at
	}
	levels := cutsOf(text)
	var cuts [len(levels)]string
	var kept [len(levels)]int
	for i, ends := range levels {
		cuts[i], kept[i] = longest(ends, func(end int) string { return cutAt(text, end) })
	}
	finest := kept[len(kept)-1]
	for i := range cuts {
		if cuts[i] != "" && 2*kept[i] >= finest {
			return cuts[i]
		}
	}
	best, _ := longest(levels[len(levels)-1], func(end int) string { return strings.TrimSpace(text[:end]) })
	return best
}

// cutsOf returns the places at which a text may end: before a section, after a paragraph, a line, a sentence, a word
// and a character.
func cutsOf(text string) [6][]int {
	var cuts [6][]int
	at, fenced, blank := 0, false, false
	for line := range strings.Lines(text) {
		start := strings.TrimLeft(line, " ")
		if at > 0 && !fenced {
			if heading.MatchString(line) {
				cuts[0] = append(cuts[0], at)
			}
			if blank || heading.MatchString(line) {
				cuts[1] = append(cuts[1], at)
			}
		}
		if strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			fenced = !fenced
		}
		blank = strings.TrimSpace(line) == ""
		if at += len(line); at < len(text) {
			cuts[2] = append(cuts[2], at)
		}
	}
	for _, m := range sentence.FindAllStringIndex(text, -1) {
		cuts[3] = append(cuts[3], m[1])
	}
	for i, r := range text {
		if i == 0 {
			continue
		}
		if unicode.IsSpace(r) {
			cuts[4] = append(cuts[4], i)
		}
		cuts[5] = append(cuts[5], i)
	}
	return cuts
}

// cutAt returns the start of a text followed by [RestLeftOut], "" if the start is blank. It closes a block of code that
// was cut, and removes a heading at the end.
func cutAt(text string, end int) string {
	start := strings.TrimSpace(text[:end])
	if i := strings.LastIndexByte(start, '\n'); i >= 0 && heading.MatchString(start[i+1:]) && strings.HasPrefix(start[i+1:], "#") {
		start = strings.TrimSpace(start[:i])
	}
	if start == "" {
		return ""
	}
	fence := ""
	for line := range strings.Lines(start) {
		line = strings.TrimLeft(line, " ")
		switch mark := line[:min(3, len(line))]; {
		case fence == "" && (mark == "```" || mark == "~~~"):
			fence = mark
		case fence == mark:
			fence = ""
		}
	}
	if fence != "" {
		start += "\n" + fence
	}
	return start + "\n\n" + RestLeftOut
}
