package outline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const words = `(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|SEVERE|PANIC)\b`

var (
	// stamped matches a line that begins with a date and a time, after a container's name, an address, or a key.
	stamped = regexp.MustCompile(`^(?:[\w.-]+ +\| )?(?:[\[({"]|(?:time|ts)="?|[\d.a-f:]+ \S+ \S+ \[)?(` +
		`\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?[+-]\d\d:?\d\d|Z)?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|` +
		`[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})`)
	// later matches the level behind a time.
	later = regexp.MustCompile(`^\W*(?i:` + words + `)|\b` + words + `|(?i:\b(?:level|lvl)=|\[(?:\w+:)?)"?(?i:` + words + `)`)
	// leading matches a line that begins with a level, or what go test or pytest say of a test.
	leading = regexp.MustCompile(`^(?:\[?\d\d:\d\d:\d\d\S* +(?:\[\S+\] +)?)?(?:\[?` + words + `[\]: ]|npm (ERR!|WARN|error|warn) )|` +
		`^(?:=== (RUN|PAUSE|CONT|NAME) |\s*--- (PASS|FAIL|SKIP): |(ok|FAIL) *\t|(PASS|FAIL)$|\S+::\S.* (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b)`)
	pytest = regexp.MustCompile(`^=+ test session starts =+\s`)

	badLevels = []string{"ERROR", "ERR", "ERR!", "FATAL", "CRITICAL", "SEVERE", "PANIC", "FAILED", "FAIL"}
)

// stamp returns the time and the level with which a line of a log begins.
func stamp(row string) (time, level string) {
	groups := leading.FindStringSubmatch(row)
	if found := stamped.FindStringSubmatch(row); found != nil {
		time = found[1]
		groups = later.FindStringSubmatch(row[len(found[0]):])
	}
	if groups != nil {
		level = strings.ToUpper(strings.Join(groups[1:], "")) // one is not empty
	}
	return time, level
}

// ofLog outlines a log: a text of whose lines at least two thirds begin with a time or a level. Indented lines do not count.
func ofLog(text string, limit int) []line {
	const (
		sample = 200 // lines after which a text is no log
		ending = 12  // last lines that are shown
	)
	var (
		n, begun, others int // lines
		from, to         string
		levels           = &shape{}
		facts            = newFacts(limit)
		last             []line
		sure             = pytest.MatchString(text)
	)
	for row := range strings.Lines(text) {
		n++
		if row = strings.TrimRight(row, " \t\r\n"); row == "" {
			continue
		}
		label := fmt.Sprintf("line %d: ", n)
		last = append(last[max(0, len(last)+1-ending):], line{text: "  " + label + cut(row, facts.width)})
		time, level := stamp(row[:min(len(row), 200)])
		if time+level != "" {
			begun++
		} else if row[0] != ' ' && row[0] != '\t' {
			others++
		}
		if !sure && others > begun/2 && begun+others >= sample {
			return nil
		}
		if time != "" {
			from, to = cmp.Or(from, time), time
		}
		if level != "" {
			levels.add(level)
		}
		if slices.Contains(badLevels, level) || level == "" && failed(row) {
			facts.add(label, row, 1)
		} else if strings.HasPrefix(level, "WARN") {
			facts.add(label, row, 4)
		}
	}
	if !sure && (begun < 5 || others > begun/2) {
		return nil
	}
	lines := append([]line{{text: fmt.Sprintf("log, %d lines", n)}, {rank: 1, text: "  " + levels.String()}}, facts.lines...)
	if from != "" {
		lines[0].text += ", " + from + " to " + to
	}
	for i, l := range last {
		if !slices.ContainsFunc(facts.lines, func(fact line) bool { return fact.text == l.text }) {
			lines = append(lines, line{rank: len(last) - i, text: l.text})
		}
	}
	return lines
}
