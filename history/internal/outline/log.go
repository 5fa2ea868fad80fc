package outline

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

const words = `(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC)\b`

var (
	// begins matches a line that begins with a date and a time, after a container's name, an address, or a key, or with
	// a level.
	begins = regexp.MustCompile(`^(?:[\w.-]+ +\| )?(?:[\[({"]|(?:time|ts)="?|[\d.a-f:]+ \S+ \S+ \[)?(` +
		`\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?[+-]\d\d:?\d\d|Z)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|` +
		`[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})|` +
		`^(?:\[?\d\d:\d\d:\d\d\S* +(?:\[\S+\] +)?)?\[?` + words + `[\]: ]`)
	// level matches a level in capitals, and in small letters at the start, behind a time, a key, or a bracket.
	level = regexp.MustCompile(`(?:^\W*|\d\W+|\dZ\W+|\b(?:level|lvl)="?|\[(?:\w+:)?)(?i:` + words + `)|\b` + words)
)

// ofLog outlines a log: a text of whose lines at least two thirds begin with a time or a level. Indented lines do not count.
func ofLog(text string, limit int) []string {
	var (
		n, begun, others int // lines
		from, to         string
		levels           tally
		facts            = newFacts(limit)
	)
	for row := range strings.Lines(text) {
		n++
		if row = strings.TrimRight(row, " \t\r\n"); row == "" {
			continue
		}
		start, name := row[:min(len(row), 200)], ""
		if found := begins.FindStringSubmatch(start); found != nil {
			begun++
			from, to = cmp.Or(from, found[1]), cmp.Or(found[1], to)
			if found = level.FindStringSubmatch(start); found != nil {
				name = strings.ToUpper(found[1] + found[2])
				levels.add(name)
			}
		} else if row[0] != ' ' && row[0] != '\t' {
			others++
		}
		facts.row(fmt.Sprintf("line %d: ", n), row, failed(cmp.Or(name, row)))
	}
	if begun < 5 || others > begun/2 {
		return nil
	}
	title := fmt.Sprintf("log, %d lines, %s to %s", n, from, to)
	return append([]string{strings.TrimSuffix(title, ",  to "), "  " + levels.String()}, facts.all()...)
}
